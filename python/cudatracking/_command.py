# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The command `cudatracking`: the jobs of the package without a line of Python.

Exit codes: 0 done, 1 failed, 2 wrong use, 130 ended by SIGINT, SIGTERM or SIGHUP, with all files complete up to there;
with --labels an older file stays. Images of a folder and frames of a video that cannot be read are left out: the files are complete, the
code is 1. So it is where a source fails later: the files are complete up to there.
"""
from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from typing import Any, Callable, Iterable, Iterator, NoReturn, Optional, Sequence

import numpy as np

from . import FragmentMatcher, MultiTracker, QuickShift, State, TemplateFinder, __version__, build_info, cascades, devices
from ._errors import ArgumentError, error
from ._finder import Pose
from ._frames import Frame, Source, SourceError, box, images_of
from ._jobs import DEFAULT_CASCADE, Detect, Superpixels, settings_of
from ._native import cv2
from ._outputs import Drawing, Progress, Table, counted, refuse_inputs, refuse_inputs_in, say
from .scan import _command as scan
from ._quickshift import missed
from ._rasters import ARRAY, LABELS, MEMORY, RASTERS, suffix_of, write_labels

GREEN, ORANGE, RED = (60, 220, 60), (30, 190, 250), (60, 60, 230)


class Stop:
    """Whether SIGINT, SIGTERM or, from a terminal that is closed, SIGHUP came. A second one ends the program as it would without this."""

    def __init__(self) -> None:
        self.requested = False
        self._left = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._request)

    def _request(self, number: int, _frame: Any) -> None:
        self.requested = True
        signal.signal(number, signal.SIG_DFL)

    def call(self, work: Callable[[], Any]) -> Any:
        """Returns what one long call of the extension returns, which no signal interrupts. Raises error when a signal comes: the call is left to itself."""
        made: list[Any] = []
        failed: list[BaseException] = []

        def do() -> None:
            try:
                made.append(work())
            except BaseException as raised:
                failed.append(raised)

        thread = threading.Thread(target=do, daemon=True)
        thread.start()
        while thread.is_alive() and not self.requested:
            thread.join(.05)  # handlers run in this thread
        self._left = self._left or thread.is_alive()
        self.check()
        if failed:
            raise failed[0]
        return made[0]

    def check(self) -> None:
        """Raises error when a signal came."""
        if self.requested:
            raise error("ended by a signal; nothing is written")

    def end(self) -> None:
        """Ends the process if a call was left: at an exit in the usual way the library would wait for it."""
        if self._left:
            sys.stdout.flush()
            os._exit(130)


class Job:
    """What all commands with frames share: source, outputs, progress, and what happens when it ends early."""

    def __init__(self, options: argparse.Namespace, stop: Stop, columns: Sequence[str]) -> None:
        self.options, self.stop = options, stop
        self.source = Source(options.source, None if options.quiet else say)
        self._outputs: list[Any] = []
        try:
            # Before the first frame, so that hours of work are not lost for want of a folder.
            self.table = self._opened(Table(options.table, columns)) if options.table else None
            self.drawing = self._opened(Drawing(options.draw, self.source)) if options.draw else None
        except BaseException:
            self._drop()
            raise
        self.progress = Progress(options.quiet, self._total(), "image" if self.source.still else "frame")
        self._failure: Optional[SourceError] = None
        self._time: Optional[float] = None

    def _total(self) -> Optional[int]:
        counts = [count for count in (self.source.count, self.options.frames) if count]
        return min(counts) if counts else None

    def _opened(self, output: Any) -> Any:
        self._outputs.append(output)
        return output

    def frames(self, from_first: bool = False, one_size: str = "") -> Iterator[Frame]:
        """Frames up to the end, the limit, a signal, or where the source fails, which run() says. `from_first`: raises error if the first
        one, or all behind it, cannot be read. `one_size`: what needs frames of one size."""
        if self.drawing and not self.source.still:
            one_size = one_size or "a drawing"
        first = None
        frames = iter(self.source)
        while True:
            try:
                frame = next(frames, None)
                if frame is None or (from_first and frame.number > 0 and not self.progress.frames):
                    break
                size = f"{frame.pixels.shape[1]} x {frame.pixels.shape[0]}"
                first = first or size
                if one_size and size != first:
                    raise SourceError(f"{self.options.source}: {frame.name or f'frame {frame.number}'} has {size} pixels, the first one has {first}; "
                                      f"{one_size} needs frames of one size")
            except SourceError as raised:
                if self.progress.frames <= from_first:
                    raise
                self._failure = raised
                return
            self._time = frame.time
            yield frame
            self.progress.total = self._total()
            self.progress.step()
            if self.stop.requested or (self.options.frames and self.progress.frames >= self.options.frames):
                return
        if not self.progress.frames and not self.stop.requested:
            raise error(self.source.unread[0] if self.source.unread else f"{self.options.source}: has no frame")

    def draw(self, paint: Callable[[], Any]) -> None:
        """Adds what paint() returns to the drawing, if one is wanted."""
        if self.drawing:
            self.drawing.add(paint(), self._time)

    def _drop(self) -> None:
        for output in self._outputs:
            output.drop()
        self.source.close()

    def run(self, work: Callable[[Job], Optional[str]]) -> int:
        """Does the work; its outputs are complete, or not there."""
        try:
            words = work(self) or ""
            for output in self._outputs:
                output.finish()
        except BaseException:
            self._drop()
            raise
        self.source.close()
        ended = ", ended by a signal" if self.stop.requested else ""
        self.progress.finish(f"{', ' if words else ''}{words}{ended}")
        unread = self.source.unread
        most = 10  # named
        for reason in unread[:most]:
            say(f"left out: {reason}\n")
        if len(unread) > most:
            say(f"... {len(unread)} such lines\n")
        if self._failure:
            say(f"error: {self._failure}\n")
        return 130 if self.stop.requested else 1 if unread or self._failure else 0


def _label(pixels: Any, text: str, x: float, y: float, color: tuple[int, int, int]) -> None:
    """Text on a dark ground, so that it can be read on anything."""
    (width, height), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, .45, 1)
    left, bottom = int(max(x, 0)), int(max(y - 3, height + 2))
    cv2.rectangle(pixels, (left, bottom - height - 2), (left + width + 2, bottom + base - 1), (20, 20, 20), -1)
    cv2.putText(pixels, text, (left + 1, bottom), cv2.FONT_HERSHEY_SIMPLEX, .45, color, 1, cv2.LINE_AA)


def _boxed(pixels: Any, rows: Any) -> Any:
    drawn = np.array(pixels)
    for x, y, width, height, text, color, thickness in rows:
        cv2.rectangle(drawn, (int(x), int(y)), (int(x + width), int(y + height)), color, thickness)
        if text:
            _label(drawn, text, x, y, color)
    return drawn


def _inside(boxes: Sequence[tuple[int, int, int, int]], frame: Frame) -> None:
    """Refuses boxes that are not in the first frame."""
    rows, columns = frame.pixels.shape[:2]
    for x, y, width, height in boxes:
        if width < 1 or height < 1 or x < 0 or y < 0 or x + width > columns or y + height > rows:
            raise ArgumentError(f"--box: {x},{y},{width},{height}: is not inside of the first frame, which has {columns} x {rows} pixels")


def _given(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Returns the options of these names that were given."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def detect(options: argparse.Namespace, stop: Stop) -> int:
    """Finds objects with cascades."""
    classifiers = Detect({**Detect.DEFAULTS, **_given(options, Detect.DEFAULTS)}, options.device).classifiers
    job = Job(options, stop, ("frame", "time", "file", "cascade", "x", "y", "width", "height", "neighbors", "weight"))

    def work(job: Job) -> str:
        total = 0
        for frame in job.frames():
            rows: list[Any] = []
            for number, classifier in enumerate(classifiers):
                found = classifier.detect_batch([frame.pixels])[0]
                total += len(found.boxes)
                for (x, y, width, height), neighbors, weight in zip(found.boxes.tolist(), found.neighbors, found.weights):
                    rows.append((x, y, width, height, "", (GREEN, ORANGE, RED)[number % 3], 2))
                    if job.table:
                        job.table.add(frame.number, frame.time, frame.name, classifier.name, x, y, width, height, neighbors, weight)
            job.draw(lambda: _boxed(frame.pixels, rows))
        return counted(total, "object")

    return job.run(work)


def track(options: argparse.Namespace, stop: Stop) -> int:
    """Follows objects, given by boxes in the first frame."""
    tracker = MultiTracker(device=options.device, seed=options.seed)
    job = Job(options, stop, ("frame", "time", "file", "id", "x", "y", "width", "height", "score", "state", "located", "learned"))
    colors = {State.UNCERTAIN: ORANGE, State.TRACKING: GREEN}

    def work(job: Job) -> str:
        located = uncertain = looked = 0
        for frame in job.frames(from_first=True, one_size="tracking"):
            if frame.number == 0:
                _inside(options.box, frame)
                for given in options.box:
                    try:
                        tracker.add(frame.pixels, given)
                    except ArgumentError as raised:
                        raise ArgumentError(f"--box: {','.join(map(str, given))}: {str(raised).partition('box: ')[2] or raised}") from None
                job.draw(lambda: _boxed(frame.pixels, [(*given, str(i), GREEN, 2) for i, given in enumerate(options.box)]))
                continue
            tracks = tracker.update(frame.pixels)
            located, looked = located + int(tracks["located"].sum()), looked + len(tracks)
            uncertain += int((tracks["located"] & (tracks["state"] == State.UNCERTAIN)).sum())
            if job.table:
                for one in tracks:
                    job.table.add(frame.number, frame.time, frame.name, one["id"], one["x"], one["y"], one["width"], one["height"], one["score"],
                                  State(one["state"]).name.lower(), int(one["located"]), int(one["learned"]))
            job.draw(lambda: _boxed(frame.pixels, [
                (one["x"], one["y"], one["width"], one["height"], f"{one['id']}: {one['score']:.2f}", colors[State(one["state"])], 2 if one["located"] else 1)
                for one in tracks if one["state"] != State.LOST]))
        if not looked and not stop.requested and options.frames != 1:
            raise error(f"{options.source}: has one frame; tracking needs several")
        return f"objects located {located} of {counted(looked, 'time')}{f', {uncertain} of these uncertain' if uncertain else ''}"

    return job.run(work)


def superpixels(options: argparse.Namespace, stop: Stop) -> int:
    """Cuts frames into superpixels."""
    settings = settings_of("superpixels", _given(options, Superpixels.DEFAULTS))
    cutter = Superpixels(settings, options.device)
    if options.labels:
        return write_labels(options, settings, cutter, stop)
    job = Job(options, stop, ("frame", "time", "file", "label", "area", "x", "y", "width", "height", "center_x", "center_y", "blue", "green", "red"))

    def work(job: Job) -> str:
        count = 0
        wrong: list[str] = []
        for frame in job.frames():
            made = cutter.cut(frame.pixels)
            count += made
            if options.number and missed(options.number, made):
                wrong.append(str(made) if job.source.still else f"{made} in {frame.name or f'frame {frame.number}'}")
            if job.table:
                rows = cutter.shift.statistics(frame.pixels)
                for label, (area, box, center, mean) in enumerate(zip(rows.areas, rows.boxes, rows.centroids, rows.means)):
                    job.table.add(frame.number, frame.time, frame.name, label, area, *box, *center, *mean)
            job.draw(lambda: _mosaic(cutter.shift, frame.pixels, options.borders))
        if wrong:
            most = 10  # named
            where = "" if job.source.still else f"{', ...' if len(wrong) > most else ''} ({len(wrong)} of {counted(job.progress.frames, 'frame')})"
            say(f"--number {options.number}: the nearest that was found is {', '.join(wrong[:most])}{where}\n")
        return counted(count, "superpixel")

    return job.run(work)


def _mosaic(shift: QuickShift, pixels: Any, borders: bool) -> Any:
    drawn = np.array(pixels if borders else shift.mean_color(pixels))
    if borders:
        drawn[np.asarray(shift.contours()) != 0] = (0, 0, 255)
    return drawn


def match(options: argparse.Namespace, stop: Stop) -> int:
    """Finds fragments of the first frame in all others."""
    matcher = FragmentMatcher(options.metric, subpixel=True, device=options.device)
    job = Job(options, stop, ("frame", "time", "file", "fragment", "x", "y", "refined_x", "refined_y", "score", "confidence", "status"))

    def work(job: Job) -> str:
        regions: Any = options.box
        areas: Any = None
        found = looked = 0
        for frame in job.frames(from_first=True):
            height, width = frame.pixels.shape[:2]
            if frame.number == 0:
                _inside(options.box or (), frame)
                regions = regions or [(x, y, 16, 16) for y in range(16, height - 31, 32) for x in range(16, width - 31, 32)]
                if not regions:
                    raise error(f"{options.source}: frames of {width} x {height} pixels are too small for the grid of fragments, which needs 48 x 48; --box names fragments")
                matcher.cut(frame.pixels, regions)
                locations: Any = np.array([[row[:2]] for row in regions], np.int32)
                job.draw(lambda: _boxed(frame.pixels, [(*row, "", GREEN, 1) for row in regions]))
            else:
                areas = matcher.predict_areas(locations, options.radius, (width, height)) if options.radius else None
                if areas is not None:  # the top-left corner moves by the radius; a fragment that is lost is looked for everywhere
                    areas = np.array([area if area[2] > 0 else (0, 0, width, height) for area in np.asarray(areas)])
                matches = matcher.match(frame.pixels, areas)
                locations = np.asarray(matches.locations)
                rows = []
                for i, one in enumerate(matches):
                    looked += 1
                    found += one.status == 0
                    x, y = one.locations[0] if len(one.locations) else (None, None)
                    fine = one.refined[0] if len(one.refined) else (None, None)
                    if job.table:
                        job.table.add(frame.number, frame.time, frame.name, i, x, y, *fine, one.scores[0] if len(one.scores) else None, one.confidence,
                                      one.status.name.lower())
                    if x is not None:
                        rows.append((x, y, *matcher.size(i), "", GREEN if one.confidence > 2 else ORANGE, 1))
                job.draw(lambda: _boxed(frame.pixels, rows))
        if not looked and not stop.requested and options.frames != 1:
            raise error(f"{options.source}: has one frame; matching needs several")
        return f"{found} of {counted(looked, 'fragment')} found"

    return job.run(work)


def find(options: argparse.Namespace, stop: Stop) -> int:
    """Finds all places of a template."""
    template = Source(options.template, None)
    try:
        images = iter(template)
        part, other = next(images, None), next(images, None)
    finally:
        template.close()
    if part is None:
        raise error(template.unread[0] if template.unread else f"{options.template}: has no image")
    if other is not None:
        raise error(f"{options.template}: has more than one image; the template is one")
    finder = TemplateFinder(part.pixels, angles=options.angles, scales=options.scales, threshold=options.threshold, max_matches=options.matches,
                            max_overlap=options.overlap, device=options.device)
    job = Job(options, stop, ("frame", "time", "file", "x", "y", "angle", "scale", "score", "x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4"))

    def work(job: Job) -> str:
        total = 0
        for frame in job.frames():
            poses = finder.find(frame.pixels)
            total += len(poses)
            if job.table:
                for pose in poses:
                    job.table.add(frame.number, frame.time, frame.name, *pose.center, pose.angle, pose.scale, pose.score, *pose.corners.ravel())
            job.draw(lambda: _outlined(frame.pixels, poses))
        return counted(total, "place")

    return job.run(work)


def _outlined(pixels: Any, poses: Sequence[Pose]) -> Any:
    drawn = np.array(pixels)
    for pose in poses:
        top_left, top_right = pose.corners[:2]
        cv2.polylines(drawn, [np.rint(pose.corners).astype(np.int32)], True, GREEN, 2, cv2.LINE_AA)
        cv2.line(drawn, tuple(int(v) for v in pose.center), tuple(int(v) for v in (top_left + top_right) / 2), GREEN, 2, cv2.LINE_AA)
    for pose in poses:
        _label(drawn, f"{pose.score:.2f}", pose.center[0], pose.center[1], GREEN)
    return drawn


def info(_options: argparse.Namespace, _stop: Stop) -> int:
    """Prints the features of this build and the CUDA devices."""
    build = build_info()
    print(f"cudatracking {build.version}, OpenCV {build.opencv}, Python {sys.version.split()[0]}, numpy {np.__version__}")
    if build.cuda:
        ptx = f", PTX {' '.join(build.ptx)}" if build.ptx else ""
        print(f"CUDA {build.cuda}, compute capabilities {' '.join(build.compute_capabilities)}{ptx}")
    else:
        print("built for the CPU only")
    print(f"CPU: {build.cpu}")
    for device in devices():
        major, minor = device.compute_capability
        print(f"cuda:{device.index}: compute capability {major}.{minor}, {device.multiprocessors} multiprocessors, "
              f"{device.total_memory / 2**30:.1f} GiB{'' if device.usable else ', this build has no code for it'}")
    if not devices():
        print("no CUDA device that can be used; device=auto is the CPU")
    print(f"cascades: {' '.join(cascades())}")
    return 0


def _number(kind: Any, least: float, most: float = float("inf"), above: bool = False) -> Callable[[str], Any]:
    """Returns a type of finite numbers from `least`, or above it, to `most`."""
    words = f"{'more than ' if above else ''}{least:g}{f' to {most:.12g}' if most < float('inf') else '' if above else ' or more'}"

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no {'whole number' if kind is int else 'number'}") from None
        if not least <= value <= most or value == float("inf") or (above and value == least):
            raise argparse.ArgumentTypeError(f"{text}: {words} is possible")
        return value
    return read


def _range(least: float, most: float) -> Callable[[str], Any]:
    """Returns a type of two numbers FIRST,LAST, or of one for both."""
    def read(text: str) -> Any:
        values = [_number(float, least, most)(part) for part in text.split(",")]
        if len(values) > 2 or values[0] > values[-1]:
            raise argparse.ArgumentTypeError(f"{text}: one number, or FIRST,LAST in this order, is possible")
        return values[0], values[-1]
    return read


def _bands(text: str) -> list[int]:
    bands = [_number(int, 1, 65535)(part) for part in text.split(",")]
    if len(bands) > 16 or len(set(bands)) < len(bands):
        raise argparse.ArgumentTypeError(f"{text}: up to 16 different bands are possible")
    return bands


def _box(text: str) -> Any:
    try:
        return box(text)
    except error as raised:
        raise argparse.ArgumentTypeError(str(raised)) from None


def _file(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is empty")
    return text


class _Parser(argparse.ArgumentParser):
    """Says what is wrong after the usage, and as what is found later: error: OPTION: value: what is possible."""

    def error(self, message: str) -> NoReturn:
        say(f"{self.format_usage()}error: {message.removeprefix('argument ')}\n")
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Writes help. That it cannot be written is an error, which argparse passes over."""
        if file is not sys.stdout:
            say(message)
            return
        try:
            file.write(message)
            file.flush()
        except OSError as raised:
            if not isinstance(raised, BrokenPipeError):
                say(f"error: the standard output: cannot be written: {raised.strerror}\n")
            raise SystemExit(1) from None


