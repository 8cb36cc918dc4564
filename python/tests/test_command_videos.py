"""The command's videos: what is damaged or ends early, what their heads say, times, and how frames are shown."""
import fractions
import re
import socket
import struct
import threading
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from cudatracking import _frames
from cudatracking._frames import Source
from command_case import CommandCase, needs_av, rows_of, write_video
from scenes import box, frame

BOX = ",".join(map(str, box(0)))


def write(path, count=30, codec="mpeg4", times=None, form=None, aspect=None, key_frames=10):
    """A video of 10 frames a second; `times` are in frames."""
    import av
    with av.open(path, "w", format=form) as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 192, 144, "yuv420p"
        stream.codec_context.gop_size = key_frames
        if aspect:
            stream.codec_context.sample_aspect_ratio = aspect
        for step in range(count):
            picture = av.VideoFrame.from_ndarray(frame(step), format="bgr24")
            picture.pts, picture.time_base = times[step] if times else step, fractions.Fraction(1, 10)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


def atom(kind, data):
    return struct.pack(">I", len(data) + 8) + kind + data


@needs_av
class VideosTest(CommandCase):
    def contents(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def put(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def packets(self, name):
        import av
        with av.open(self.path(name)) as container:
            return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]

    def test_damaged_frames_are_left_out(self):
        """Up to the next key frame; frames behind it have their numbers."""
        write(self.path("in.mp4"))
        data = bytearray(self.contents("in.mp4"))
        at, size = self.packets("in.mp4")[13]
        data[at:at + size] = bytes([255]) * size
        self.put("bad.mp4", data)
        done = self.run_command("track", "bad.mp4", f"--box={BOX}", "--table=t.csv", "--draw=t.mp4", code=1)
        self.assertRegex(done.stderr, r"left out: bad.mp4: frames 1[0-3] to 19: ")
        rows = {int(row["frame"]): row for row in rows_of(self.path("t.csv"))}
        self.assertEqual([number for number in range(20, 30) if number in rows], list(range(20, 30)))
        self.assertFalse({13, 14, 15, 16, 17, 18, 19} & set(rows))
        self.assertTrue(all(abs(float(row["time"]) - number / 10) < 1e-6 for number, row in rows.items()))
        self.assertEqual([round(shot.time * 10) for shot in Source(self.path("t.mp4"))], [0, *rows])

    def test_streams_that_end(self):
        write(self.path("in.ts"), form="mpegts")
        data = self.contents("in.ts")
        with socket.create_server(("127.0.0.1", 0)) as server:
            def answer():
                client = server.accept()[0]
                client.recv(4096)
                client.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\nContent-Length: %d\r\n\r\n" % len(data) + data[:len(data) * 8 // 10])
                client.close()

            threading.Thread(target=answer, daemon=True).start()
            done = self.run_command("track", f"http://127.0.0.1:{server.getsockname()[1]}/in.ts", f"--box={BOX}", "--table=t.csv", "--draw=t.avi", code=1)
        self.assertRegex(done.stderr, r"(?m)^(error|left out): http://127.0.0.1")
        self.assertGreater(len(rows_of(self.path("t.csv"))), 15)

    def test_counts_of_heads(self):
        """Frames that an edit list hides, and those that an AVI has dropped, are not missing."""
        import av
        write(self.path("in.mp4"))
        with av.open(self.path("in.mp4")) as old, av.open(self.path("trimmed.mp4"), "w", options={"avoid_negative_ts": "disabled"}) as new:
            copied = new.add_stream_from_template(old.streams.video[0])
            shift = int(fractions.Fraction(15, 10) / old.streams.video[0].time_base)
            for packet in old.demux(video=0):
                if packet.dts is not None and packet.pts * packet.time_base >= 1:
                    packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copied
                    new.mux(packet)
        write(self.path("dropped.avi"), times=[step + step // 10 * 5 for step in range(30)])
        write(self.path("in.avi"))
        data = bytearray(self.contents("in.avi"))
        for at in (data.index(b"avih") + 8 + 16, data.index(b"strh") + 8 + 32):  # frames that were dropped at the end
            data[at:at + 4] = struct.pack("<I", 35)
        self.put("ended.avi", data)
        for name, count in (("trimmed.mp4", 15), ("dropped.avi", 30), ("ended.avi", 30)):
            source = Source(self.path(name))
            self.assertGreater(source.count, count)
            self.assertEqual((len(list(source)), source.count), (count, count))
            self.assertNotIn("note", self.run_command("detect", name, "--table=t.csv").stderr)
            self.run_command("scan", name, "--job=detect", f"--out=out-{name}", "--format=csv", "--executor=processes", "--workers=cpu:1")

    def test_damaged_frames_without_av(self):
        write_video(self.path("in.avi"), 12)
        data = bytearray(self.contents("in.avi"))
        at = [found.start() for found in re.finditer(b"00dc", data)][5] + 8
        data[at:at + 40] = bytes(40)
        self.put("bad.avi", data)
        with mock.patch.object(_frames, "import_optional", side_effect=ct.error("there is none")):
            source = Source(self.path("bad.avi"))
            self.assertEqual([(shot.number, round(10 * shot.time)) for shot in source], [(number, number) for number in range(12) if number != 5])
        self.assertEqual(source.unread, [f"{self.path('bad.avi')}: frame 5: is damaged"])

    def test_cover_art(self):
        write(self.path("in.mp4"))
        data = self.contents("in.mp4").replace(b"udta", b"free")
        picture = ct.cv2.imencode(".jpg", frame(0)[:40, :40])[1].tobytes()
        cover = atom(b"ilst", atom(b"covr", atom(b"data", struct.pack(">II", 13, 0) + picture)))
        cover = atom(b"udta", atom(b"meta", bytes(4) + atom(b"hdlr", bytes(8) + b"mdirappl" + bytes(9)) + cover))
        at = data.index(b"moov")
        self.assertLess(data.index(b"mdat"), at)
        self.put("cover.mp4", data[:at - 4] + struct.pack(">I", struct.unpack(">I", data[at - 4:at])[0] + len(cover)) + b"moov" + cover + data[at + 4:])
        self.assertEqual([shot.pixels.shape for shot in Source(self.path("cover.mp4"))], [(144, 192, 3)] * 30)

    def test_mirrored_videos(self):
        write(self.path("in.mp4"), 2)
        data = self.contents("in.mp4")
        at = data.index(b"tkhd") + 44
        straight = [shot.pixels for shot in Source(self.path("in.mp4"))]
        for matrix, change in (((-1, 0, 0, 1), lambda pixels: pixels[:, ::-1]), ((1, 0, 0, -1), lambda pixels: pixels[::-1]),
                               ((0, 1, 1, 0), lambda pixels: pixels.swapaxes(0, 1)), ((0, -1, -1, 0), lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1))):
            a, b, c, d = (value << 16 for value in matrix)
            self.put("m.mp4", data[:at] + struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30) + data[at + 36:])
            self.assertTrue(all(np.array_equal(shot.pixels, change(pixels)) for shot, pixels in zip(Source(self.path("m.mp4")), straight)), matrix)

    def test_turned_pixels(self):
        """4:3 as wide as high, 192 x 144 of them: shown with 256 x 144, and turned with 144 x 256."""
        write(self.path("in.mp4"), 2, aspect=fractions.Fraction(4, 3))
        data = self.contents("in.mp4")
        at = data.index(b"tkhd") + 44
        for name, (a, b, c, d), width, height in (("straight", (1, 0, 0, 1), 256, 144), ("turned", (0, 1, -1, 0), 144, 256), ("upside", (-1, 0, 0, -1), 256, 144)):
            self.put(f"{name}.mp4", data[:at] + struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30) + data[at + 36:])
            self.run_command("detect", f"{name}.mp4", f"--draw={name}-drawn.mp4")
            for source in map(Source, (self.path(f"{name}.mp4"), self.path(f"{name}-drawn.mp4"))):
                rows, columns = list(source)[0].pixels.shape[:2]
                self.assertEqual((columns * source.aspect, rows) if rows == 144 else (columns, rows / source.aspect), (width, height), name)

    def test_times(self):
        """They begin with the first frame, in every container; a drawing has those of its source, and the shape of its pixels."""
        times = [step + 5 * (step > 9) for step in range(20)]
        write(self.path("in.mp4"), 20, times=times, aspect=fractions.Fraction(4, 3))
        write(self.path("in.ts"), 20, times=[30 + step for step in times], form="mpegts")
        self.run_command("detect", "in.mp4", "--draw=d.mp4")
        for name in ("in.mp4", "in.ts", "d.mp4"):
            self.assertEqual([round(shot.time, 4) for shot in Source(self.path(name))], [step / 10 for step in times], name)
        self.assertEqual(Source(self.path("d.mp4")).aspect, fractions.Fraction(4, 3))


if __name__ == "__main__":
    unittest.main()
