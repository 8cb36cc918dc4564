#!/usr/bin/env python3
"""TemplateFinder on the CPU: what it loses, and its time beside a loop over cv2.matchTemplate().

    python poses.py lost FOLDER [N [THRESHOLD [AREA]]]  poses lost against a search over angles 1 degree apart, for N templates (default 1000)
    python poses.py times IMAGE TEMPLATE     all angles: processor time of all threads, median of 5 calls

FOLDER has natural images: samples/data of OpenCV. A template is cut out of an image; the image is turned by any angle, loses a fifth of its
contrast and gets noise of 5 gray values. The other search scores all angles within 3 degrees and all places within 3 pixels of the true ones.
A pose that reaches the threshold there is lost if the finder has none as good, less 0.03, whose center is nearer than a quarter of the shorter side.
"""
import math
import os
import statistics
import sys
import time

import cv2
import numpy as np

import cudatracking as ct

IMAGES = ("aero1", "aloeL", "apple", "baboon", "basketball1", "board", "box_in_scene", "building", "butterfly", "fruits", "graf1", "HappyFish", "home", "left",
          "lena", "leuvenA", "messi5", "orange", "rubberwhale1", "smarties", "squirrel_cls", "starry_night", "stuff")
LEAST_DEVIATION = 10  # of a template, gray values


def natural(folder):
    images = []
    for name in IMAGES:
        path = next(path for path in (os.path.join(folder, name + end) for end in (".jpg", ".png")) if os.path.exists(path))
        image = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        factor = min(1., 400 / max(image.shape))
        images.append(cv2.resize(image, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA))
    return images


def turned(center, angle, to):
    """Matrix of a rotation, counter-clockwise as it is seen, that moves `center` to `to`."""
    matrix = cv2.getRotationMatrix2D(center, angle, 1.)
    matrix[:, 2] += np.subtract(to, center)
    return matrix


def warped(part, angle):
    """Copy and mask of a template at an angle, about the middle of their pixels."""
    height, width = part.shape
    side = math.ceil(math.hypot(width, height)) | 1
    matrix = turned(((width - 1) / 2, (height - 1) / 2), angle, ((side - 1) / 2, (side - 1) / 2))
    copy = cv2.warpAffine(part, matrix, (side, side), borderMode=cv2.BORDER_REPLICATE)
    return copy, cv2.warpAffine(np.full(part.shape, 255, np.uint8), matrix, (side, side))


def best_near(image, part, x, y, angle):
    """Highest score of the angles and places around a pose."""
    best = -1.
    for turn in range(round(angle) - 3, round(angle) + 4):
        copy, mask = warped(part, turn)
        left, top = round(x - (copy.shape[1] - 1) / 2) - 3, round(y - (copy.shape[0] - 1) / 2) - 3
        if left < 0 or top < 0:
            continue
        crop = image[top:top + copy.shape[0] + 6, left:left + copy.shape[1] + 6]
        if crop.shape < (copy.shape[0] + 6, copy.shape[1] + 6):
            continue
        scores = cv2.matchTemplate(crop, copy, cv2.TM_CCOEFF_NORMED, mask=mask)
        best = max(best, float(scores[np.isfinite(scores)].max()))
    return best


def lost(folder, count=1000, threshold=.7, area=256):
    rng = np.random.default_rng(1)
    images, poses, missing = natural(folder), 0, []
    for i in range(count):
        image = images[i % len(images)]
        height, width = image.shape
        while True:
            w, h = (int(side) for side in rng.integers(40, 121, 2))
            left, top = int(rng.integers(0, max(1, width - w))), int(rng.integers(0, max(1, height - h)))
            part = image[top:top + h, left:left + w]
            if part.shape == (h, w) and part.std() >= LEAST_DEVIATION:
                break
        angle = float(rng.uniform(-180, 180))
        side = math.ceil(math.hypot(width, height)) + 40
        matrix = turned(((width - 1) / 2, (height - 1) / 2), angle, ((side - 1) / 2, (side - 1) / 2))
        whole = cv2.warpAffine(image, matrix, (side, side), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
        scene = np.clip(whole * .8 + 20 + rng.normal(0, 5, whole.shape), 0, 255).astype(np.uint8)
        x, y = matrix @ (left + (w - 1) / 2, top + (h - 1) / 2, 1)
        score = best_near(scene, part, x, y, angle)
        if score < threshold:
            continue
        poses += 1
        found = ct.TemplateFinder(part, threshold=threshold, coarsest_area=area, device="cpu").find(scene)
        if not any(math.dist(pose.center, (x, y)) < min(w, h) / 4 and pose.score > score - .03 for pose in found):
            missing.append((IMAGES[i % len(images)], i, w, h, round(score, 3), len(found)))
    for row in missing:
        print("lost: %s, template %d of %d x %d, score %g; %d poses elsewhere" % row)
    print(f"{poses} poses of {count} templates reach {threshold}, {len(missing)} lost ({100 * len(missing) / max(poses, 1):.2g} %)")


def times(image, template):
    image, part = (cv2.imread(path, cv2.IMREAD_GRAYSCALE) for path in (image, template))
    finder = ct.TemplateFinder(part, threshold=.8, max_overlap=.6, device="cpu")
    step = math.degrees(math.atan(2 / max(part.shape)))

    def median(call, repeats):
        taken = []
        for _ in range(repeats):
            began = time.process_time()
            call()
            taken.append(time.process_time() - began)
        return statistics.median(taken)

    own = median(lambda: finder.find(image), 5)
    angles = np.arange(-180, 180, step)
    copies = [warped(part, angle) for angle in angles[::max(1, len(angles) // 4)][:4]]  # the others take as long
    peer = median(lambda: [cv2.matchTemplate(image, copy, cv2.TM_CCOEFF_NORMED, mask=mask) for copy, mask in copies], 1) * len(angles) / len(copies)
    print(f"{len(finder.find(image))} poses, {1000 * own:.0f} ms; loop over {len(angles)} copies: {1000 * peer:.0f} ms, "
          f"{peer / own:.0f} times as long")


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "lost":
        lost(sys.argv[2], *(kind(value) for kind, value in zip((int, float, int), sys.argv[3:])))
    elif len(sys.argv) == 4 and sys.argv[1] == "times":
        times(*sys.argv[2:])
    else:
        sys.exit(__doc__)
