"""Windows of a grid beside other programs, on the CPU: python windows.py accuracy [PLOT.png] | openpiv FOLDER | autorift FIRST SECOND.

accuracy: bias and error of sub-pixel positions in images of particles, five seeds, and a plot of the bias against the motion, that is of
peak locking (needs matplotlib). openpiv: vectors of OpenPIV's pair test1, FOLDER being openpiv/data, and time per vector (needs openpiv). autorift: places and time
of the loop of cv2.matchTemplate() that autoRIFT runs, with windows of 32 pixels, +-25, every 32 pixels, on one thread; FIRST and SECOND are
images of 8 bits, such as those of OpenPIV's test4. It needs opencv-python, the cv2 of which is the peer.
"""
import math
import sys
import time

import numpy as np

import cudatracking as ct

SIZE, WINDOW, DIAMETERS = 512, 32, (1.5, 2.5, 4.)
ERF = np.frompyfunc(math.erf, 1, 1)
SHIFTS = np.arange(30, 41) / 10
# The last one is not offered by FragmentMatcher.
FITS = {"ZNCC, Gaussian": ("zncc", "gaussian"), "ZNCC, parabola": ("zncc", "parabola"), "SSD, parabola": ("ssd", "parabola"), "SAD, lines": ("sad", "parabola"),
        "SSD, Gaussian": ("ssd", None)}


def particles(seed, diameter, shift, per_pixel=.05):
    """An image of particles, Gaussians with a diameter at exp(-2) of their brightness, all moved by `shift` in x. A pixel has the mean over
    its area, as of a camera, and hardly one is saturated."""
    random = np.random.default_rng(seed)
    count, margin = int((SIZE + 40)**2 * per_pixel), 20
    x, y = random.uniform(-margin, SIZE + margin, (2, count))
    x += shift
    light = random.uniform(60, 120, count)
    image = np.zeros((SIZE, SIZE))
    reach, left, top = int(np.ceil(1.5 * diameter)), np.rint(x).astype(int), np.rint(y).astype(int)
    width = diameter / 4  # standard deviation
    steps = np.arange(-reach, reach + 1)
    edges = np.arange(-reach, reach + 2) - .5
    across, along = (np.sqrt(np.pi / 2) * width * np.diff(ERF((first[:, None] + edges - place[:, None]) / (np.sqrt(2) * width)).astype(float))
                     for first, place in ((left, x), (top, y)))
    for i, dy in enumerate(steps):
        for j, dx in enumerate(steps):
            column, row = left + dx, top + dy
            inside = (column >= 0) & (row >= 0) & (column < SIZE) & (row < SIZE)
            np.add.at(image, (row[inside], column[inside]), (light * across[:, j] * along[:, i])[inside])
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def errors_of(fit, before, after, shift):
    """Errors of all windows; wrong peaks, which are more than a pixel away, are left out."""
    metric, name = FITS[fit]
    grid = ct.windows((SIZE, SIZE), WINDOW, 16, reach=7)
    matcher = ct.FragmentMatcher(metric, subpixel=True, subpixel_fit=name or "parabola", device="cpu")
    matcher.cut(before, grid.regions)
    found = matcher.match(after, grid.areas)
    field = found.field(grid)
    inner = np.s_[1:-1, 1:-1]  # without windows that leave the frame
    u = field.u[inner].ravel()
    if name is None:
        windows = np.arange(len(found)).reshape(grid.shape)[inner].ravel()
        u = found.locations[windows, 0, 0] - grid.regions[windows, 0] + gaussian_of_sums(matcher, after, found.locations[:, 0], windows)
    errors = u - shift
    return errors[np.abs(errors) < 1]


def gaussian_of_sums(matcher, after, places, windows):
    """The offset in x of a Gaussian through three scores, which has to begin at a level: the worst of the 3 x 3 scores."""
    near = np.stack([matcher.score_map(i, after, (*(places[i] - 1), WINDOW + 2, WINDOW + 2)) for i in windows.tolist()]).astype(float)
    heights = near.max(axis=(1, 2), keepdims=True) - near
    with np.errstate(divide="ignore", invalid="ignore"):  # where the worst is beside the best there is none
        before, best, behind = np.log(heights[:, 1]).T
        return (before - behind) / (2 * (before - 2 * best + behind))


def accuracy(plot=None):
    biases = {}
    print("| diameter, px | fit | mean bias, px | rms error, px |\n|---|---|---|---|")
    for diameter in DIAMETERS:
        found = {fit: [[] for _ in SHIFTS] for fit in FITS}
        for seed in range(5):
            before = particles(seed, diameter, 0.)
            for errors, shift in zip(zip(*found.values()), SHIFTS):
                after = particles(seed, diameter, shift)
                for fit, into in zip(FITS, errors):
                    into.append(errors_of(fit, before, after, shift))
        for fit, errors in found.items():
            errors = [np.concatenate(parts) for parts in errors]
            biases[diameter, fit] = [part.mean() for part in errors]
            print(f"| {diameter} | {fit} | {np.mean(np.abs(biases[diameter, fit])):.4f} | {np.sqrt(np.mean(np.concatenate(errors)**2)):.4f} |", flush=True)
    if plot:
        draw(plot, biases)


