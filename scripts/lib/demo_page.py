"""Makes the page of scripts/demo.sh: a table of numbers, and for each demo its videos, images, files, command and output.

    demo_page.py FOLDER MACHINE

FOLDER/demos.tsv has a line for each demo: its name, which is that of its folder, the caption, and the command. Videos are the
MJPEG .avi that the samples write. Browsers do not play these, so copies are made: .mp4 by PyAV, else animated .webp by Pillow. Without
both packages the page only links to the .avi.
"""
import html
import io
import re
import struct
import sys
import time
from pathlib import Path

# What to see in a file whose name begins so.
WHAT = (
    ("motion.avi", "Each line is the motion of a patch, drawn four times as long; green lines are reliable, red ones are not."),
    ("motion", "The motion of each patch as a line; green is reliable, red is not."),
    ("confidence", "Green patches have one clear match; along borders and in the uniform background they turn red."),
    ("disparity", "Orange is near, blue is far; unreliable matches are left out."),
    ("trails", "Each trail is the path of one patch so far; patches that are lost are replaced."),
    ("contours", "The borders of the superpixels as they change from frame to frame."),
    ("objects.avi", "Boxes appear where a detection is, each frame for itself; some contain no person."),
    ("objects", "Boxes around what was found."),
    ("follow.avi", "A box keeps its number and its colour while the cascade or the tracker sees its target."),
    ("tracks.avi", "A box is green while the tracker trusts it, orange while it does not, and gone while the target is lost."),
    ("templates", "Gray images that the tracker has learned: framed green those of the target, red those of the background."),
)
SEEN = (("_contours.png", "Borders follow the outlines of objects."), ("_mean.png", "Each superpixel has its mean colour; outlines are still there."))
STYLE = """
body { font: 16px/1.5 sans-serif; margin: 2em auto; max-width: 1400px; padding: 0 1em; color: #222; }
h2 { margin: 2em 0 0; border-top: 1px solid #ccc; padding-top: 1em; font-size: 1.2em; overflow-wrap: anywhere; }
.media { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(420px, 100%), 1fr)); gap: 12px; align-items: start; }
.numbers { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #ccc; padding: 0.2em 1em 0.2em 0; text-align: left; vertical-align: top; }
td.time { text-align: right; white-space: nowrap; }
figure { margin: 0; }
img, video { width: 100%; }
figcaption, .files { font-size: 0.85em; color: #555; overflow-wrap: anywhere; }
pre { background: #f4f4f4; padding: 0.6em; font-size: 0.8em; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


def seen(name):
    frame = re.match(r"frame_(\d+)", name)
    if frame:
        return f"Frame {int(frame.group(1))} of the video above."
    for end, words in SEEN:
        if name.endswith(end):
            return words
    return next((words for begin, words in WHAT if name.startswith(begin)), "")


def mp4_of(video):
    import av

    made = video.with_suffix(".mp4")
    with av.open(str(video)) as source, av.open(str(made), "w", options={"movflags": "faststart"}) as target:
        stream = source.streams.video[0]
        out = target.add_stream("h264", rate=stream.average_rate, options={"preset": "veryfast", "crf": "24"})
        out.width, out.height, out.pix_fmt = stream.width // 2 * 2, stream.height // 2 * 2, "yuv420p"
        for frame in source.decode(video=0):
            target.mux(out.encode(frame.reformat(width=out.width, height=out.height, format="yuv420p")))
        target.mux(out.encode())
    return made


def webp_of(video):
    """At most 200 frames, of half the size."""
    from PIL import Image

    data = video.read_bytes()
    microseconds = struct.unpack_from("<I", data, data.index(b"avih") + 8)[0]
    place, frames = data.index(b"movi") + 4, []
    while data[place:place + 4] == b"00dc":
        size = struct.unpack_from("<I", data, place + 4)[0]
        frames.append(data[place + 8:place + 8 + size])
        place += 8 + size + size % 2
    step = -(-len(frames) // 200)
    images = [Image.open(io.BytesIO(frame)).reduce(2) for frame in frames[::step]]
    made = video.with_suffix(".webp")
    images[0].save(made, save_all=True, append_images=images[1:], duration=step * microseconds // 1000, loop=0, quality=60)
    return made


def playable(video):
    """A copy that browsers play, or None."""
    for make in (mp4_of, webp_of):
        try:
            return make(video)
        except ImportError:
            pass
    return None


def rows(name, report):
    """Cells of the table: what a demo found, and its time per frame."""
    whole = re.search(r"([\d.]+) ms per frame", report)
    for line in report.splitlines():
        if re.search(r"\d (frame|fragment|superpixel|object)s?\b", line) and not line.startswith(("frame ", "matching:")):
            found = re.sub(r"(; (detection )?| in |, )[\d.]+ ms( per frame on the .*)?", "", line)
            elapsed = re.search(r"([\d.]+) ms", line) or whole
            yield f'<tr><td><a href="#{name}">{name}</a><td>{html.escape(found)}<td class="time">{elapsed.group(1)} ms'
        elif "agree with the truth" in line:
            yield f"<tr><td><td>{html.escape(line)}<td>"


def media(folder, file):
    """A figure, or None for a file that the page only links to. Labels are numbers, not colours."""
    path, name = f"{folder.name}/{file.name}", html.escape(file.name)
    if file.suffix == ".avi":
        copy = playable(file)
        if copy is None:
            return None
        path = f"{folder.name}/{copy.name}"
        shown = f'<video src="{path}" controls muted loop playsinline preload="metadata"></video>' if copy.suffix == ".mp4" else f'<img src="{path}" alt="{name}">'
    elif file.suffix in (".jpg", ".png") and not file.stem.endswith("_labels"):
        shown = f'<a href="{path}"><img src="{path}" alt="{name}" loading="lazy"></a>'
    else:
        return None
    return f"<figure>{shown}<figcaption><b>{name}</b>: {seen(file.name)}</figcaption></figure>"


def section(folder, caption, command, report):
    files = sorted(folder.iterdir(), key=lambda file: (file.suffix != ".avi", file.name))
    figures = [(file, media(folder, file)) for file in files]
    yield f'<h2 id="{folder.name}">{folder.name}</h2>\n<p>{html.escape(caption)}</p>\n<div class="media">'
    yield from (figure for _, figure in figures if figure)
    links = (f'<a href="{folder.name}/{file.name}">{file.name}</a> ({-(-file.stat().st_size // 1000)} kB)'
             for file, figure in figures if figure is None or file.suffix == ".avi")
    yield f'</div>\n<p class="files">Files: {", ".join(links)}</p>'
    said = "\n".join(line for line in report.splitlines() if not re.match(r"frame \d+/|wrote ", line))
    yield f"<details><summary>Command and output</summary><pre>{html.escape(command)}\n{html.escape(said)}</pre></details>"


def main():
    top, machine = Path(sys.argv[1]), sys.argv[2]
    demos = [line.split("\t") for line in (top / "demos.tsv").read_text(encoding="utf-8").splitlines()]
    reports = {name: (top / name / "report.txt").read_text(encoding="utf-8", errors="replace") for name, _, _ in demos}
    title = "opencv_cudatracking: results of the samples"
    page = [f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>",
            f"<p>{html.escape(machine)}. {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC. The CPU and the CUDA backend give the same "
            f"results.</p>\n<h2>Numbers</h2>\n<p>Times of one run, without decoding, drawing and writing; the first calls, which take "
            f'longer, are included. <a href="https://github.com/opencv/opencv/tree/4.x/samples/data">OpenCV\'s samples/data</a> has the '
            f'input.</p>\n<div class="numbers">\n<table>\n<tr><th>demo<th>found<th>time per frame']
    for name, report in reports.items():
        page += rows(name, report)
    page.append("</table>\n</div>")
    for name, caption, command in demos:
        page += section(top / name, caption, command, reports[name])
    (top / "index.html").write_text("\n".join(page) + "\n</body>\n</html>\n", encoding="utf-8")


main()
