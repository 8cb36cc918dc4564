"""Superpixels on BSDS500, scored against what people drew: python superpixels.py check|tune|times|run FOLDER [TABLE.csv [PLOT.png]].

FOLDER is BSDS500/data of github.com/BIDS/BSDS500, with images/ and groundTruth/, each with val/ and test/. Needs scipy, which reads the ground
truth; opencv-contrib-python and scikit-image, the peers; matplotlib for the plot.

check: scores of cv2.watershed() on the 100 validation images beside those that the benchmark of Stutz, Hermans and Leibe publishes for it.
"""
import os
import sys

import cv2
import numpy as np

TOLERANCE = .0025  # of the diagonal: how far a border may lie from one that people drew, as in the benchmark of Stutz, Hermans and Leibe


def borders(labels):
    """Pixels with a 4-neighbour of another label."""
    found = np.zeros(labels.shape, bool)
    across, along = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    found[:, 1:] |= across
    found[:, :-1] |= across
    found[1:] |= along
    found[:-1] |= along
    return found


def near(marked):
    """Pixels with a marked pixel within the tolerance, along x and along y."""
    side = 2 * round(TOLERANCE * float(np.hypot(*marked.shape))) + 1
    return cv2.dilate(marked.astype(np.uint8), np.ones((side, side), np.uint8)).astype(bool)


def recall(reached, truth):
    """Boundary recall: share of the borders in the ground truth with a border of a superpixel near, `reached`; 0 where it has none."""
    wanted = borders(truth)
    return np.count_nonzero(reached & wanted) / max(np.count_nonzero(wanted), 1)


def overlaps(labels, truth):
    """Number of pixels that each superpixel, a row, has in each segment of the ground truth."""
    rows, columns = int(labels.max()) + 1, int(truth.max()) + 1
    return np.bincount((labels * columns + truth).ravel(), minlength=rows * columns).reshape(rows, columns)


def underestimated(shared):
    """Under-segmentation error after Neubert and Protzel: for each overlap the smaller of it and the rest of the superpixel, per pixel."""
    return np.minimum(shared, shared.sum(axis=1, keepdims=True) - shared).sum() / shared.sum()


def achievable(shared):
    """Achievable segmentation accuracy: share of pixels in the segment that most of their superpixel is in."""
    return shared.max(axis=1).sum() / shared.sum()


def explained(labels, image):
    """Explained variation: share of the colours' variance that the mean colours of superpixels keep; 1 for an image of one colour."""
    values = image.reshape(labels.size, -1).astype(np.float64)
    values -= values.mean(axis=0)
    areas = np.maximum(np.bincount(labels.ravel()), 1)
    kept = sum((np.bincount(labels.ravel(), channel)**2 / areas).sum() for channel in values.T)
    return kept / (values**2).sum() if values.any() else 1.


def compactness(labels):
    """Compactness: mean over pixels of 4 pi area / perimeter^2 of their superpixel; edges of the image belong to the perimeter."""
    padded = np.pad(labels, 1, constant_values=-1)
    edges = sum((labels != padded[1 + dy:1 + dy + labels.shape[0], 1 + dx:1 + dx + labels.shape[1]]).astype(int)
                for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)))
    areas, lengths = np.bincount(labels.ravel()), np.bincount(labels.ravel(), edges.ravel())
    return (areas * 4 * np.pi * areas / np.maximum(lengths, 1)**2).sum() / labels.size


def scores(labels, image, truths):
    """Returns number of superpixels, boundary recall, under-segmentation error, achievable accuracy, explained variation and compactness, the
    three that need a ground truth as means over those in the list."""
    labels = (np.cumsum(np.bincount(labels.ravel()) > 0) - 1)[labels]  # without gaps
    parts, reached = [], near(borders(labels))
    for truth in truths:
        shared = overlaps(labels, truth)
        parts.append((recall(reached, truth), underestimated(shared), achievable(shared)))
    return (int(labels.max()) + 1, *np.mean(parts, axis=0), explained(labels, image), compactness(labels))