def _end_outputs() -> None:
    """Writes what the standard output and error still hold, or lets go of them: Python would try again, and end with a code of its own."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _detect_options(made: Any) -> None:
    """Adds the parameters of the job, without defaults: what is given can be told from what is not."""
    made.add_argument("--cascade", action="append", metavar="NAME", help="name (cudatracking info lists them) or file; may be repeated "
                      f"(default: {DEFAULT_CASCADE})")
    made.add_argument("--scale-factor", type=_number(float, 1, above=True), metavar="F", help="ratio of successive scales (default 1.1)")
    made.add_argument("--min-neighbors", type=_number(int, 0, 2**31 - 1), metavar="N", help="a group of more than N candidates is an object (default 3)")
    made.add_argument("--min-size", type=_number(int, 0, 2**31 - 1), metavar="PIXELS", help="smallest side of objects (default: no limit)")
    made.add_argument("--max-size", type=_number(int, 0, 2**31 - 1), metavar="PIXELS", help="largest side of objects (default: no limit)")


def _superpixel_options(made: Any) -> None:
    """Adds the parameters of the job, without defaults."""
    made.add_argument("--sigma", type=_number(float, 0, 341, above=True), metavar="S", help="bandwidth of the density, in pixels (default 6)")
    made.add_argument("--max-dist", type=_number(float, 0, 32767, above=True), metavar="D", help="largest distance of a link (default 10)")
    made.add_argument("--color-scale", type=_number(float, 0, 1e9), metavar="F", help="factor on colors (default by type: 32/255 for 8 bits, 32/65535 for 16, 32 for floats, "
                      "which are 0 to 1)")
    made.add_argument("--number", type=_number(int, 1, 2**31 - 1), metavar="N", help="about N connected superpixels, with parameters for photographs; "
                      "not with --sigma, --max-dist and --color-scale")
    made.add_argument("--min-area", type=_number(int, 0, 2**31 - 1), metavar="PIXELS", help="split into 4-connected components and merge those of fewer pixels (default 20, "
                      "with --number a twelfth of the mean area); 0, without --number: do neither")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="cudatracking", allow_abbrev=False, description="Detects and tracks objects, segments images, matches patches and finds templates.",
                                     epilog="cudatracking COMMAND --help names the options of a command.")
    parser.add_argument("-V", "--version", action="version", version=f"cudatracking {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, work: Any, text: str, drawn: str, example: str = "") -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, allow_abbrev=False, epilog=example and f"Example: cudatracking {name} {example}")
        made.set_defaults(work=work, parser=made, inputs=("source", "cascade", "boxes"), outputs=("table", "draw", "labels"))
        if drawn:
            made.add_argument("source", help="image, folder of images (in natural order), video, number of a camera, or URL")
            made.add_argument("--table", metavar="FILE", type=_file, help="rows as .csv or .jsonl; - is the standard output (default, if nothing is drawn)")
            made.add_argument("--draw", metavar="FILE", type=_file, help=f"{drawn}: .png, .jpg or .bmp for an image; else .avi, or .mp4 with PyAV")
            made.add_argument("--frames", metavar="N", type=_number(int, 1), help="stop after N frames")
            made.add_argument("--device", default="auto", help='"auto" (default), "cpu", "cuda" or "cuda:<number>"')
            made.add_argument("--quiet", action="store_true", help="no progress and no closing line on the standard error")
        return made

    made = command("detect", detect, "Finds objects with cascades.", "boxes", "photo.jpg --cascade eye --draw eyes.png")
    _detect_options(made)
    made = command("track", track, "Tracks objects in a video: learns their appearance, reports when they are lost, finds them again.", "boxes, orange where uncertain",
                   "vtest.avi --box 253,219,30,90 --frames 25 --draw track.avi. The video is in samples/data of OpenCV's sources; as it is not MJPEG, it needs PyAV (pip install av).")
    made.add_argument("--box", type=_box, action="append", required=True, metavar="X,Y,WIDTH,HEIGHT", help="an object in the first frame; may be repeated")
    made.add_argument("--seed", type=_number(int, 0, 2**31 - 1), default=1, metavar="N", help="seed of all random choices (default 1)")
    made = command("superpixels", superpixels, "Segments frames into superpixels by quick shift.", "mean colours", "photo.jpg --min-area 30 --draw mean.png --table superpixels.csv")
    _superpixel_options(made)
    made.add_argument("--borders", action="store_true", help="with --draw: borders instead of mean colours")
    made.add_argument("--labels", metavar="FILE", type=_file, help=f"labels of one image ({' or '.join(LABELS)}), instead of --table and --draw. The image can also be an array of numpy (.npy, "
                      "height x width x channels) or, with rasterio, a raster with 1 to 16 bands (.tif, .jp2, .vrt)")
    made.add_argument("--bands", metavar="B,B,...", type=_bands, help="with --labels: bands of a raster, from 1 (default: all but an alpha band that has 0 and one more value)")
    made.add_argument("--mask-band", metavar="B", type=_number(int, 0, 65535), help="with --labels: band of a raster that is 0 where there is no data; 0: none (default: an alpha band that is "
                      "not in --bands and has 0 and one more value)")
    made.add_argument("--no-data", choices=("any", "all"), help="with --labels: pixels of a raster without superpixel are those without data in any band (default), or in all bands; "
                      "missing values of others then count as 0")
    made.add_argument("--memory", type=_number(float, .01, 1e6), metavar="GIB", help="with --labels: an image whose superpixels take more is computed by tiles, which "
                      f"gives the same labels, with --min-area 0 (default {MEMORY:g}; about 100 bytes per pixel). Tiles have 256 x 256 pixels or more, which takes 0.02 to 0.04; "
                      "what joins them takes up to 25 bytes per superpixel besides")
    made = command("match", match, "Locates patches (fragments) of the first frame in all others.", "boxes, orange where the confidence is at most 2",
                   "folder_of_frames --radius 16 --table positions.csv")
    made.add_argument("--box", type=_box, action="append", metavar="X,Y,WIDTH,HEIGHT", help="a fragment in the first frame; may be repeated (default: 16 x 16 pixels, one every 32 pixels from 16,16 on)")
    made.add_argument("--metric", choices=("sad", "ssd", "zncc"), default="zncc", help="measure by which positions are compared (default zncc)")
    made.add_argument("--radius", type=_number(int, 0, 32767), default=16, metavar="PIXELS", help="largest motion of a fragment between two frames (default 16; 0: any)")
    made = command("find", find, "Finds all places of a template in images, at any angle and in a range of sizes.", "outlines, with a line to the top and the score",
                   "board.png part.png --threshold .8 --draw found.png")
    made.add_argument("template", help="image of what to find")
    made.set_defaults(inputs=("source", "template"))
    made.add_argument("--angles", type=_range(-360, 360), default=(-180, 180), metavar="FIRST,LAST", help="degrees, counter-clockwise; one number: that angle alone (default: all)")
    made.add_argument("--scales", type=_range(.1, 10), default=(1, 1), metavar="FIRST,LAST", help="size divided by that of the template (default 1)")
    made.add_argument("--threshold", type=_number(float, 0, 1), default=.7, metavar="S", help="lowest score (default 0.7)")
    made.add_argument("--matches", type=_number(int, 1, 10000), default=1000, metavar="N", help="largest number of places in an image (default 1000)")
    made.add_argument("--overlap", type=_number(float, 0, 1), default=.3, metavar="F", help="largest part of a place that another one may cover (default 0.3)")
    made = command("scan", scan.run, "Runs a job on many videos with many processes, GPUs or hosts; can be ended and resumed.", "", "videos/ --job detect --out faces")
    made.set_defaults(outputs=("out",))
    scan.add_options(made, _number)
    _detect_options(made.add_argument_group("detect"))
    job = made.add_argument_group("track")
    job.add_argument("--box", type=_box, action="append", metavar="X,Y,WIDTH,HEIGHT", help="an object in the first frame of each video; may be repeated")
    job.add_argument("--boxes", metavar="FILE", help="objects as CSV with the columns video, x, y, width, height and, if not 0, frame")
    job.add_argument("--seed", type=_number(int, 0, 2**31 - 1), metavar="N", help="seed of all random choices (default 1)")
    _superpixel_options(made.add_argument_group("superpixels"))
    command("info", info, "Prints the features of this build and the CUDA devices.", "")
    return parser


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _said(raised: BaseException, options: argparse.Namespace) -> str:
    """Returns what is wrong; a parameter of a function that is an option here is named as the option."""
    if isinstance(raised, OSError) and raised.filename is not None:
        return f"{os.fsdecode(raised.filename)}: {raised.strerror}"
    text = str(raised) or type(raised).__name__
    name = getattr(raised, "argument", None)
    named = name in vars(options) and name not in ("source", "command") and text.startswith(f"{name}: ")
    return f"{_option(name)}{text[len(name):]}" if name and named else text


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line; what is wrong in it ends the program with the usage of the command that it is about."""
    parser = _parser()
    words = list(sys.argv[1:] if arguments is None else arguments)
    for at in range(len(words) - 1, 0, -1):
        if words[at - 1] in ("--box", "--angles") and re.match(r"-[\d.]", words[at]):  # argparse takes this for an option
            words[at - 1:at + 1] = [f"{words[at - 1]}={words[at]}"]
    options, rest = parser.parse_known_args(words)
    about = options.parser if options.command else parser
    if rest:
        about.error(f"unrecognized arguments: {' '.join(rest)}")
    if not options.command:
        say(parser.format_help())
        parser.exit(2, "error: a COMMAND is needed\n")
    if options.command == "detect" and 0 < (options.max_size or 0) < (options.min_size or 0):
        about.error(f"--max-size: {options.max_size}: --min-size is {options.min_size}, so no object would be left")
    if options.command == "superpixels" and options.borders and not options.draw:
        about.error("--borders: needs --draw")
    if options.command == "superpixels":
        for name in ("table", "draw", "frames"):
            if options.labels and getattr(options, name):
                about.error(f"--{name}: not allowed with --labels")
        for name in ("memory", "bands", "mask_band", "no_data"):
            if getattr(options, name) is not None and not options.labels:
                about.error(f"{_option(name)}: needs --labels")
        if suffix_of(options.source) in (ARRAY, *RASTERS) and not options.labels:
            about.error(f"source: {options.source}: needs --labels, as arrays and rasters do")
    for name in ("sigma", "max_dist", "color_scale"):
        if getattr(options, "number", None) and getattr(options, name) is not None:
            about.error(f"{_option(name)}: not allowed with --number, which has parameters of its own")
    return options


