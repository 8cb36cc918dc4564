"""Shared by the Python samples: options, signals, inputs, outputs, progress.

Exit codes: 0; 1 the program failed; 2 it was called wrongly; 130 it was interrupted, and what was done until then is written.
Import this before cv2, so that an early Ctrl-C is handled too.
"""
import signal

_stopped = []
_incomplete = []  # why not all of the input could be read


def _on_signal(*_):
    """The first signal ends the loop, a second one the program."""
    _stopped.append(True)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
for _number in SIGNALS:
    if signal.getsignal(_number) is not signal.SIG_IGN:  # nohup, or a job in the background: the user wants it so
        signal.signal(_number, _on_signal)

import argparse
import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
import time

import cv2

IMAGES = (".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".dib", ".pgm", ".ppm", ".pbm", ".pnm", ".webp", ".tif", ".tiff", ".jp2", ".gif")
VIDEO_HELP = "folder of images, sequence (frame%%04d.png), video, URL, or camera 0 to 99"


class Failure(Exception):
    """Ends the program with exit code 1 and this message."""


class NoFrames(Failure):
    """There was nothing to do, maybe because the user ended it that early."""


def stopped():
    """The user wants to end: leave the loop and finish the files."""
    return bool(_stopped)


def _say_incomplete():
    for reason in _incomplete:
        print(reason, file=sys.stderr)


def run(main):
    try:
        main()
        sys.stdout.flush()
    except (Failure, cv2.error, OSError) as error:
        if stopped() and isinstance(error, NoFrames):
            sys.exit(130)
        _say_incomplete()
        # Without the place in the sources, except where the text is a condition of the sources.
        brief = isinstance(error, cv2.error) and getattr(error, "err", "") and error.code != cv2.Error.StsAssert
        print(f"error: {error.err if brief else error}", file=sys.stderr)
        sys.stdout = None  # it may be what cannot be written
        sys.exit(1)
    _say_incomplete()
    if stopped():
        print("interrupted; what was done until then is written", file=sys.stderr)
        sys.exit(130)
    sys.exit(1 if _incomplete else 0)


# --- options ---------------------------------------------------------------------------------------------------------------


class _Once(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        given = namespace.__dict__.setdefault("_given", set())
        if option_string and self.dest in given:
            parser.error(f"{option_string} is given twice")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


def make_parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.register("action", None, _Once)
    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"), default="auto", help="default: cuda where there is a device")
    return parser


INT_MAX = 2**31 - 1


def number(kind, least, most):
    """For argparse: an int or float of this range, in the notation of C."""
    def read(text):
        try:
            value = kind(text) if text.isascii() and not re.search(r"[\s_]", text) else None
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r}: {'a whole number' if kind is int else 'a number'} from {least:.12g} to {most:.12g} is needed")
        return value
    return read


def use_cuda(options):
    there = options.backend != "cpu" and cv2.cuda.getCudaEnabledDeviceCount() > 0
    if options.backend == "cuda" and not there:
        raise Failure("--backend=cuda: there is no CUDA device that this build can use")
    return there


# --- inputs ----------------------------------------------------------------------------------------------------------------


def natural(name):
    """Sort key: numbers in names count as numbers, so that frame_2 comes before frame_10."""
    return [(0, int(part), part) if part.isdigit() else (1, 0, part) for part in re.findall(r"[0-9]+|[^0-9]+", name)]


def read_image(path):
    if not os.path.exists(path):
        raise Failure(f"there is no file {path}")
    image = cv2.imread(path)
    if image is None:
        raise Failure(f"cannot read the image {path}")
    return image


class Source:
    """Frames of one size of a folder of images, a sequence, a video, a URL or a camera, one after the other. Damaged ones are left out. Where
    the source fails later, it ends there: the outputs are complete up to there, and the exit code is 1."""

    def __init__(self, name):
        self._name, self._number, self._shape = name, -1, None
        self._files, self._video = None, None
        if os.path.isdir(name):
            names = sorted((n for n in os.listdir(name) if n.lower().endswith(IMAGES)), key=natural)
            self._files = [os.path.join(name, n) for n in names]
            if not self._files:
                raise Failure(f"there is no image in the folder {name}")
            self.count, self.rate = len(self._files), 25.
            return
        camera = re.fullmatch(r"[0-9]{1,2}", name)
        if not camera and "://" not in name and "%" not in name and not os.path.exists(name):
            raise Failure(f"there is no file or folder {name}")
        # FFmpeg would scale the images of a sequence to the size of the first one.
        images = "%" in name and "://" not in name
        self._video = cv2.VideoCapture(int(name)) if camera else cv2.VideoCapture(name, cv2.CAP_IMAGES if images else cv2.CAP_ANY)
        if not self._video.isOpened():
            raise Failure(f"cannot open camera {name}" if camera else f"cannot open the video {name}" + self._hint())
        self._live = bool(camera)
        count = 0 if camera else self._video.get(cv2.CAP_PROP_FRAME_COUNT)
        rate = self._video.get(cv2.CAP_PROP_FPS) if self._video.getBackendName() != "CV_IMAGES" else 0
        self.count = round(count) if 0 < count < 1e9 else 0  # 0: not known
        self.rate = rate if 1 <= rate <= 240 else 25.

    @staticmethod
    def _hint():
        return "" if cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG) else ": only MJPEG .avi, since FFmpeg was not found"

    def read(self):
        """The next frame; None when there are no more or the user wants to end."""
        while not stopped():
            self._number += 1
            name = f"{self._name}: frame {self._number}"
            if self._files:
                name = self._files.pop(0)
                frame = cv2.imread(name)
            elif self._video and self._video.grab():
                frame = self._video.retrieve()[1]
            else:
                self._end()
                return None
            if frame is None:
                _incomplete.append(f"left out, cannot be read: {name}")
                continue
            self._shape = self._shape or frame.shape
            if frame.shape != self._shape:
                sizes = [f"{shape[1]} x {shape[0]}" for shape in (frame.shape, self._shape)]
                _incomplete.append(f"error: {name} has {sizes[0]} pixels, the first one has {sizes[1]}; frames of one size are needed")
                return None
            return frame
        return None

    def _end(self):
        """Says why a video has no further frame, unless it is that it ends there."""
        if not self._video or stopped():
            return
        if self._live or ("://" in self._name and not 0 < self.count <= self._number):
            _incomplete.append(f"error: {self._name}: ended or stalled after {self._number} frames")
        elif self._number < self.count:  # the heads of files count frames that a program has dropped, too
            print(f"the input ended after {self._number} of the {self.count} frames that it announces", file=sys.stderr)


