# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Files of a scan: written whole or not at all, and a journal that only grows."""
from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from typing import Any, Iterator

from .. import _outputs
from .._errors import error

FIELDS: dict[str, set[str]] = {  # of each kind of record in a journal
    "scan": {"settings"}, "wrong": {"key"},
    "video": {"key", "video", "size", "modified", "sha256", "tries", "part", "rows", "frames", "length", "seconds", "note", "gaps", "boxes"}}


class StorageError(error):
    """The folder of the results cannot be written or read: the scan ends, and what is done stays."""


@contextlib.contextmanager
def stored(path: str) -> Iterator[None]:
    """Errors of the operating system become StorageError."""
    try:
        yield
    except OSError as raised:
        raise StorageError(f"{path}: {os.strerror(raised.errno) if raised.errno else raised}") from None  # pyarrow has words of its own


def sha256_of(data: Any) -> str:
    """Returns the SHA-256 of bytes, or of the JSON text of a value, in hexadecimal digits."""
    return hashlib.sha256(data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode()).hexdigest()


def sha256_of_file(path: str) -> str:
    """Returns the SHA-256 of a file. Raises OSError when it cannot be read."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """Yields the name of a temporary file that is moved to the path in the end. Errors of the operating system become StorageError; the body must
    raise no `error` of other things."""
    try:
        with stored(path), _outputs.whole_file(path) as temporary:
            yield temporary
    except error as raised:
        raise StorageError(str(raised)) from None


def write_bytes(path: str, data: bytes) -> None:
    """Writes bytes whole or not at all. Raises StorageError."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


class Lock:
    """A folder that one scan works in. The operating system gives it back when the process ends, however it ends."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, ".lock")
        with stored(path):
            self._file = open(path, "w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise error(f"{folder}: another scan works in this folder") from None
        except OSError:
            pass  # a file system without locks

    def release(self) -> None:
        """Gives the folder back."""
        self._file.close()


def _is_record(line: bytes) -> bool:
    try:
        record = json.loads(line)
        return line.endswith(b"\n") and FIELDS[record["kind"]] <= record.keys()
    except (ValueError, TypeError, KeyError, AttributeError):
        return False


class Journal:
    """JSON records, one for each line, added as work is done. A line that was cut off by an interrupt, or is not a record, does not count."""

    def __init__(self, path: str) -> None:
        self._path = path
        with stored(path):
            with open(path, "rb") as file:
                lines = file.readlines()
            good = [line for line in lines if _is_record(line)]
            self.records: list[dict[str, Any]] = [json.loads(line) for line in good]
            if not any(record["kind"] == "scan" for record in self.records):
                raise error(f"{path}: is no journal of a scan; move it away, or name another folder")
            if len(good) < len(lines):
                write_bytes(path, b"".join(good))
            self._file = open(path, "ab", buffering=0)

    def add(self, record: dict[str, Any]) -> None:
        """Adds a record; it is on the disk afterwards. Raises StorageError."""
        line = (json.dumps(record, sort_keys=True) + "\n").encode()
        with stored(self._path):
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file.fileno())
        self.records.append(record)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
