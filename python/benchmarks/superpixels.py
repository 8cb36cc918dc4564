"""Superpixels on BSDS500, scored against the segments that people drew, beside other programs on the CPU:

    python superpixels.py check FOLDER                    the scorer beside published scores, on the 100 validation images
    python superpixels.py run FOLDER TABLE.csv [METHOD ...]  scores of all methods, or of those named, on the 200 test images; goes on where it ended
    python superpixels.py show TABLE.csv [PLOT.png]       means of that table, and a plot

FOLDER is BSDS500/data of github.com/BIDS/BSDS500, which has images/ and groundTruth/. Needs opencv-contrib-python, scikit-image, scipy for the
ground truth, and matplotlib for the plot. One thread.
"""
import csv
import os
import sys
import time

import cv2
import numpy as np

NUMBERS = (100, 200, 400, 800, 1600)  # wanted superpixels
EQUAL = (200, 400, 800)  # numbers at which methods are compared
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


def images(folder, split):
    """Yields name, BGR and ground truths, each with its segments as numbers, of all images of a part of BSDS500."""
    import scipy.io
    if not os.path.isdir(os.path.join(folder, "images", split)):
        sys.exit(f"{folder}: has no images/{split}; it must be the folder BSDS500/data of github.com/BIDS/BSDS500")
    for name in sorted(os.listdir(os.path.join(folder, "images", split))):
        stem, end = os.path.splitext(name)
        if end == ".jpg":
            drawn = scipy.io.loadmat(os.path.join(folder, "groundTruth", split, stem + ".mat"))["groundTruth"][0]
            yield stem, cv2.imread(os.path.join(folder, "images", split, name)), [one["Segmentation"][0, 0].astype(np.int64) for one in drawn]


def side(image, number):
    """Side of square superpixels."""
    return round(float(np.sqrt(image.shape[0] * image.shape[1] / number)))


def ours(image, number):
    import cudatracking as ct
    ct.cv2.setNumThreads(1)
    return ct.superpixels(image, number, device="cpu")


def ximgproc(make):
    """A method of opencv_contrib with its default parameters, and the smoothing and the minimum size that its pages advise."""
    def method(image, number):
        found = make(cv2.cvtColor(cv2.GaussianBlur(image, (3, 3), 0), cv2.COLOR_BGR2Lab), side(image, number))
        found.iterate(10)
        found.enforceLabelConnectivity(25)
        return found.getLabels()
    return method


def seeds(image, number):
    found = cv2.ximgproc.createSuperpixelSEEDS(image.shape[1], image.shape[0], 3, number, 4)
    found.iterate(cv2.cvtColor(image, cv2.COLOR_BGR2Lab), 10)
    return found.getLabels()


def scikit(name, **named):
    def method(image, number):
        import skimage.segmentation
        wanted = {key: value(image, number) for key, value in named.items()}
        return getattr(skimage.segmentation, name)(image[:, :, ::-1], **wanted)
    return method