# --- outputs ---------------------------------------------------------------------------------------------------------------


def refuse_overwriting(parser, source, *targets):
    """Ends the program with exit code 2 where one of the targets is the source, also by another name."""
    for target in targets:
        with contextlib.suppress(OSError):
            if os.path.isfile(target) and os.path.samefile(source, target):
                parser.error(f"{target} is the input {source}, which would be lost; give another name")


def _descriptor(target):
    """The descriptor that a name such as /dev/stdout or /dev/fd/3 stands for, also behind links; None: the name is no such."""
    opened = os.path.realpath("/dev/fd")
    for _ in range(40):
        folder, name = os.path.split(os.path.abspath(target))
        target = os.path.join(os.path.realpath(folder), name)
        if os.path.realpath(folder) == opened and name.isdigit():
            return int(name)
        if not os.path.islink(target):
            return None
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    return None


def _new_file(target, elsewhere):
    """Makes a file beside another, or elsewhere, which has its permissions from the first byte on. Returns its path."""
    old = os.path.isfile(target)
    if old:
        open(target, "ab").close()  # a new name would need the folder's permission only
    stem, end = os.path.splitext(target)
    path = f"{stem}.partial-{os.getpid()}{end}"
    if elsewhere:
        path = os.path.join(tempfile.gettempdir(), os.path.basename(path))
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if old or elsewhere else 0o666)
    except OSError:
        if not old or elsewhere:
            raise
        return _new_file(target, True)  # the file can be written, but its folder cannot
    try:
        if old and not elsewhere and hasattr(os, "fchmod"):
            os.fchmod(file, stat.S_IMODE(os.stat(target).st_mode))
    finally:
        os.close(file)
    return path