def _refuse_overwriting(options: argparse.Namespace) -> None:
    """Refuses outputs that are inputs."""
    named = vars(options)
    inputs: list[str] = []
    for name in options.inputs:
        value = named.get(name) or ()
        inputs += [value] if isinstance(value, str) else value
    if options.command == "scan":
        refuse_inputs_in("--out", options.out, inputs)
        return
    for name in [name for name in inputs if os.path.isdir(name)]:
        inputs += images_of(name)
    refuse_inputs([(f"--{name}", named[name]) for name in options.outputs if named.get(name) not in (None, "-")], inputs)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code."""
    closed = sys.stdout is None
    for name in ("stdout", "stderr"):  # Python has None for one that was closed before
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))
    try:
        return _run(arguments, closed)
    finally:
        _end_outputs()


def _run(arguments: Optional[Sequence[str]], closed: bool) -> int:
    """Runs the command. closed: there is no standard output."""
    options = _options(arguments)
    if "table" in options and not options.table and not options.draw and not getattr(options, "labels", None):
        options.table = "-"
    if closed and (options.command == "info" or getattr(options, "table", None) == "-"):
        say(f"error: the standard output is closed{'' if options.command == 'info' else '; --table FILE writes the rows to a file'}\n")
        return 1
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # what fails is said below, once
    stop = Stop()
    try:
        _refuse_overwriting(options)
        code = int(options.work(options, stop))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return 1
    except (error, TypeError, MemoryError, OSError) as raised:
        say(f"error: {_said(raised, options)}\n")
        stop.end()
        return 130 if stop.requested else 2 if isinstance(raised, ArgumentError) else 1
