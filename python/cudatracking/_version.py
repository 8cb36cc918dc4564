# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""The version of the wheel and of `cudatracking.__version__`; it stands here alone."""
__version__ = "0.1.0"
