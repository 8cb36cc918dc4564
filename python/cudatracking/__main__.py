# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""python -m cudatracking is the command cudatracking."""
import sys

from ._command import main

sys.exit(main())
