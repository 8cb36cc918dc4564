# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""One job on many videos, by many processes, GPUs or hosts: what the command `cudatracking scan` does.

    from cudatracking.scan import scan

    done = scan(["videos"], "out", "detect", {"cascade": ["frontalface_default"]})
    print(done.rows, "rows in", done.table, done.failures)

A worker decodes a video, works on it, and writes its part of the table. The merged table has the same bytes whatever the number of workers, with
CPUs or GPUs, and however often the scan was killed and resumed. Needs PyAV; Parquet needs pyarrow; several hosts need Ray.
"""
from ._run import Failure, Summary, scan

__all__ = ["Failure", "Summary", "scan"]