METHODS = {
    "cudatracking": ours,
    "SLIC": ximgproc(lambda lab, size: cv2.ximgproc.createSuperpixelSLIC(lab, cv2.ximgproc.SLIC, size)),
    "SEEDS": seeds,
    "LSC": ximgproc(lambda lab, size: cv2.ximgproc.createSuperpixelLSC(lab, size)),
    "SLICO": ximgproc(lambda lab, size: cv2.ximgproc.createSuperpixelSLIC(lab, cv2.ximgproc.SLICO, size)),
    "SLIC, scikit-image": scikit("slic", n_segments=lambda image, number: number, start_label=lambda image, number: 0),
    # These two take no number; these parameters spread over about the same range.
    "felzenszwalb, scikit-image": scikit("felzenszwalb", scale=lambda image, number: 6e4 / number, min_size=lambda image, number: image[..., 0].size // number // 8),
    "quickshift, scikit-image": scikit("quickshift", kernel_size=lambda image, number: 3, max_dist=lambda image, number: 150 / number**.5),
}
COLUMNS = ("image", "method", "wanted", "number", "recall", "error", "accuracy", "variation", "compactness", "seconds")


def rows_of(table):
    if not os.path.exists(table):
        return []
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def run(folder, table, *methods):
    cv2.setNumThreads(1)
    done = {(row["image"], row["method"], int(row["wanted"])) for row in rows_of(table)}
    with open(table, "a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for name, image, truths in images(folder, "test"):
            for method in methods or METHODS:
                for wanted in NUMBERS:
                    if (name, method, wanted) not in done:
                        start = time.process_time()
                        labels = METHODS[method](image, wanted)
                        spent = time.process_time() - start
                        writer.writerow((name, method, wanted, *scores(labels, image, truths), spent))
                        file.flush()


def show(table, plot=None):
    rows, means = rows_of(table), {}
    print("| method | wanted | superpixels | furthest | boundary recall | under-segmentation error | achievable accuracy | explained variation | compactness | time, ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for method in METHODS:
        for wanted in NUMBERS:
            of = {row["image"]: [float(row[column]) for column in COLUMNS[3:]] for row in rows if row["method"] == method and int(row["wanted"]) == wanted}
            first = {row["image"]: float(row["seconds"]) for row in rows if row["method"] == "cudatracking" and int(row["wanted"]) == wanted}
            if not of:
                continue
            values = np.array(list(of.values()))
            mean = means[method, wanted] = values.mean(axis=0)
            both = [name for name in of if name in first]
            ratio = f"{sum(of[name][-1] for name in both) / sum(first[name] for name in both):.1f}" if both else ""
            print(f"| {method} | {wanted} | {mean[0]:.0f} | {100 * np.abs(values[:, 0] / wanted - 1).max():.1f} % | {mean[1]:.3f} | {mean[2]:.3f} | {mean[3]:.3f} | "
                  f"{mean[4]:.3f} | {mean[5]:.3f} | {ratio} |")
    print("\nAt equal numbers, between those above by the logarithm of the number:\n")
    print("| superpixels | method | boundary recall | under-segmentation error | achievable accuracy | explained variation | compactness |")
    print("|--:|---|--:|--:|--:|--:|--:|")
    for number in EQUAL:
        for method in METHODS:
            points = np.array([means[method, wanted] for wanted in NUMBERS if (method, wanted) in means])
            if len(points) and points[0, 0] <= 1.02 * number and points[-1, 0] >= .98 * number:
                at = [np.interp(np.log(number), np.log(points[:, 0]), column) for column in points[:, 1:6].T]
                print(f"| {number} | {method} | " + " | ".join(f"{value:.3f}" for value in at) + " |")
    print(f"\n{len({row['image'] for row in rows})} images")
    if plot:
        draw(plot, means)


def draw(name, means):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 4, figsize=(14, 3.8))
    titles = ("Boundary recall", "Under-segmentation error", "Explained variation", "Compactness")
    for axis, title, column in zip(axes, titles, (1, 2, 4, 5)):
        for method in METHODS:
            points = np.array([means[key] for key in means if key[0] == method])
            if len(points):
                axis.plot(points[:, 0], points[:, column], marker="o", markersize=3, label=method, linewidth=2.5 if method == "cudatracking" else 1.2)
        axis.set(title=title, xlabel="superpixels", xscale="log")
        wanted = sorted({number for _, number in means})
        axis.set_xticks(wanted, labels=[str(number) for number in wanted], fontsize=8)
        axis.minorticks_off()
        axis.grid(alpha=.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.tight_layout(rect=(0, .12, 1, 1))
    figure.savefig(name, dpi=80)


# Boundary recall, under-segmentation error, compactness and number of superpixels that the benchmark publishes, in its docs/EXAMPLE.md, for
# cv2.watershed() with 400 markers on a grid after a Gaussian of this sigma. Means over the validation images and those who drew.
PUBLISHED = {.5: (.751224, .111048, .245077, 388.14), 1.: (.767879, .105258, .252559, 389.86), 1.5: (.763123, .103071, .262798, 390.16)}


def watershed(image, number, sigma):
    """cv2.watershed() as the benchmark's example runs it: pixels of ridges go to the 4-neighbour with the nearest colour."""
    size = int(np.ceil(sigma * 4)) + 1
    image = cv2.GaussianBlur(image, (size, size), sigma)
    step = side(image, number)
    markers = np.zeros(image.shape[:2], np.int32)
    grid = markers[step // 2::step, step // 2::step]
    grid[:] = np.arange(1, grid.size + 1).reshape(grid.shape)
    cv2.watershed(image, markers)
    ridge = markers < 0
    areas = np.bincount(markers[~ridge])
    # Its means overflow: they are sums modulo 256.
    means = np.stack([np.bincount(markers[~ridge], channel[~ridge]).astype(np.int64) % 256 // np.maximum(areas, 1) for channel in cv2.split(image)], axis=-1)
    labels, nearest = markers.copy(), np.full(markers.shape, np.inf)
    padded = np.pad(markers, 1, constant_values=-1)
    for dy, dx in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        beside = padded[1 + dy:1 + dy + markers.shape[0], 1 + dx:1 + dx + markers.shape[1]]
        distances = np.where(beside < 0, np.inf, ((image - means[beside])**2).sum(axis=2))
        better = ridge & (distances < nearest)
        nearest[better], labels[better] = distances[better], beside[better]
    return np.maximum(labels, 0)


def check(folder):
    own = {sigma: [] for sigma in PUBLISHED}
    for _, image, truths in images(folder, "val"):
        for sigma, into in own.items():
            into.append(scores(watershed(image, 400, sigma), image, truths))
    for sigma, published in PUBLISHED.items():
        number, found, error, _, _, compact = np.mean(own[sigma], axis=0)
        print(f"sigma {sigma}: boundary recall {found:.4f} ({published[0]:.4f} published), under-segmentation error {error:.4f} ({published[1]:.4f}), "
              f"compactness {compact:.4f} ({published[2]:.4f}), {number:.2f} superpixels ({published[3]:.2f})")
        if max(abs(found - published[0]), abs(error - published[1]), abs(compact - published[2])) > .01:
            sys.exit("differs by more than .01")


if __name__ == "__main__":
    jobs = {"check": (check, 1, 1), "run": (run, 2, 99), "show": (show, 1, 2)}
    words = sys.argv[1:]
    if not words or words[0] not in jobs or not jobs[words[0]][1] <= len(words) - 1 <= jobs[words[0]][2]:
        sys.exit(__doc__)
    jobs[words[0]][0](*words[1:])
