"""Lays out the files of the Python package as `wheel pack` wants them, or lists a wheel.

    stage_wheel.py --repository R --opencv O --cascades C --licenses L --extension F --cuda on|off --machine M [--glibc VERSION] FOLDER
    stage_wheel.py --list WHEEL
"""
import argparse
import os
import re
import runpy
import shutil
import sys
import zipfile
from collections import Counter

METADATA = """\
Metadata-Version: 2.4
Name: cudatracking
Version: {version}
Summary: Finding and following things in images and video, on the CPU and on CUDA with the same results
License-Expression: {licenses}
{license_files}
Requires-Python: >=3.9
Requires-Dist: numpy>={numpy}
Provides-Extra: video
Requires-Dist: av; extra == "video"
Provides-Extra: scan
Requires-Dist: av; extra == "scan"
Requires-Dist: pyarrow; extra == "scan"
Provides-Extra: rasters
Requires-Dist: rasterio; extra == "rasters"
Provides-Extra: ray
Requires-Dist: av; extra == "ray"
Requires-Dist: ray[client,data]; extra == "ray"
Classifier: Programming Language :: Python :: 3
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""

NOTICE = """\
This wheel contains, compiled into cudatracking/_extension/cv2*.so:
  - opencv_cudatracking (LICENSE)
  - OpenCV: core, imgproc, imgcodecs, video, videoio, highgui{contrib} (OpenCV-LICENSE, OpenCV-COPYRIGHT)
  - what OpenCV brings along (files of this folder with the names of the libraries)
{cuda}{library}and, as files, in cudatracking/cascades:
  - cascades of OpenCV; each file names its author, and its own licence where that is not OpenCV's
"""
CUDA_NOTICE = """\
  - the CUDA runtime (cudart_static), (c) NVIDIA Corporation, under the CUDA Toolkit End User License Agreement, which lists it as
    redistributable: https://docs.nvidia.com/cuda/eula/
  - CUB, Thrust and libcu++ of the CUDA Toolkit, Apache License 2.0 with LLVM exceptions and BSD-3-Clause
"""
LIBRARY_NOTICE = """\
  - libstdc++ of GCC, under the GNU General Public License with the GCC Runtime Library Exception
"""


def numpy_floor():
    """The oldest numpy that an extension compiled with the present one runs with, as its headers say."""
    import numpy
    text = open(os.path.join(numpy.get_include(), "numpy", "numpyconfig.h"), encoding="utf-8").read()
    found = re.findall(r"define NPY_FEATURE_VERSION NPY_(\d)_(\d+)_API_VERSION", text)
    if not found:
        sys.exit(f"error: numpy {numpy.__version__} does not say what it is compatible with")
    return "{}.{}".format(*found[-1])


def stage(options):
    version = runpy.run_path(os.path.join(options.repository, "python", "cudatracking", "_version.py"))["__version__"]
    package = os.path.join(options.folder, "cudatracking")
    shutil.copytree(os.path.join(options.repository, "python", "cudatracking"), package,
                    ignore=shutil.ignore_patterns("__pycache__", "_extension", "cascades", "*.pyc"))
    os.makedirs(os.path.join(package, "_extension"))
    shutil.copy(options.extension, os.path.join(package, "_extension"))
    os.makedirs(os.path.join(package, "cascades"))
    for kind in ("haarcascades", "lbpcascades"):
        folder = os.path.join(options.cascades, kind)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".xml"):
                shutil.copy(os.path.join(folder, name), os.path.join(package, "cascades"))

    info = os.path.join(options.folder, f"cudatracking-{version}.dist-info")
    licenses = os.path.join(info, "licenses")
    os.makedirs(licenses)
    shutil.copy(os.path.join(options.repository, "LICENSE"), licenses)
    for name in ("LICENSE", "COPYRIGHT"):
        shutil.copy(os.path.join(options.opencv, name), os.path.join(licenses, f"OpenCV-{name}"))
    for folder, _, names in os.walk(options.licenses):
        for name in names:
            shutil.copy(os.path.join(folder, name), licenses)
    cuda = options.cuda == "on"
    with open(os.path.join(licenses, "NOTICE"), "w", encoding="utf-8") as file:
        file.write(NOTICE.format(contrib=", cudev" if cuda else "", cuda=CUDA_NOTICE if cuda else "",
                                 library=LIBRARY_NOTICE if options.glibc else ""))

    abi3 = ".abi3." in os.path.basename(options.extension)
    tag = "cp39-abi3" if abi3 else "cp{0}{1}-cp{0}{1}".format(*sys.version_info[:2])
    with open(os.path.join(info, "WHEEL"), "w", encoding="utf-8") as file:
        file.write(f"Wheel-Version: 1.0\nGenerator: scripts/wheel.sh\nRoot-Is-Purelib: false\nTag: {tag}-linux_{options.machine}\n")
    expression = "Apache-2.0 AND BSD-3-Clause AND IJG AND Zlib AND libpng-2.0 AND LicenseRef-Intel-OpenCV"
    expression += " AND LicenseRef-NVIDIA-CUDA-EULA" if cuda else ""
    expression += " AND GPL-3.0-or-later WITH GCC-exception-3.1" if options.glibc else ""
    with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as file:
        page = os.path.join(options.repository, "doc", "python.md")
        description = open(page, encoding="utf-8").read() if os.path.exists(page) else ""
        file.write(METADATA.format(version=version, numpy=numpy_floor(), description=description, licenses=expression,
                                   license_files="\n".join(f"License-File: {name}" for name in sorted(os.listdir(licenses)))))
    with open(os.path.join(info, "entry_points.txt"), "w", encoding="utf-8") as file:
        file.write("[console_scripts]\ncudatracking = cudatracking._command:main\n"
                   "[pyinstaller40]\nhook-dirs = cudatracking._pyinstaller:hook_dirs\n")


def show(path):
    """Bytes, unpacked and packed, of each kind of file in a wheel."""
    plain, packed, count = Counter(), Counter(), Counter()
    with zipfile.ZipFile(path) as wheel:
        for entry in wheel.infolist():
            parts = entry.filename.split("/")
            kind = "licences" if "licenses" in parts else parts[1] if len(parts) > 2 and parts[1] in ("_extension", "cascades") else \
                "metadata" if parts[0].endswith(".dist-info") else "Python"
            plain[kind] += entry.file_size
            packed[kind] += entry.compress_size
            count[kind] += 1
    for kind in sorted(plain, key=plain.get, reverse=True):
        print(f"  {kind:12s} {count[kind]:3d} files, {plain[kind] / 1e6:6.2f} MB, packed {packed[kind] / 1e6:5.2f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("repository", "opencv", "cascades", "licenses", "extension", "cuda", "machine", "glibc"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--list", metavar="WHEEL")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    if options.list:
        show(options.list)
    else:
        stage(options)


main()
