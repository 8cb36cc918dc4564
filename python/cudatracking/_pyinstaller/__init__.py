# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""PyInstaller finds its hook for this package here, by the entry point pyinstaller40."""
import os


def hook_dirs() -> list[str]:
    return [os.path.dirname(os.path.abspath(__file__))]
