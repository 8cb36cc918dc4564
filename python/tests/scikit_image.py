"""cudatracking.quickshift() beside skimage.segmentation.quickshift(), as its users call it: shared by a test and quickshift_table.py."""
import os

import numpy as np

import cudatracking as ct
from scenes import DATA

LIME = {"kernel_size": 4, "max_dist": 200, "ratio": .2}  # parameters of the package lime
SIDE = 224  # pixels of the longer side of its images


def drawing():
    """A drawing of flat areas on white, 120 x 160 RGB."""
    image = np.full((120, 160, 3), 255, np.uint8)
    ct.cv2.circle(image, (60, 60), 35, (200, 30, 30), -1)
    ct.cv2.rectangle(image, (90, 20), (140, 100), (20, 60, 180), -1)
    ct.cv2.line(image, (5, 110), (150, 95), (0, 0, 0), 2)
    return image


def pictures():
    """(name, RGB) of every picture of OpenCV's samples/data that can be read, at most SIDE pixels high and wide."""
    for name in sorted(os.listdir(DATA)):
        path = os.path.join(DATA, name)
        image = ct.cv2.imread(path) if os.path.isfile(path) else None
        if image is not None:
            scale = SIDE / max(image.shape[:2])
            size = tuple(max(1, round(side * scale)) for side in image.shape[1::-1])
            yield name, ct.cv2.resize(image, size, interpolation=ct.cv2.INTER_AREA)[:, :, ::-1].copy()


def roots(parents):
    """The root of each pixel, which does not depend on how superpixels are numbered."""
    flat = parents.reshape(-1)
    while (flat[flat] != flat).any():
        flat = flat[flat]
    return flat


def compared(image, **named):
    """Returns the share of pixels with the same parent, the share with the same root, and both numbers of superpixels."""
    from skimage.segmentation import quickshift

    labels, parents, distances = (np.asarray(part) for part in quickshift(image, return_tree=True, **named))
    own = np.arange(parents.size).reshape(parents.shape)
    parents = np.where(distances > named.get("max_dist", 10), own, parents)  # its tree keeps links that its labels cut
    ours = [np.asarray(part) for part in ct.quickshift(image, return_tree=True, **named)]
    return (parents == ours[1]).mean(), (roots(parents) == roots(ours[1])).mean(), int(labels.max()) + 1, int(ours[0].max()) + 1
