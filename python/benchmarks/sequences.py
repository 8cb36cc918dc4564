"""Sequences with a ground truth of boxes, as cudatracking_tld_benchmark reads them."""
import glob
import os


def _boxes(path, corners):
    made = []
    with open(path, encoding="utf-8") as lines:
        for line in filter(str.strip, lines):
            x, y, w, h = (float(number) for number in line.replace(",", " ").replace(";", " ").split()[:4])
            w, h = (w - x, h - y) if corners else (w, h)
            made.append((x, y, w, h) if w > 0 and h > 0 else None)
    return made


def read(cv2, folder, limit=0):
    """Frames, boxes of the ground truth (None: absent), and the first box of the user, of the first `limit` frames (0: all). `cv2`: the package that decodes."""
    otb = os.path.exists(os.path.join(folder, "groundtruth_rect.txt"))
    truth = _boxes(os.path.join(folder, "groundtruth_rect.txt" if otb else "gt.txt"), not otb)[:limit or None]
    first = truth[0] if otb else _boxes(os.path.join(folder, "init.txt"), True)[0]
    images = os.path.join(folder, "img") if otb else folder
    files = sorted(file for end in ("jpg", "png") for file in glob.glob(os.path.join(images, "*." + end)))
    if files:
        frames = [cv2.imread(file) for file in files[:len(truth)]]
    else:
        videos = sorted(file for end in ("avi", "mpg", "mp4", "mkv") for file in glob.glob(os.path.join(images, "*." + end)))
        video, frames = cv2.VideoCapture((videos or [images])[0]), []
        while len(frames) < len(truth):
            there, frame = video.read()
            if not there:
                break
            frames.append(frame)
    if not frames:
        raise SystemExit(f"{images}: has no image (.jpg, .png) and no video that can be read")
    return frames, truth[:len(frames)], tuple(round(number) for number in first)


def overlap(a, b):
    """Intersection over union of two boxes."""
    w, h = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0]), min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return w * h / (a[2] * a[3] + b[2] * b[3] - w * h) if w > 0 and h > 0 else 0.
