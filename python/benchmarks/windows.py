"""Windows of a grid, and other programs beside it, on the CPU: python windows.py COMMAND, which prints a table of doc/windows.md. Images of
particles and of ice are made, five seeds each; vectors beside the border are left out.

accuracy [PLOT.png]: bias and error of sub-pixel positions, and a plot of the bias against the motion, that is of peak locking (needs matplotlib).
diameters: the same for a Gaussian and more diameters. ice: for both curves, on ice with noise. floor: scores of unrelated images. gradients: motion
that differs within a window. spots: bright spots that the other image lacks. gaps: black stripes that stand still. passes: time of one and of
two passes, on one thread.

openpiv FOLDER: vectors of OpenPIV's pair test1, FOLDER being openpiv/data, errors on particles, and time per vector (needs openpiv).
autorift FIRST SECOND: places and time
of the loop of cv2.matchTemplate() that autoRIFT runs, with windows of 32 pixels, +-25, every 32 pixels, on one thread; FIRST and SECOND are
images of 8 bits, such as those of OpenPIV's test4. It needs opencv-python, the cv2 of which is the peer.
"""
import contextlib
import math
import sys
import time

import numpy as np

import cudatracking as ct

SIZE, SMALL, WINDOW, STEP, DIAMETERS = 512, 256, 32, 16, (1.5, 2.5, 4.)
SEEDS, INNER = range(5), np.s_[1:-1, 1:-1]  # without windows that leave the frame
ERF = np.frompyfunc(math.erf, 1, 1)
SHIFTS = np.arange(30, 41) / 10
# The last one is not offered by FragmentMatcher.
FITS = {"ZNCC, Gaussian": ("zncc", "gaussian"), "ZNCC, parabola": ("zncc", "parabola"), "SSD, parabola": ("ssd", "parabola"), "SAD, lines": ("sad", "parabola"),
        "SSD, Gaussian": ("ssd", None)}


def particles(seed, diameter, shift, per_pixel=.05, side=SIZE, shear=0.):
    """An image of particles, Gaussians with a diameter at exp(-2) of their brightness, all moved by `shift` in x, and by `shear` more for each
    pixel down from the middle. A pixel has the mean over its area, as of a camera, and hardly one is saturated."""
    random = np.random.default_rng(seed)
    count, margin = int((side + 40)**2 * per_pixel), 20
    x, y = random.uniform(-margin, side + margin, (2, count))
    x += shift + shear * (y - side / 2)
    light = random.uniform(60, 120, count)
    image = np.zeros((side, side))
    reach, left, top = int(np.ceil(1.5 * diameter)), np.rint(x).astype(int), np.rint(y).astype(int)
    width = diameter / 4  # standard deviation
    steps = np.arange(-reach, reach + 1)
    edges = np.arange(-reach, reach + 2) - .5
    across, along = (np.sqrt(np.pi / 2) * width * np.diff(ERF((first[:, None] + edges - place[:, None]) / (np.sqrt(2) * width)).astype(float))
                     for first, place in ((left, x), (top, y)))
    for i, dy in enumerate(steps):
        for j, dx in enumerate(steps):
            column, row = left + dx, top + dy
            inside = (column >= 0) & (row >= 0) & (column < side) & (row < side)
            np.add.at(image, (row[inside], column[inside]), (light * across[:, j] * along[:, i])[inside])
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def ice(seed, shift=0., noise=4.):
    """An image with the spectrum of ice, that is without small detail, moved by `shift` in x; the noise of two images of a seed differs."""
    side = 2 * SMALL
    x, y = np.fft.fftfreq(side), np.fft.fftfreq(side)[:, None]
    radius = np.hypot(x, y)
    radius[0, 0] = np.inf
    waves = np.fft.fft2(np.random.default_rng(seed).standard_normal((side, side))) * radius**-1.5 * np.exp(-(radius / .25)**2)
    still, moved = (np.fft.ifft2(waves * np.exp(-2j * np.pi * x * far)).real[:SMALL, :SMALL] for far in (0, shift))
    return to_bytes(moved * 40 / still.std() + np.random.default_rng((seed, int(shift * 100), 1)).normal(128, noise, moved.shape))


def to_bytes(image):
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def high_pass(image, free=None):
    """The image minus its surroundings, about the mean gray value. Where `free` is 0 there are no data."""
    free = np.ones(image.shape) if free is None else free.astype(float)
    blurred = [ct.cv2.GaussianBlur(part, (0, 0), 5) for part in (image * free, free)]
    rest = (image - blurred[0] / np.maximum(blurred[1], 1e-6)) * free
    return to_bytes(128 + rest * 32 / rest[free > 0].std())


def search(before, after, reach, size=WINDOW, step=STEP, fit="zncc gaussian", weights=None, offset=None):
    """Grid, matches and field of a pass."""
    metric, name = fit.split()
    grid = ct.windows(before.shape, size, step, reach, offset)
    matcher = ct.FragmentMatcher(metric, subpixel=True, subpixel_fit=name, device="cpu")
    matcher.cut(before, grid.regions, weights and weights(grid))
    found = matcher.match(after, grid.areas)
    return grid, found, found.field(grid)


