"""Windows of a grid, and other programs beside it, on the CPU: python windows.py COMMAND, which prints figures of doc/performance/windows.md. Images of
particles and of ice are made, five seeds each; vectors beside the border are left out.

accuracy [PLOT.png]: bias and error of sub-pixel positions, and a plot of the bias against the motion, that is of peak locking (needs matplotlib).
motions: bias and error of both components, for motions of .1 to .9 px beyond whole ones in x and y, of particles as recordings have them.
diameters: bias in x for a Gaussian and more diameters, also of images with noise and lost pairs, and of pixels that measure the light at a point.
ice: for both curves, on ice with noise. texture: ice high-passed by several widths, windows of several sizes. floor: scores of unrelated images.
limits: what limits of score, confidence and ratio of peaks cost and find. validation: the median test and such limits in a vortex (needs openpiv).
gradients: motion that differs within a window. spots: bright spots that the other image lacks. gaps: black stripes that stand still. border: images
with and without a border added. passes: time of one and of two passes, on one thread.

openpiv FOLDER: vectors of OpenPIV's pair test1, FOLDER being openpiv/data, errors on particles, and time per vector (needs openpiv).
autorift FIRST SECOND: places and time of the loop of cv2.matchTemplate() that autoRIFT runs, with windows of 32 pixels, +-25, every 32 pixels,
on one thread; FIRST and SECOND are images of 8 bits, such as those of OpenPIV's test4. It needs opencv-python, the cv2 of which is the peer.
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
POOR = {"per_pixel": .03, "noise": 10., "lost": .2}  # as real images are
# The last one is not offered by FragmentMatcher.
FITS = {"ZNCC, Gaussian": ("zncc", "gaussian"), "ZNCC, parabola": ("zncc", "parabola"), "SSD, parabola": ("ssd", "parabola"), "SAD, lines": ("sad", "parabola"),
        "SSD, Gaussian": ("ssd", None)}


def particles(seed, diameter, motion, per_pixel=.05, side=SIZE, noise=0., lost=0., point=False):
    """An image of particles, Gaussians with a diameter at exp(-2) of their brightness, moved by `motion` in x, or by the two numbers that motion(x, y)
    returns. A pixel has the mean over its area, as of a camera, or the light at its centre; hardly one is saturated. The share `lost` of the particles
    is replaced by others; the noise of two images of a seed differs."""
    random, other = np.random.default_rng(seed), np.random.default_rng((seed, int(callable(motion) or motion != 0)))
    count, margin = int((side + 40)**2 * per_pixel), 20
    x, y = random.uniform(-margin, side + margin, (2, count))
    light = random.uniform(60, 120, count)
    across, down = motion(x, y) if callable(motion) else (motion, 0.)
    x, y = x + across, y + down
    replaced = int(count * lost)
    x[:replaced], y[:replaced] = other.uniform(-margin, side + margin, (2, replaced))
    image = np.zeros((side, side))
    reach, left, top = int(np.ceil(1.5 * diameter)), np.rint(x).astype(int), np.rint(y).astype(int)
    width = diameter / 4  # standard deviation
    steps = np.arange(-reach, reach + 1)
    edges = np.arange(-reach, reach + 2) - .5
    across, along = (np.exp(-((first[:, None] + steps - place[:, None]) / width)**2 / 2) if point else
                     np.sqrt(np.pi / 2) * width * np.diff(ERF((first[:, None] + edges - place[:, None]) / (np.sqrt(2) * width)).astype(float))
                     for first, place in ((left, x), (top, y)))
    for i, dy in enumerate(steps):
        for j, dx in enumerate(steps):
            column, row = left + dx, top + dy
            inside = (column >= 0) & (row >= 0) & (column < side) & (row < side)
            np.add.at(image, (row[inside], column[inside]), (light * across[:, j] * along[:, i])[inside])
    return to_bytes(image + other.normal(20, noise, image.shape) if noise else image)


def vortex(x, y, side=SIZE):
    """Motion of a vortex in the middle of an image, at most 6 pixels."""
    dx, dy, radius = x - (side - 1) / 2, y - (side - 1) / 2, 90
    turn = 6 * np.exp(.5) / radius * np.exp(-(dx**2 + dy**2) / (2 * radius**2))
    return -dy * turn, dx * turn


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


def high_pass(image, free=None, sigma=5):
    """The image minus its surroundings, about the mean gray value. Where `free` is 0 there are no data."""
    free = np.ones(image.shape) if free is None else free.astype(float)
    blurred = [ct.cv2.GaussianBlur(part, (0, 0), sigma) for part in (image * free, free)]
    rest = (image - blurred[0] / np.maximum(blurred[1], 1e-6)) * free
    return to_bytes(128 + rest * 32 / rest[free > 0].std())


def search(before, after, reach, size=WINDOW, step=STEP, fit="zncc gaussian", weights=None, offset=None, exclusion=0):
    """Grid, matches and field of a pass."""
    metric, name = fit.split()
    grid = ct.windows(before.shape, size, step, reach, offset)
    matcher = ct.FragmentMatcher(metric, subpixel=True, subpixel_fit=name, exclusion_distance=exclusion, device="cpu")
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


def motions():
    """Errors of both components by a Gaussian; errors of the figures are standard errors over seeds."""
    fractions = np.arange(1, 10) / 10
    head("diameter, px", "images", "mean magnitude of the bias, px", "largest", "rms error, px", "least and largest of a motion", "wrong")
    for diameter in (2., 2.5, 3., 3.5):
        for name, how in (("clean", {}), ("noise, lost pairs", POOR)):
            bias, square, wrong = (np.empty((len(SEEDS), 2, 9, 9)) for _ in range(3))
            for seed in SEEDS:
                before = particles(seed, diameter, 0., side=SMALL, **how)
                for at in np.ndindex(9, 9):
                    motion = 3 + fractions[at[0]], -1 - fractions[at[1]]
                    field = search(before, particles(seed, diameter, lambda x, y: motion, side=SMALL, **how), 7)[2]  # noqa: B023
                    errors = np.stack([part[INNER].ravel() - truth for part, truth in zip((field.u, field.v), motion)])
                    near = (np.abs(errors) < 1).all(axis=0)
                    here = seed, slice(None), *at
                    bias[here], square[here], wrong[here] = errors[:, near].mean(axis=1), (errors[:, near]**2).mean(axis=1), 1 - near.mean()
            rms = np.sqrt(square.mean(axis=(1, 2, 3)))
            sizes, each = np.abs(bias.mean(axis=0)), np.sqrt(square.mean(axis=0))
            row(diameter, name, f"{sizes.mean():.4f}", f"{sizes.max():.4f} +- {bias.std(axis=0, ddof=1).flat[sizes.argmax()] / len(SEEDS)**.5:.4f}",
                f"{rms.mean():.4f} +- {rms.std(ddof=1) / len(SEEDS)**.5:.4f}", f"{each.min():.4f}, {each.max():.4f}", f"{wrong.mean():.2%}")


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
    head("diameter, px", "images", "largest bias, px", "standard deviation, px")
    for diameter in (.8, 1., 1.2, 1.5, 2.5, 4., 6.):
        for name, how in (("clean", {}), ("clean, pixels that are points", {"point": True}), ("noise, lost pairs", POOR)):
            row(diameter, name, *largest_bias(lambda seed, motion: particles(seed, diameter, motion, side=SMALL, **how), SHIFTS[:6:2]))


def fits_on_ice():
    head("image", "curve", "largest bias, px", "standard deviation, px")
    for name, make in (("ice", ice), ("ice, high-pass", lambda seed, motion: high_pass(ice(seed, motion, 1.)))):
        for fit in ("gaussian", "parabola"):
            row(name, fit, *largest_bias(make, (3.1, 3.25, 3.4), f"zncc {fit}"))


def texture():
    head("high-pass, sigma in px", "window, px", "right", "largest bias, px", "standard deviation, px")
    for sigma in (2, 5, 10, 20):
        for size in (16, 32, 64):
            errors = [search(*(high_pass(ice(seed, motion), sigma=sigma) for motion in (0., 3.25)), 7, size)[2].u[INNER].ravel() - 3.25 for seed in SEEDS]
            errors = np.concatenate(errors)
            good = errors[np.abs(errors) < 1]
            row(sigma, size, f"{len(good) / len(errors):.1%}", f"{good.mean():+.4f}", f"{good.std():.4f}")


def floor():
    reaches = 3, 12, 25
    head("best score of unrelated images, median / 95 %", "window, px", *(f"reach {reach}" for reach in reaches))
    sparse = lambda seed: particles(seed, 2.5, 0., .01, SMALL)  # noqa: E731
    for name, make in (("particles, .05 per pixel", lambda seed: particles(seed, 2.5, 0., side=SMALL)), ("particles, .01 per pixel", sparse), ("ice", ice),
                       ("ice, high-pass", lambda seed: high_pass(ice(seed)))):
        for size in (16, 32):
            scores = [[search(make(seed), make(seed + 100), reach, size)[2].score[INNER] for seed in SEEDS] for reach in reaches]
            row(name, size, *("{:.2f} / {:.2f}".format(*np.percentile(part, (50, 95))) for part in scores))


def limits():
    head("images", "window, px", "exclusion, px", *(f"{name}, {what}" for name in ("score", "confidence", "ratio") for what in ("limit", "wrong kept")))
    for name, make in (("particles of 2.5 px", lambda seed, motion: particles(seed, 2.5, motion, side=SMALL, **POOR)),
                       ("particles of 4 px", lambda seed, motion: particles(seed, 4., motion, side=SMALL, **POOR)), ("ice, high-pass", lambda seed, motion: high_pass(ice(seed, motion)))):
        for size in (16, 32):
            for exclusion in (3, 5, 8):
                found = [[], []]
                for seed in SEEDS:
                    for unrelated, into in enumerate(found):
                        _, matches, field = search(make(seed, 0.), make(seed + 100 * unrelated, 3.3), 12, size, size // 2, exclusion=exclusion)
                        counted = field.valid[INNER] & (unrelated | right(field.u, 3.3))
                        ratio = (matches.scores[:, 0] / np.maximum(matches.scores[:, 1], 1e-3)).reshape(field.u.shape)
                        into.append([part[INNER][counted] for part in (field.score, field.confidence, ratio)])
                cells = []
                for good, wrong in zip(*(map(np.concatenate, zip(*parts)) for parts in found)):
                    limit = np.quantile(good, .05)
                    cells += [f"{limit:.2f}", f"{np.mean(wrong >= limit):.0%}"]
                row(name, size, exclusion, *cells)


def validation():
    from openpiv import filters, validation

    def median_test(u, v, wrong):
        return wrong | validation.local_norm_median_val(np.where(wrong, np.nan, u), np.where(wrong, np.nan, v), .1, 2., size=1)

    counts = {}
    for seed in SEEDS:
        before, after, unrelated = (particles(one, 2.5, motion, **POOR) for one, motion in ((seed, 0.), (seed, vortex), (seed + 100, vortex)))
        first = search(before, after, 12)[2]
        offset = filters.replace_outliers(first.u, first.v, median_test(first.u, first.v, ~first.valid), method="localmean", max_iter=5, kernel_size=2)[:2]
        for name, how in (("one pass, reach 12", {"reach": 12}), ("pass 2, reach 3", {"reach": 3, "offset": offset})):
            grid, _, field = search(before, after, size=16, step=8, **how)
            unrelated_score = search(before, unrelated, size=16, step=8, **how)[2].score
            middle = (grid.regions[:, :2] + (16 - 1) / 2).T
            error = np.hypot(*(part.ravel() - truth for part, truth in zip((field.u, field.v), vortex(*middle)))).reshape(grid.shape)
            limit = ~field.valid
            good, bad = ~limit & (error < .5), ~limit & (error > 1)
            tests = {"median test": median_test(field.u, field.v, limit)}
            for share in (50, 95):
                low = limit | (field.score < np.percentile(unrelated_score, share))
                tests[f"score, {share} %"] = low
                tests[f"score, {share} %, then median test"] = median_test(field.u, field.v, low)
            for test, wrong in tests.items():
                counts[name, test] = counts.get((name, test), 0) + np.array([(wrong & good).sum(), good.sum(), (bad & ~wrong).sum(), bad.sum()])
    head("windows of 16 px", "test", "right ones rejected", "wrong ones kept")
    for (name, test), (rejected, good, kept, bad) in counts.items():
        row(name, test, f"{rejected} of {good}", f"{kept} of {bad}")


def border():
    head("images", "at the limit", "median error of windows that are at the limit as they are, px", "more than .5 px there")
    motion, errors, limits = (3.3, -1.7), {}, {}
    for seed in SEEDS:
        pair = [particles(seed, 2.5, moved, **POOR) for moved in (0., lambda x, y: motion)]
        grid, _, field = search(*pair, 12)
        added = search(*(ct.cv2.copyMakeBorder(image, STEP, STEP, STEP, STEP, ct.cv2.BORDER_CONSTANT, value=image.mean()) for image in pair), 12)[2]
        inside = tuple(slice(1, 1 + count) for count in grid.shape)
        for name, one in (("as they are", field), ("with a border", ct.Field(*(part[inside] for part in added)))):
            errors.setdefault(name, []).append(np.hypot(one.u - motion[0], one.v - motion[1])[~field.valid])
            limits[name] = limits.get(name, 0) + np.count_nonzero(~one.valid)
    for name, parts in errors.items():
        far = np.concatenate(parts)
        row(name, limits[name], f"{np.median(far):.3f}", f"{np.mean(far > .5):.0%}")


def gradients():
    head("difference across the window, px", "rms error, px", "wrong", "median score")
    for across in (0, .5, 1, 2, 2.5, 4):
        shear, errors, scores = across / WINDOW, [], []
        for seed in SEEDS:
            grid, _, field = search(*(particles(seed, 2.5, motion, side=SMALL) for motion in (0., lambda x, y: (3.3 + shear * (y - SMALL / 2), 0.))), 25)
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
    from openpiv import pyprocess, windef
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

    def deformed(first, second):
        """Two passes of windef, windows of 64 and 32 pixels that overlap by half."""
        settings = windef.PIVSettings()
        settings.windowsizes, settings.overlap, settings.num_iterations = (2 * window, window), (2 * step, step), 2
        settings.subpixel_method, settings.sig2noise_validate, settings.show_all_plots = "gaussian", False, False
        first, second = first.astype(float), second.astype(float)
        with contextlib.redirect_stdout(None):
            x, y, u, v, _ = windef.first_pass(first, second, settings)
            masked = (np.ma.masked_array(part, np.ma.nomask) for part in (u, v))
            return [np.ma.filled(part, np.nan) for part in windef.multipass_img_deform(first, second, 1, x, y, *masked, settings)[2:4]]

    for name, call in ((f"windows and areas of {window} pixels", lambda: plain(before, after, window)), ("windef, two passes", lambda: deformed(before, after))):
        call_us = median_seconds(call, 5) / call()[0].size * 1e6
        print(f"OpenPIV, {name}: {call_us:.1f} us: {call_us / ours_us:.1f} times")
    head("particles, motion in px", "program", "bias, px", "standard deviation, px", "wrong")
    for name, motion, how in (("clean", 3.3, {"per_pixel": .03}), ("clean", 7.3, {"per_pixel": .03}), ("noise, lost pairs", 3.3, POOR)):
        pairs = [[particles(seed, 2.5, moved, side=SMALL, **how) for moved in (0., motion)] for seed in SEEDS]
        for program, call in (("OpenPIV, 32 in 32", lambda *pair: plain(*pair, 32)[0]), ("OpenPIV, 32 in 64", lambda *pair: plain(*pair, 64)[0]),
                              ("OpenPIV, windef", lambda *pair: deformed(*pair)[0]), ("this", lambda *pair: search(*pair, 16)[2].u)):
            errors = np.concatenate([(call(*pair)[INNER] - motion).ravel() for pair in pairs])
            good = errors[np.abs(errors) < 1]
            row(f"{name}, {motion}", program, f"{good.mean():+.4f}", f"{good.std():.4f}", f"{1 - len(good) / len(errors):.1%}")


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
    commands = {"accuracy": accuracy, "motions": motions, "diameters": diameters, "ice": fits_on_ice, "texture": texture, "floor": floor, "limits": limits,
                "validation": validation, "border": border, "gradients": gradients, "spots": spots, "gaps": gaps,
                "passes": passes, "openpiv": openpiv, "autorift": autorift}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
