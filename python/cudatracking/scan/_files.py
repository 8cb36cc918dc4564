# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Files of a scan: written whole or not at all, named by their content, and a journal that only grows."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from typing import Any, Callable, TypeVar

from .._errors import error
from .._outputs import Beside

T = TypeVar("T")


class StorageError(error):
    """The folder of the results cannot be written or read: the scan ends, and what is done stays."""


def _stored(path: str, action: Callable[[], T]) -> T:
    try:
        return action()
    except OSError as raised:
        raise StorageError(f"{path}: {raised.strerror}") from None


def sha256_of(data: Any) -> str:
    """Returns the SHA-256 of bytes, or of the JSON text of a value, in hexadecimal digits."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        data = json.dumps(data, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path: str) -> str:
    """Returns the SHA-256 of a file. Raises OSError when it cannot be read."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def write_whole(path: str, write: Callable[[str], Any]) -> None:
    """Lets `write` fill a temporary file beside the path, and moves it there when its bytes are on the disk.

    Raises StorageError otherwise; a file that stood there stays then.
    """
    try:
        beside = Beside(path)
    except error as raised:
        raise StorageError(str(raised)) from None
    try:
        _stored(path, lambda: write(beside.temporary))
        if not beside.direct:
            _stored(path, lambda: _to_disk(beside.temporary))
        beside.commit()
    except StorageError:
        beside.drop()
        raise
    except error as raised:  # of commit(), or what wrote the file
        beside.drop()
        raise StorageError(str(raised)) from None
    except BaseException:
        beside.drop()
        raise


def _to_disk(path: str) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: str, data: bytes) -> None:
    """Writes bytes whole or not at all. Raises StorageError."""
    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            file.write(data)
    write_whole(path, write)


def make_folder(path: str) -> None:
    """Makes a folder if there is none. Raises StorageError."""
    _stored(path, lambda: os.makedirs(path, exist_ok=True))


def remove_temporaries(folder: str, names: str) -> None:
    """Removes what an interrupted run left half written of the files whose names match a regular expression."""
    for name in os.listdir(folder):
        if re.match(rf"\.(?:{names})\.", name) and os.path.isfile(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))


class Lock:
    """A folder that one scan works in. The operating system gives it back when the process ends, however it ends."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, ".lock")
        self._file = _stored(path, lambda: open(path, "w"))
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


def records_of(path: str, is_record: Callable[[Any], bool]) -> tuple[list[dict[str, Any]], bytes, int]:
    """Reads a journal: its records, their lines, and the bytes of the file, which also has lines that were cut off or are no records."""
    def read() -> bytes:
        with open(path, "rb") as file:
            return file.read()

    data = _stored(path, read)
    records: list[dict[str, Any]] = []
    good: list[bytes] = []
    for line in data.splitlines(keepends=True):
        try:
            record: Any = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            continue
        if is_record(record):
            records.append(record)
            good.append(line)
    return records, b"".join(good), len(data)


class Journal:
    """JSON records, one for each line, added as work is done. A line that was cut off by an interrupt, or is not a record, does not count."""

    def __init__(self, path: str, is_record: Callable[[Any], bool]) -> None:
        self._path = path
        self.records: list[dict[str, Any]] = []
        if os.path.exists(path):
            self.records, good, size = records_of(path, is_record)
            if len(good) < size:
                write_bytes(path, good)
        self._handle = _stored(path, lambda: os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666))

    def add(self, record: dict[str, Any]) -> None:
        """Adds a record; it is on the disk afterwards. Raises StorageError."""
        line = (json.dumps(record, sort_keys=True) + "\n").encode()

        def append() -> None:
            size = os.fstat(self._handle).st_size
            if os.write(self._handle, line) != len(line):
                os.ftruncate(self._handle, size)
                raise OSError(28, "No space left on device")
            os.fsync(self._handle)
        _stored(self._path, append)
        self.records.append(record)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)