def _finish(path, target, descriptor):
    """Gives a whole file its name. What cannot be replaced, such as a mount point, is written over."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    if descriptor is None:
        try:
            return os.replace(path, target)
        except OSError:
            if not os.path.exists(target):
                raise
    sys.stdout.flush()  # may go to the same place
    with open(path, "rb") as file, (open(target, "wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb")) as out:
        shutil.copyfileobj(file, out)
    os.remove(path)


@contextlib.contextmanager
def written(target):
    """A file that is written whole or not at all: the path to write to, which gets its name at the end."""
    try:
        if os.path.isdir(target):
            raise IsADirectoryError("it is a folder")
        descriptor = _descriptor(target)
        if descriptor is None and os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe is never replaced
            yield target
            return
        if descriptor is None:
            target = os.path.realpath(target)
        path = _new_file(target, descriptor is not None)
        try:
            yield path
            _finish(path, target, descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(path)
            raise
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror or error}") from error


def write_image(target, image):
    end = os.path.splitext(target)[1]
    if not cv2.haveImageWriter("x" + end):
        raise Failure(f"cannot write {target}: no image is written as '{end}'")
    ok, data = cv2.imencode(end, image)
    if not ok:
        raise Failure(f"cannot write {target}: the image cannot be encoded")
    with written(target) as path, open(path, "wb") as file:
        file.write(data)


class Video:
    """A video: MJPEG in .avi, or what FFmpeg makes of .mp4. To be used by `with`; whole or not at all."""

    LIMIT = 2e9  # bytes, where the format .avi ends

    def __init__(self, target, rate):
        end = os.path.splitext(target)[1]
        if end not in (".avi", ".mp4"):
            raise Failure(f"{target}: the name of a video ends with .avi or .mp4")
        if end == ".mp4" and not cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG):
            raise Failure(f"{target}: .mp4 needs FFmpeg, which was not found; take .avi")
        self._api, self._code = (cv2.CAP_OPENCV_MJPEG, "MJPG") if end == ".avi" else (cv2.CAP_FFMPEG, "mp4v")
        self._target, self._rate = target, rate
        self._files, self._writer = contextlib.ExitStack(), cv2.VideoWriter()
        self._bytes, self.frames = 0, 0

    def __enter__(self):
        self._path = self._files.enter_context(written(self._target))
        return self

    def write(self, frame):
        size = frame.shape[1::-1]
        if not self._writer.isOpened():
            if not self._writer.open(self._path, self._api, cv2.VideoWriter_fourcc(*self._code), self._rate, size):
                raise Failure(f"cannot write {self._target}: the encoder cannot be opened")
            self._size = size
        if size != self._size:
            raise Failure(f"{self._target}: frames of {self._size} and of {size} do not make one video")
        self._writer.write(frame)
        self.frames += 1
        if self._api == cv2.CAP_OPENCV_MJPEG:
            self._bytes += self._writer.get(cv2.VIDEOWRITER_PROP_FRAMEBYTES) + 24
            if os.path.isfile(self._path) and os.path.getsize(self._path) + (1 << 16) < self._bytes:
                raise Failure(f"cannot write {self._target}: what is written does not arrive; is the disk full?")
            if self._bytes >= self.LIMIT:
                raise Failure(f"cannot write {self._target}: .avi ends at 2 GB; take .mp4, or fewer frames")

    def __exit__(self, kind, error, trace):
        self._writer.release()
        failure = error or self._problem()
        self._files.__exit__(type(failure) if failure else None, failure, trace)
        if failure and not error:
            raise failure

    def _problem(self):
        """The writers do not say that a write failed: what was written must be readable, with all frames."""
        if not self.frames:
            return NoFrames("there was no frame to write")
        reader = cv2.VideoCapture(self._path, self._api)
        count = round(reader.get(cv2.CAP_PROP_FRAME_COUNT)) if reader.isOpened() else 0
        return None if count == self.frames else Failure(f"cannot write {self._target}: of {self.frames} frames {count} can be read again")


def draw_label(image, text, x, y, colour):
    """Text on a dark ground, so that it can be read on any image."""
    font, scale = cv2.FONT_HERSHEY_SIMPLEX, .45
    (width, height), base = cv2.getTextSize(text, font, scale, 1)
    x, y = max(min(x, image.shape[1] - width - 1), 1), max(min(y, image.shape[0] - base), height + 2)
    cv2.rectangle(image, (x - 1, y - height - 2), (x + width, y + base - 2), (20, 20, 20), cv2.FILLED)
    cv2.putText(image, text, (x, y), font, scale, colour, 1, cv2.LINE_AA)


class Progress:
    """Says on stderr how far the work is: a line that stays in its place on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, total):
        self._total, self._done, self._begin, self._last = total, 0, time.monotonic(), 0.
        self._terminal = sys.stderr.isatty()

    def step(self):
        self._done += 1
        now = time.monotonic() - self._begin
        if now - self._last < (0.2 if self._terminal else 10.) and (not self._terminal or self._done != self._total):
            return
        self._last, rate = now, self._done / max(now, 1e-3)
        line = f"frame {self._done}" + (f"/{self._total}" if self._total else "") + f", {rate:.1f} per second"
        if self._total > self._done:
            left = round((self._total - self._done) / rate)
            line += f", {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
        last = self._done == self._total
        print(f"\r{line}\x1b[K" if self._terminal else line, end="" if self._terminal and not last else "\n", file=sys.stderr, flush=True)
