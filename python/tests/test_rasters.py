"""Labels of one image by the command: those of one call, whatever the memory; files whole or not at all."""
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import numpy as np

import cudatracking as ct
from command_case import SIGNALS, CommandCase, write_video
from cudatracking._rasters import bytes_of
from scenes import frame, texture

needs_rasterio = unittest.skipUnless(importlib.util.find_spec("rasterio"), "rasterio is not installed")
SETTINGS = "--sigma=2", "--max-dist=9", "--color-scale=.25", "--device=cpu"
TILED = (*SETTINGS, "--min-area=0", "--memory=.02")


def bands(rows, columns, count):
    return np.dstack([texture((rows, columns, 3), 7 + i) for i in range(-(-count // 3))])[:, :, :count].copy()


def whole(image, mask=None):
    return ct.QuickShift(2., 9., .25, device="cpu").compute(image, mask=mask).labels()


def geotiff(path, image, **named):
    import rasterio
    rows, columns, count = image.shape
    with rasterio.open(path, "w", driver="GTiff", width=columns, height=rows, count=count, dtype=image.dtype, **named) as out:
        out.write(np.moveaxis(image, -1, 0))


class RastersTest(CommandCase):
    def by_tiles(self, source, target, least=4):
        """Writes labels by tiles, and looks that there were several."""
        said = self.call_command("superpixels", source, f"--labels={target}", *TILED)[1]
        found = re.search(r"(\d+) tiles in [0-9.]+ s, [0-9.]+ per second, (\d+) superpixels\n\Z", said)
        self.assertTrue(found and int(found.group(1)) >= least, said)
        return int(found.group(2))

    def test_arrays(self):
        deep = bands(500, 560, 5).astype(np.uint16) * 3
        real = bands(500, 560, 2).astype(np.float32)
        real[100:150, 200:260, 1] = np.nan
        for image in (bands(500, 560, 1)[:, :, 0], bands(500, 560, 1), bands(500, 560, 4), deep, real, np.asfortranarray(bands(500, 560, 3))):
            with self.subTest(f"{image.dtype} {image.shape}"):
                np.save(self.path("in.npy"), image)
                number = self.by_tiles("in.npy", "tiles.npy")
                expected = whole(np.ascontiguousarray(image))
                labels = np.load(self.path("tiles.npy"))
                self.assertEqual((labels.dtype, number), (np.int32, expected.max() + 1))
                np.testing.assert_array_equal(labels, expected)
                printed, errors = self.call_command("superpixels", "in.npy", "--labels=one.npy", *SETTINGS, "--min-area=0")
                self.assertEqual(printed, "")
                self.assertRegex(errors, rf"\A1 image in [0-9.]+ s, [0-9.]+ per second, {number} superpixels\n\Z")
                self.assertEqual(self.call_command("superpixels", "in.npy", "--labels=one.npy", *SETTINGS, "--min-area=0", "--quiet"), ("", ""))
                np.testing.assert_array_equal(np.load(self.path("one.npy")), expected)

    def test_photographs(self):
        image = texture((500, 560, 3), 3)
        ct.cv2.imwrite(self.path("in.png"), image)
        self.by_tiles("in.png", "tiles.npy")
        np.testing.assert_array_equal(np.load(self.path("tiles.npy")), whole(image))
        self.call_command("superpixels", "in.png", "--labels=l.npy", *SETTINGS)
        connected = ct.QuickShift(2., 9., .25, device="cpu").compute(image)
        connected.enforce_connectivity(20)
        np.testing.assert_array_equal(np.load(self.path("l.npy")), connected.labels())
        ct.cv2.imwrite(self.path("small.png"), frame(0))
        self.call_command("superpixels", "small.png", "--labels=l.npy", "--number=40")
        np.testing.assert_array_equal(np.load(self.path("l.npy")), ct.superpixels(frame(0), 40))
        self.assertRegex(self.call_command("superpixels", "small.png", "--labels=l.npy", "--number=200", "--min-area=2000")[1],
                         r"\A--number 200: the nearest that was found is (\d+)\n1 image in [^\n]*, \1 superpixels\n\Z")

    @needs_rasterio
    def test_geotiffs(self):
        import rasterio
        image, where = bands(500, 560, 5), rasterio.transform.from_origin(100., 200., 10., 10.)
        image[40:300, 200:290] = 255
        image[320:400, 100:200, 2] = 255  # no data in one band
        geotiff(self.path("in.tif"), image, nodata=255, transform=where, crs="EPSG:32632")
        mask = (image != 255).all(axis=2)
        number = self.by_tiles("in.tif", "tiles.tif")
        self.call_command("superpixels", "in.tif", "--labels=one.tif", *SETTINGS, "--min-area=0")
        expected = whole(image, mask)
        self.assertEqual(number, expected.max() + 1)
        for name in ("tiles.tif", "one.tif"):
            with rasterio.open(self.path(name)) as read:
                np.testing.assert_array_equal(read.read(1), expected)
                self.assertEqual((read.transform, read.crs.to_epsg(), read.nodata), (where, 32632, -1))
        self.assertTrue((expected[40:300, 200:290] == -1).all())
        self.assertTrue((expected[320:400, 100:200] == -1).all())
        # A photograph, and an array, without coordinates.
        ct.cv2.imwrite(self.path("in.png"), image[:, :, :3])
        self.by_tiles("in.png", "tiles.tif")
        with rasterio.open(self.path("tiles.tif")) as read:
            np.testing.assert_array_equal(read.read(1), whole(np.ascontiguousarray(image[:, :, :3])))

    @needs_rasterio
    def test_sources_of_a_virtual_raster(self):
        """They are not replaced, however the raster names them."""
        geotiff(self.path("in.tif"), bands(500, 560, 3))
        geotiff(self.path("a,b.tif"), bands(500, 560, 3))
        with open(self.path("in.tif"), "rb") as file:
            before = file.read()
        os.mkdir(self.path("deep"))
        os.symlink("in.tif", self.path("link.tif"))

        def virtual(name, source, relative=0):
            text = "".join(f"""<VRTRasterBand dataType="Byte" band="{i}"><SimpleSource><SourceFilename relativeToVRT="{relative}">{source}</SourceFilename>
                <SourceBand>{i}</SourceBand></SimpleSource></VRTRasterBand>""" for i in (1, 2, 3))
            with open(self.path(name), "w") as file:
                file.write(f'<VRTDataset rasterXSize="560" rasterYSize="500">{text}</VRTDataset>')

        for source, relative, output in (("in.tif", 0, "in.tif"), ("../in.tif", 1, "in.tif"), ("../in.tif", 1, "link.tif"), ("link.tif", 0, "in.tif"), ("../in.tif", 1, "./deep/../in.tif"),
                                         (f"file://{self.path('in.tif')}", 0, "in.tif"), ("GTIFF_DIR:1:in.tif", 0, "in.tif"), ("vrt://in.tif?bands=1,2,3", 0, "in.tif"),
                                         ("/vsicached?chunk_size=32768&amp;file=in.tif", 0, "in.tif"), ("/vsisubfile/0_99999999,in.tif", 0, "in.tif"), ("a,b.tif", 0, "a,b.tif")):
            virtual("deep/v.vrt", source, relative)
            virtual("of.vrt", "deep/v.vrt", 1)
            for name in ("deep/v.vrt", "of.vrt"):
                for options in (SETTINGS, TILED):
                    with self.subTest(f"{source} {name} {output} {options}"):
                        errors = self.call_command("superpixels", name, f"--labels={output}", *options, code=2)[1]
                        self.assertRegex(errors, rf"\Aerror: --labels: {re.escape(output)}: is the input ")
        for name in ("GTIFF_DIR:1:in.tif", "vrt://in.tif"):
            self.assertIn("is the input", self.call_command("superpixels", name, "--labels=in.tif", *SETTINGS, code=2)[1])
        with open(self.path("in.tif"), "rb") as file:
            self.assertEqual(file.read(), before)
        virtual("v.vrt", "in.tif")
        geotiff(self.path("l.tif"), bands(20, 20, 1))
        self.call_command("superpixels", "v.vrt", "--labels=l.tif", *SETTINGS)  # another file is replaced

    @needs_rasterio
    def test_mask_beside_an_older_file(self):
        """What GDAL reads with it, a mask of its own for instance, is not taken for the new labels."""
        import rasterio
        geotiff(self.path("in.tif"), bands(500, 560, 3))
        os.mkdir(self.path("deep"))
        os.symlink("deep/l.tif", self.path("l.tif"))
        for name in ("deep/l.tif", "l.tif"):
            geotiff(self.path("deep/l.tif"), bands(500, 560, 1))
            with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(self.path(name), "r+") as older:
                older.write_mask(np.zeros((500, 560), bool))
                older.build_overviews([2])
            with open(self.path(f"{name}.aux.xml"), "w") as file:
                file.write('<PAMDataset><PAMRasterBand band="1"><Metadata><MDI key="STATISTICS_MAXIMUM">3</MDI></Metadata></PAMRasterBand></PAMDataset>')
            self.assertTrue(os.path.exists(self.path(f"{name}.msk")))
            self.call_command("superpixels", "in.tif", "--labels=l.tif", *SETTINGS)
            with rasterio.open(self.path(name)) as read:
                self.assertTrue(read.read_masks(1).all())
                self.assertEqual((read.tags(1), read.overviews(1), len(read.files)), ({}, [], 1))
        self.assertEqual((sorted(os.listdir(self.folder)), os.listdir(self.path("deep"))), (["deep", "in.tif", "l.tif"], ["l.tif"]))

    @needs_rasterio
    def test_coordinates_beside_an_older_file(self):
        """A world file of another TIFF is removed with it; one that may be of another image is left, and refused where it would be read."""
        import rasterio
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        for end in ("tfw", "tifw", "TFW"):
            geotiff(self.path("l.tif"), bands(20, 20, 1))
            with open(self.path(f"l.{end}"), "w") as file:
                file.write("2\n0\n0\n-2\n100\n200\n")
            self.call_command("superpixels", "in.png", "--labels=l.tif", *SETTINGS)
            with rasterio.open(self.path("l.tif")) as read:
                self.assertTrue(read.transform.is_identity)
            self.assertEqual(sorted(os.listdir(self.folder)), ["in.png", "l.tif"])
        os.remove(self.path("l.tif"))
        with open(self.path("l.wld"), "w") as file:
            file.write("2\n0\n0\n-2\n100\n200\n")
        self.assertEqual(self.call_command("superpixels", "in.png", "--labels=l.tif", *SETTINGS, code=2)[1],
                         "error: --labels: l.tif: GDAL would read coordinates from l.wld, and in.png has none; name another file\n")
        geotiff(self.path("in.tif"), bands(40, 40, 3), crs="EPSG:32632", transform=rasterio.transform.from_origin(5, 5, 3, 3))
        self.call_command("superpixels", "in.tif", "--labels=l.tif", *SETTINGS)
        with rasterio.open(self.path("l.tif")) as read:
            self.assertEqual(read.transform.a, 3)
        self.assertTrue(os.path.exists(self.path("l.wld")))

    @needs_rasterio
    def test_points_and_rational_polynomials(self):
        """A GeoTIFF of labels has the image's."""
        import rasterio
        points = [rasterio.control.GroundControlPoint(row, column, 500000. + 10 * column, 5000000. - 10 * row, 3.) for row, column in ((0, 0), (0, 560), (500, 0), (500, 560))]
        line = [1., *[.001 * i for i in range(19)]]
        polynomials = rasterio.rpc.RPC(height_off=10., height_scale=500., lat_off=45., lat_scale=1., line_den_coeff=line, line_num_coeff=line[::-1], line_off=250., line_scale=250.,
                                       long_off=9., long_scale=1., samp_den_coeff=line, samp_num_coeff=line[::-1], samp_off=280., samp_scale=280., err_bias=None, err_rand=None)
        for place in (dict(gcps=points, crs="EPSG:32632"), dict(rpcs=polynomials), dict(gcps=points, crs="EPSG:4326", rpcs=polynomials)):
            geotiff(self.path("in.tif"), bands(500, 560, 3), **place)
            for options in (SETTINGS, TILED):
                self.call_command("superpixels", "in.tif", "--labels=l.tif", *options)
                with rasterio.open(self.path("in.tif")) as source, rasterio.open(self.path("l.tif")) as labels:
                    told = [[(point.row, point.col, point.x, point.y, point.z) for point in file.gcps[0]] for file in (source, labels)]
                    self.assertEqual(told[0], told[1])
                    self.assertEqual(len(told[1]), 4 if "gcps" in place else 0)
                    self.assertEqual((labels.gcps[1], labels.rpcs is None), (source.gcps[1], "rpcs" not in place))
                    self.assertEqual(sorted(os.listdir(self.folder)), ["in.tif", "l.tif"])
                    self.assertEqual(labels.rpcs and labels.rpcs.to_dict(), source.rpcs and source.rpcs.to_dict())

    @needs_rasterio
    def test_pixels_that_lack_a_band(self):
        """One rule for all values of no data, and a choice."""
        image, hole, all_of_it = bands(60, 80, 3).astype(np.float32), np.zeros((60, 80), bool), np.zeros((60, 80), bool)
        hole[10:30, 20:50], all_of_it[40:50, 60:70] = True, True
        filled = image.copy()
        filled[hole, 1] = filled[all_of_it] = 0
        for nodata in (-9999., float("nan"), float(np.finfo(np.float32).min)):
            image[hole, 1] = image[all_of_it] = nodata
            geotiff(self.path("in.tif"), image, nodata=nodata)
            for options, expected in (((), whole(filled, ~(hole | all_of_it))), (("--no-data=any",), whole(filled, ~(hole | all_of_it))),
                                      (("--no-data=all",), whole(filled, ~all_of_it))):
                with self.subTest(nodata=nodata, options=options):
                    self.call_command("superpixels", "in.tif", "--labels=l.npy", *SETTINGS, "--min-area=0", *options)
                    np.testing.assert_array_equal(np.load(self.path("l.npy")), expected)

    @needs_rasterio
    def test_bands_that_are_asked_for(self):
        """A band that the file calls alpha is the mask where it can be one, or is asked for."""
        image = bands(60, 80, 4)
        image[:20, :30, 3] = 0
        geotiff(self.path("in.tif"), image, photometric="rgb", alpha="yes")
        there = image[:, :, 3] != 0
        says = "in.tif: band 4 is alpha by what the file says, but has other values than those of a mask, and is a channel; --mask-band 4 makes it the mask\n"
        for options, expected, note in (((), whole(image), says), (("--mask-band=4",), whole(image[:, :, :3].copy(), there), ""), (("--mask-band=0",), whole(image), ""),
                                        (("--bands=4,1",), whole(image[:, :, [3, 0]].copy()), ""), (("--bands=2",), whole(image[:, :, 1].copy()), ""),
                                        (("--bands=2,3", "--mask-band=4"), whole(image[:, :, 1:3].copy(), there), "")):
            with self.subTest(options):
                said = self.call_command("superpixels", "in.tif", "--labels=l.npy", *SETTINGS, "--min-area=0", *options)[1]
                np.testing.assert_array_equal(np.load(self.path("l.npy")), expected)
                self.assertEqual(said.partition("1 image in")[0], note)
        for options, words in ((("--bands=5",), "--bands: 5: in.tif has 4 bands"), (("--mask-band=9",), "--mask-band: 9: in.tif has 4 bands"),
                               (("--bands=0",), "--bands: 0: 1 to 65535 is possible"), (("--bands=1,1",), "--bands: 1,1: up to 16 different bands are possible")):
            self.assertIn(words, self.call_command("superpixels", "in.tif", "--labels=l.npy", *options, code=2)[1])
        np.save(self.path("in.npy"), image)
        self.assertIn("--bands: is for rasters", self.call_command("superpixels", "in.npy", "--labels=l.npy", "--bands=1", code=2)[1])
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        self.assertIn("error: --mask-band: needs --labels", self.call_command("superpixels", "in.png", "--mask-band=0", code=2)[1])

    def test_types(self):
        """All whole numbers that floats hold; the color scale is by the type."""
        image = bands(500, 560, 2)
        for pixels, expected in ((image.astype(np.int16) - 100, whole(image.astype(np.float32))), (image.astype(np.int64), whole(image.astype(np.float32)))):
            np.save(self.path("in.npy"), pixels)
            self.by_tiles("in.npy", "tiles.npy")
            np.testing.assert_array_equal(np.load(self.path("tiles.npy")), expected)
        one, labels = "--device=cpu", {}
        for name, pixels in (("uint8", frame(0)), ("uint16", frame(0).astype(np.uint16) * 257), ("float32", (frame(0) / 255).astype(np.float32))):
            np.save(self.path("in.npy"), pixels)
            said = self.call_command("superpixels", "in.npy", "--labels=l.npy", one)[1]
            labels[name] = np.load(self.path("l.npy"))
            self.assertEqual(labels[name].max(), labels["uint8"].max())
            self.assertEqual("--color-scale is" in said, name != "uint8", said)
            self.assertEqual(self.call_command("superpixels", "in.npy", "--labels=l.npy", one, "--quiet"), ("", ""))
        np.save(self.path("in.npy"), frame(0).astype(np.int32))
        self.assertEqual(self.call_command("superpixels", "in.npy", "--labels=l.npy", one, code=2)[1],
                         "error: --color-scale: has no default for int32; give one, such as 32 / the range of the values\n")

    @needs_rasterio
    def test_alpha_is_no_channel(self):
        image = bands(500, 560, 4)
        image[:, :, 3] = 255
        image[100:160, 50:110, 3] = 0
        geotiff(self.path("in.tif"), image, photometric="rgb", alpha="yes")
        said = self.call_command("superpixels", "in.tif", "--labels=l.npy", *TILED)[1]
        self.assertIn("in.tif: band 4 is alpha by what the file says, and is no channel\n", said)
        expected = whole(np.ascontiguousarray(image[:, :, :3]), image[:, :, 3])
        np.testing.assert_array_equal(np.load(self.path("l.npy")), expected)

    def test_refused(self):
        np.save(self.path("in.npy"), bands(500, 560, 3))
        np.save(self.path("many.npy"), np.zeros((30, 30, 17), np.uint8))
        np.save(self.path("none.npy"), np.zeros((0, 5), np.uint8))
        np.save(self.path("complex.npy"), np.zeros((30, 30), complex))
        np.save(self.path("line.npy"), np.zeros(30, np.uint8))
        np.save(self.path("objects.npy"), np.array([None, {}]), allow_pickle=True)
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        write_video(self.path("in.avi"), 2)
        with open(self.path("bad.npy"), "w") as file:
            file.write("print('hello')\n")
        before = sorted(os.listdir(self.folder))
        for arguments, words, code in (
                (["in.npy", "--labels=l.npy", "--memory=.02", "--min-area=20"], "--min-area: 20: in.npy: its superpixels take 0.0237 GiB, and --memory is 0.02: it is computed by tiles, where only", 2),
                (["in.png", "--labels=l.npy", "--memory=.01", "--number=9"], "", 0),
                (["in.npy", "--labels=l.npy", "--memory=.01", "--min-area=0", "--sigma=60"], "--memory: 0.01: in.npy: its superpixels take", 2),
                (["in.npy", "--labels=l.npy", "--number=9"], "--number: 9: has parameters for photographs", 2),
                (["in.npy", "--labels=l.png"], "--labels: l.png: the name must end with .npy or .tif or .tiff", 2),
                (["in.avi", "--labels=l.npy"], "--labels: are those of one image", 2), (["in.npy", "--labels=in.npy"], "--labels: in.npy: is the input", 2),
                (["in.png", "--labels=l.npy", "--table=t.csv"], "error: --table: not allowed with --labels", 2),
                (["in.png", "--labels=l.npy", "--draw=t.png"], "error: --draw: not allowed with --labels", 2), (["in.png", "--labels=l.npy", "--frames=1"], "error: --frames: not", 2),
                (["in.npy"], "error: source: in.npy: needs --labels", 2), (["in.png", "--memory=1"], "error: --memory: needs --labels", 2), (["in.png", "--labels=l.npy", "--memory=0"], "--memory: 0: 0.01 to 1000000 is possible", 2),
                (["no.npy", "--labels=l.npy"], "no.npy: cannot be read: No such file", 1), (["bad.npy", "--labels=l.npy"], "bad.npy: cannot be read: ", 1),
                (["objects.npy", "--labels=l.npy"], "objects.npy: cannot be read: ", 1), (["line.npy", "--labels=l.npy"], "line.npy: shape (30,); height x width", 2),
                (["none.npy", "--labels=l.npy"], "none.npy: shape (0, 5); at least one pixel is needed", 2),
                (["many.npy", "--labels=l.npy"], "many.npy: image: ", 1), (["complex.npy", "--labels=l.npy"], "complex.npy: image: elements are complex128", 1),
                (["in.npy", "--labels=no/l.npy"], "no/l.npy: cannot be written: No such file", 1)):
            with self.subTest(arguments):
                errors = self.call_command("superpixels", *arguments, code=code)[1]
                self.assertIn(words, errors)
                if code:
                    self.assertEqual(sorted(os.listdir(self.folder)), before)
                else:
                    os.unlink(self.path("l.npy"))

    def test_without_rasterio(self):
        ct.cv2.imwrite(self.path("in.png"), frame(0))
        with mock.patch.dict(sys.modules, {"rasterio": None}):
            for arguments, name in ((["in.png", "--labels=l.tif"], "l.tif"), (["in.tif", "--labels=l.npy"], "in.tif")):
                self.assertEqual(self.call_command("superpixels", *arguments, code=1)[1], f"error: {name}: needs rasterio: pip install 'cudatracking[rasters]'\n")

    @needs_rasterio
    def test_broken_geotiff(self):
        geotiff(self.path("in.tif"), bands(500, 560, 3))
        with open(self.path("in.tif"), "rb") as file:
            data = file.read()
        for size, words in ((100, "in.tif: cannot be read: "), (len(data) // 2, "in.tif: cannot be read: ")):
            with open(self.path("in.tif"), "wb") as file:
                file.write(data[:size])
            for options in (SETTINGS, TILED):
                self.assertIn(words, self.call_command("superpixels", "in.tif", "--labels=l.npy", *options, code=1)[1])
        self.assertEqual(os.listdir(self.folder), ["in.tif"])

    def test_ended_by_a_signal(self):
        """An older file stays; of a new one nothing does."""
        np.save(self.path("in.npy"), np.tile(bands(500, 560, 1)[:, :, 0], (12, 12)))
        np.save(self.path("l.npy"), np.arange(4))
        for number in (*SIGNALS, signal.SIGKILL):
            running = subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", "in.npy", "--labels=l.npy", "--sigma=9", "--device=cpu", "--min-area=0", "--memory=.1"],
                                       cwd=self.folder, stderr=subprocess.PIPE, text=True)
            line = running.stderr.readline()
            self.assertRegex(line, r"\A\s*tile \d+ of \d+, ")
            running.send_signal(number)
            rest = running.communicate(timeout=300)[1]
            np.testing.assert_array_equal(np.load(self.path("l.npy")), np.arange(4))
            if number != signal.SIGKILL:
                self.assertEqual((running.returncode, rest.splitlines()[-1]), (130, "error: ended by a signal; nothing is written"))
                self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "l.npy"])

    def test_one_long_call_ended_by_a_signal(self):
        """It ends at once, also an image that is not computed by tiles and a tile that takes long."""
        np.save(self.path("in.npy"), np.tile(bands(500, 560, 1)[:, :, 0], (6, 6)))
        np.save(self.path("l.npy"), np.arange(4))
        for number in SIGNALS:
            for options in ((), ("--memory=.5", "--min-area=0")):
                command = [sys.executable, "-c", "import sys, time, cudatracking._rasters as r, cudatracking._command as c\nbefore = c.Stop.call\n"
                           "def call(*given):\n    print('called', flush=True)\n    return before(*given)\nc.Stop.call = call\nsys.exit(c.main(sys.argv[1:]))",
                           "superpixels", "in.npy", "--labels=l.npy", "--sigma=30", "--device=cpu", *options]
                running = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(running.kill)
                self.assertEqual(running.stdout.readline(), "called\n")
                time.sleep(.3)
                running.send_signal(number)
                sent = time.monotonic()
                errors = running.communicate(timeout=300)[1]
                self.assertLess(time.monotonic() - sent, 5)
                self.assertEqual((running.returncode, errors), (130, "error: ended by a signal; nothing is written\n"))
                self.assertEqual(sorted(os.listdir(self.folder)), ["in.npy", "l.npy"])
                np.testing.assert_array_equal(np.load(self.path("l.npy")), np.arange(4))

    def test_pipes_and_devices(self):
        """An array is written to them; a GeoTIFF, whose writer goes back and forth, is refused before anything is read."""
        np.save(self.path("in.npy"), bands(500, 560, 3))
        for name in ("pipe.npy", "pipe.tif"):
            os.mkfifo(self.path(name))
        for suffix in ("npy", "tif"):
            os.symlink("/dev/null", self.path(f"null.{suffix}"))
        os.symlink("/dev/full", self.path("full.npy"))
        before = sorted(os.listdir(self.folder))
        for options in (SETTINGS, TILED):
            with open(self.path("got.npy"), "wb") as file, subprocess.Popen(["cat", "pipe.npy"], cwd=self.folder, stdout=file) as reader:
                self.run_command("superpixels", "in.npy", "--labels=pipe.npy", "--min-area=0", *options)
                self.assertEqual(reader.wait(60), 0)
            np.testing.assert_array_equal(np.load(self.path("got.npy")), whole(np.load(self.path("in.npy"))))
            os.unlink(self.path("got.npy"))
            self.run_command("superpixels", "in.npy", "--labels=null.npy", *options)
            for name in ("pipe.tif", "null.tif"):
                self.assertEqual(self.run_command("superpixels", "in.npy", f"--labels={name}", *options, code=2).stderr,
                                 f"error: --labels: {name}: is a device or a pipe, to which .npy can be written; .tif needs a file\n")
            self.assertEqual(self.run_command("superpixels", "in.npy", "--labels=full.npy", *options, "--quiet", code=1).stderr,
                             "error: full.npy: cannot be written: No space left on device\n")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertTrue(os.path.islink(self.path("null.npy")))
        # Nobody reads, and a signal ends the wait.
        running = subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", "in.npy", "--labels=pipe.npy", *SETTINGS], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.kill)
        with self.assertRaises(subprocess.TimeoutExpired):
            running.wait(3)
        running.terminate()
        self.assertEqual((running.communicate(timeout=30)[1], running.returncode), ("error: ended by a signal; nothing is written\n", 130))

    def test_sides_that_one_call_does_not_take(self):
        """They are computed by tiles, though they fit into the memory, and however much that is."""
        image = np.tile(bands(10, 560, 1)[:, :, 0], (1, 120))
        self.assertGreater(image.shape[1], 65535)
        expected = whole(image[:, :60000].copy())[:, :59000]
        for name, pixels in (("wide.npy", image), ("high.npy", np.ascontiguousarray(image.T))):
            np.save(self.path(name), pixels)
            said = name + ": one call takes images of at most 65535 x 65535 and 2000000000 pixels, and this one has "
            self.assertIn("--min-area: 9: " + said, self.call_command("superpixels", name, "--labels=l.npy", *SETTINGS, "--min-area=9", code=2)[1])
            self.assertRegex(self.call_command("superpixels", name, "--labels=l.npy", *SETTINGS)[1], rf"\A{said}.*: it is computed by tiles: --min-area is 0\n")
        for memory in ("4", "1000000"):
            self.call_command("superpixels", "wide.npy", "--labels=l.npy", *SETTINGS, "--min-area=0", f"--memory={memory}")
            labels = np.load(self.path("l.npy"))[:, :59000]
            pairs = np.unique(np.stack([labels.ravel(), expected.ravel()]), axis=1).shape[1]
            self.assertEqual({len(np.unique(labels)), len(np.unique(expected))}, {pairs})  # the same superpixels, by other numbers

    def test_full_disk(self):
        np.save(self.path("in.npy"), bands(500, 560, 3))
        for name in ("l.npy", "l.tif") if importlib.util.find_spec("rasterio") else ("l.npy",):
            for options in (SETTINGS, TILED):
                done = self.disk(f"{sys.executable} -m cudatracking superpixels in.npy --quiet --labels=disk/{name} {' '.join(options)}; echo code $?; ls -A disk", "400k")
                self.assertEqual(done.stdout, "code 1\n", done.stderr)
                self.assertRegex(done.stderr, rf"\Aerror: disk/{name}: cannot be written: No space left on device\n\Z", options)

    def peak(self, *arguments):
        """Largest resident memory of the command, bytes."""
        with subprocess.Popen([sys.executable, "-m", "cudatracking", "superpixels", *arguments, "--quiet", *SETTINGS], cwd=self.folder) as running:
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status) if sys.version_info >= (3, 9) else status
        self.assertEqual(running.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_memory(self):
        """An image takes what decides whether it is computed by tiles; by tiles it takes no more than --memory."""
        np.save(self.path("tiny.npy"), np.zeros((8, 8, 4), np.uint8))
        np.save(self.path("in.npy"), np.tile(bands(500, 560, 4), (3, 3, 1)))
        start = self.peak("tiny.npy", "--labels=l.npy")
        taken = bytes_of(1500 * 1680, 4, 1)
        self.assertLess(self.peak("in.npy", "--labels=one.npy") - start, taken)
        self.assertLess(self.peak("in.npy", "--labels=tiles.npy", "--memory=.08", "--min-area=0") - start, .08 * 2**30)
        self.assertGreater(taken, 2.5 * .08 * 2**30)


if __name__ == "__main__":
    unittest.main()
