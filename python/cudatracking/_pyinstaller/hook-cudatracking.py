# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Files that a program frozen by PyInstaller needs, and that no import statement names: the extension and the cascades."""
import glob
import os

_package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _files(folder: str, pattern: str) -> list[tuple[str, str]]:
    return [(path, f"cudatracking/{folder}") for path in sorted(glob.glob(os.path.join(glob.escape(_package), folder, pattern)))]


binaries = _files("_extension", "cv2*.so")
datas = _files("cascades", "*.xml")