def draw(name, biases):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(DIAMETERS), figsize=(10, 3.4), sharey=True)
    for axis, diameter in zip(axes, DIAMETERS):
        for fit in ("ZNCC, parabola", "ZNCC, Gaussian"):
            axis.plot(SHIFTS - 3, biases[diameter, fit], marker="o", markersize=3, label=fit)
        axis.set_title(f"particles of {diameter} px", fontsize=10)
        axis.set_xlabel("motion beyond 3 px, px")
        axis.grid(alpha=.3)
    axes[0].set_ylabel("mean error, px")
    axes[-1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(name, dpi=90)


def median_seconds(function, runs):
    """Time of the processor, which other programs on the machine change little."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return float(np.median(times))


def openpiv(folder):
    from openpiv import pyprocess
    before, after = (ct.cv2.imread(f"{folder}/test1/exp1_001_{letter}.bmp", ct.cv2.IMREAD_GRAYSCALE) for letter in "ab")
    window, area, step = 32, 64, 16
    theirs = lambda: pyprocess.extended_search_area_piv(before.astype(np.int32), after.astype(np.int32), window_size=window, overlap=area - step,  # noqa: E731
                                                        search_area_size=area, sig2noise_method="peak2peak")
    u, v, ratio = theirs()
    # Their windows are in the middle of areas, the first of which is in the corner.
    shape, margin = before.shape, (area - window) // 2
    inner = before[margin:shape[0] - margin, margin:shape[1] - margin]
    ct.cv2.setNumThreads(1)
    matcher = ct.FragmentMatcher("zncc", subpixel=True, subpixel_fit="gaussian", device="cpu")

    def ours():
        grid = ct.windows(inner.shape, window, step, margin)
        regions, areas = grid.regions.copy(), grid.areas.copy()
        regions[:, :2] += margin
        areas[:, :2] += margin
        matcher.cut(before, regions)
        return matcher.match(after, areas).field(grid)

    field = ours()
    if field.u.shape != u.shape:
        raise SystemExit(f"error: {field.u.shape} vectors, OpenPIV has {u.shape}")
    good = field.valid & np.isfinite(u) & (ratio > 1.3)
    distance = np.hypot(field.u - margin - u, field.v - margin - v)  # the grid's own windows are `margin` less to the right and down
    print(f"{u.shape} vectors, {np.count_nonzero(good)} with a ratio of peaks above 1.3: median difference {np.median(distance[good]):.3f} px "
          f"(all: {np.nanmedian(distance):.3f}), below 0.5 px: {np.mean(distance[good] < .5):.1%}")
    ours_us, theirs_us = median_seconds(ours, 20) / u.size * 1e6, median_seconds(theirs, 5) / u.size * 1e6
    print(f"time per vector: {ours_us:.1f} us, OpenPIV {theirs_us:.1f} us: {theirs_us / ours_us:.1f} times")


def autorift(first, second):
    import cv2  # opencv-python, not the one of the package
    before, after = (cv2.imread(name, cv2.IMREAD_GRAYSCALE) for name in (first, second))
    side, reach = 32, 25
    grid = ct.windows(before.shape, side, side, reach)
    x, y = grid.regions[:, 0], grid.regions[:, 1]
    inner = (x >= reach) & (y >= reach) & (x + side + reach <= before.shape[1]) & (y + side + reach <= before.shape[0])
    regions, areas = grid.regions[inner], grid.areas[inner]
    ct.cv2.setNumThreads(1)
    cv2.setNumThreads(1)
    matcher = ct.FragmentMatcher("zncc", subpixel=True, subpixel_fit="gaussian", device="cpu")

    def ours():
        matcher.cut(before, regions)
        return matcher.match(after, areas)

    def loop():
        places, maps = np.empty((len(regions), 2), int), []
        for i, ((x, y, w, h), (left, top, width, height)) in enumerate(zip(regions.tolist(), areas.tolist())):
            scores = cv2.matchTemplate(after[top:top + height, left:left + width], before[y:y + h, x:x + w], cv2.TM_CCOEFF_NORMED)
            _, _, _, (column, row) = cv2.minMaxLoc(scores)
            places[i] = left + column, top + row
            maps.append(scores)
        return places, maps

    places, maps = loop()
    found = ours()
    counted = np.asarray(found.status) == ct.Status.FOUND
    differ = np.flatnonzero((found.locations[:, 0] != places).any(axis=1) & counted)
    gaps = []
    for i in differ:
        column, row = found.locations[i, 0] - areas[i, :2]
        gaps.append(float(maps[i].max() - maps[i][row, column]))
    print(f"{np.count_nonzero(counted)} windows that are not flat: {len(differ)} in another place; there the peer's score of the two places differs by "
          f"{max(gaps, default=0.):.2e} at most")
    pairs = [(median_seconds(ours, 1), median_seconds(loop, 1)) for _ in range(7)]
    seconds = np.median(np.array(pairs), axis=0)
    print(f"one thread: {seconds[0] * 1e3:.1f} ms, loop of matchTemplate() {seconds[1] * 1e3:.1f} ms; ratio, median of 7 runs in turns: "
          f"{np.median([loop_time / own for own, loop_time in pairs]):.2f}")


if __name__ == "__main__":
    commands = {"accuracy": accuracy, "openpiv": openpiv, "autorift": autorift}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