def right(u, motion):
    return np.abs(u[INNER] - motion) < .5


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*names):
    row(*names)
    print("|" + "---|" * len(names))


def errors_of(fit, before, after, shift):
    """Errors of all windows; wrong peaks, which are more than a pixel away, are left out."""
    metric, name = FITS[fit]
    grid, found, field = search(before, after, 7, fit=f"{metric} {name or 'parabola'}")
    u = field.u[INNER].ravel()
    if name is None:
        matcher = ct.FragmentMatcher(metric, device="cpu")
        matcher.cut(before, grid.regions)
        windows = np.arange(len(found)).reshape(grid.shape)[INNER].ravel()
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
    head("diameter, px", "fit", "mean magnitude of the bias, px", "largest", "rms error, px")
    for diameter in DIAMETERS:
        found = {fit: [[] for _ in SHIFTS] for fit in FITS}
        for seed in SEEDS:
            before = particles(seed, diameter, 0.)
            for errors, shift in zip(zip(*found.values()), SHIFTS):
                after = particles(seed, diameter, shift)
                for fit, into in zip(FITS, errors):
                    into.append(errors_of(fit, before, after, shift))
        for fit, errors in found.items():
            errors = [np.concatenate(parts) for parts in errors]
            biases[diameter, fit] = [part.mean() for part in errors]
            sizes = np.abs(biases[diameter, fit])
            row(diameter, fit, f"{sizes.mean():.4f}", f"{sizes.max():.4f}", f"{np.sqrt(np.mean(np.concatenate(errors)**2)):.4f}")
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


def bias_and_spread(pairs, fit="zncc gaussian"):
    """Bias and standard deviation of u over pairs (first, second, motion) of one motion, without wrong peaks."""
    errors = np.concatenate([(search(before, after, 7, fit=fit)[2].u[INNER] - motion).ravel() for before, after, motion in pairs])
    errors = errors[np.abs(errors) < 1]
    return errors.mean(), errors.std()


def largest_bias(make, motions, fit="zncc gaussian"):
    """make(seed, motion): an image. Largest bias over the motions, and the mean of the standard deviations, as text."""
    found = [bias_and_spread([(make(seed, 0.), make(seed, motion), motion) for seed in SEEDS], fit) for motion in motions]
    return f"{max((bias for bias, _ in found), key=abs):+.4f}", f"{np.mean([spread for _, spread in found]):.4f}"


def diameters():
    head("diameter, px", "largest bias, px", "standard deviation, px")
    for diameter in (.8, 1., 1.2, 1.5, 2.5, 4., 6.):
        row(diameter, *largest_bias(lambda seed, motion: particles(seed, diameter, motion, side=SMALL), SHIFTS[:6]))


def fits_on_ice():
    head("image", "curve", "largest bias, px", "standard deviation, px")
    for name, make in (("ice", ice), ("ice, high-pass", lambda seed, motion: high_pass(ice(seed, motion, 1.)))):
        for fit in ("gaussian", "parabola"):
            row(name, fit, *largest_bias(make, (3.1, 3.25, 3.4), f"zncc {fit}"))


def floor():
    reaches = 3, 12, 25
    head("best score of unrelated images, median / 95 %", "window, px", *(f"reach {reach}" for reach in reaches))
    sparse = lambda seed: particles(seed, 2.5, 0., .01, SMALL)  # noqa: E731
    for name, make in (("particles, .05 per pixel", lambda seed: particles(seed, 2.5, 0., side=SMALL)), ("particles, .01 per pixel", sparse), ("ice", ice),
                       ("ice, high-pass", lambda seed: high_pass(ice(seed)))):
        for size in (16, 32):
            scores = [[search(make(seed), make(seed + 100), reach, size)[2].score[INNER] for seed in SEEDS] for reach in reaches]
            row(name, size, *("{:.2f} / {:.2f}".format(*np.percentile(part, (50, 95))) for part in scores))


def gradients():
    head("difference across the window, px", "rms error, px", "wrong", "median score")
    for across in (0, .5, 1, 2, 2.5, 4):
        shear, errors, scores = across / WINDOW, [], []
        for seed in SEEDS:
            grid, _, field = search(particles(seed, 2.5, 0., side=SMALL), particles(seed, 2.5, 3.3, side=SMALL, shear=shear), 25)
            middle = grid.regions[:, 1].reshape(grid.shape) + (WINDOW - 1) / 2
            inner = np.s_[1:-1, 2:-2]
            errors.append((field.u - 3.3 - shear * (middle - SMALL / 2))[inner])
            scores.append(field.score[inner])
        far = np.abs(errors) > 2
        row(across, f"{np.sqrt(np.mean(np.square(errors)[~far])):.3f}", f"{far.mean():.1%}", f"{np.median(scores):.2f}")


def spots():
    head("bright spots per window", "right", "right, images capped at 100")
    for per_window in (0, .5, 1, 2):
        shares = []
        for seed in SEEDS:
            pair, random = [particles(seed, 2.5, motion, side=SMALL) for motion in (0., 3.3)], np.random.default_rng(seed)
            for image in pair:
                for x, y in random.integers(2, SMALL - 2, (int(per_window * (SMALL / WINDOW)**2), 2)).tolist():
                    image[y - 1:y + 2, x - 1:x + 2] = 255
            shares.append([right(search(*(np.minimum(image, most) for image in pair), 12)[2].u, 3.3).mean() for most in (255, 100)])
        row(per_window, *(f"{share:.0%}" for share in np.mean(shares, axis=0)))


def gaps():
    head("gaps, of 24 px", "images", "weights", "right", "at zero")
    for width in (2, 6):
        free = np.arange(SMALL) % 24 >= width
        free = np.broadcast_to(free, (SMALL, SMALL))
        cover = lambda grid: [free[y:y + height, x:x + side] for x, y, side, height in grid.regions]  # noqa: E731
        for name, make in (("gaps are black", lambda image: np.where(free, image, 0).astype(np.uint8)), ("high-pass, gaps at the mean", lambda image: high_pass(image, free))):
            for weights in (None, cover):
                u = [search(make(ice(seed, noise=2.)), make(ice(seed, 5.3, 2.)), 12, weights=weights)[2].u for seed in SEEDS]
                row(width, name, "yes" if weights else "no", *(f"{np.mean([right(part, motion) for part in u]):.0%}" for motion in (5.3, 0)))


def passes():
    ct.cv2.setNumThreads(1)
    pair = particles(1, 2.5, 0.), particles(1, 2.5, 3.3)
    two = lambda step, reach: search(*pair, 3, offset=search(*pair, reach, 64, step)[2])  # noqa: E731
    head("reach, px", "one pass, ms", "two passes, ms", "two passes, the first without overlap, ms")
    for reach in (12, 25):
        row(reach, *(f"{median_seconds(call, 9) * 1e3:.1f}" for call in (lambda: search(*pair, reach), lambda: two(32, reach), lambda: two(64, reach))))


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
        return (matcher.match(after, areas).refined[:, 0] - regions[:, :2]).reshape(*grid.shape, 2)

    motion = ours()
    if motion.shape[:2] != u.shape:
        raise SystemExit(f"error: {motion.shape[:2]} vectors, OpenPIV has {u.shape}")
    good = np.isfinite(u) & (ratio > 1.3)
    distance = np.hypot(motion[..., 0] - u, motion[..., 1] - v)
    print(f"{u.shape} vectors, {np.count_nonzero(good)} with a ratio of peaks above 1.3: median difference {np.median(distance[good]):.3f} px "
          f"(all: {np.nanmedian(distance):.3f}), below 0.5 px: {np.mean(distance[good] < .5):.1%}")
    ours_us, theirs_us = median_seconds(ours, 20) / u.size * 1e6, median_seconds(theirs, 5) / u.size * 1e6
    print(f"time per vector: {ours_us:.1f} us, OpenPIV {theirs_us:.1f} us: {theirs_us / ours_us:.1f} times")

    def plain(first, second, area):
        with contextlib.redirect_stdout(None):  # it prints
            return pyprocess.extended_search_area_piv(first.astype(np.int32), second.astype(np.int32), window_size=window, overlap=area - step,
                                                      search_area_size=area, sig2noise_method=None, use_vectorized=area == window)

    plain_us = median_seconds(lambda: plain(before, after, window), 5) / plain(before, after, window)[0].size * 1e6
    print(f"OpenPIV with windows and areas of {window} pixels: {plain_us:.1f} us: {plain_us / ours_us:.1f} times")
    head("particles, motion in px", "program", "bias, px", "standard deviation, px")
    for motion in (3.3, 7.3):
        pairs = [(particles(seed, 2.5, 0., side=SMALL), particles(seed, 2.5, motion, side=SMALL)) for seed in SEEDS]
        for name, fields in (("OpenPIV, 32 in 32", [plain(*pair, 32)[0] for pair in pairs]), ("OpenPIV, 32 in 64", [plain(*pair, 64)[0] for pair in pairs]),
                             ("this", [search(*pair, 16)[2].u for pair in pairs])):
            errors = np.concatenate([(field[INNER] - motion).ravel() for field in fields])
            errors = errors[np.abs(errors) < 1]
            row(motion, name, f"{errors.mean():+.4f}", f"{errors.std():.4f}")


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
    commands = {"accuracy": accuracy, "diameters": diameters, "ice": fits_on_ice, "floor": floor, "gradients": gradients, "spots": spots, "gaps": gaps,
                "passes": passes, "openpiv": openpiv, "autorift": autorift}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
