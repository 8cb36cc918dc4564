# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Tables as Parquet or CSV: the part of a segment as bytes, and all parts as one table. Equal rows make equal bytes."""
from __future__ import annotations

import csv
import io
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from .._errors import import_optional
from ._files import StorageError, sha256_of

FORMATS = ("parquet", "csv")
ROWS_OF_A_GROUP = 1 << 17  # of a merged Parquet file, whatever the size of its parts

Schema = Sequence[tuple[str, str]]
HEAD: Schema = (("video", "text"), ("frame", "int"), ("time", "float"))


def _arrow() -> Any:
    import_optional("pyarrow.parquet", "Parquet needs pyarrow: pip install 'cudatracking[scan]'; --format csv needs nothing")
    return import_optional("pyarrow", "")


def format_versions(kind: str) -> dict[str, str]:
    """Returns the version of the library that decides the bytes of a table. Raises error when it is missing."""
    return {"pyarrow": str(_arrow().__version__)} if kind == "parquet" else {}


def _schema(schema: Schema) -> Any:
    arrow = _arrow()
    kinds = {"int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    return arrow.schema([(name, kinds[kind]) for name, kind in schema])


def _plain(column: Any, kind: str) -> list[Any]:
    """Returns a column as Python values; NaN, which stands for an unknown time, becomes None."""
    values = np.asarray(column)
    if kind == "text":
        return [str(value) for value in values.tolist()]
    if kind == "int":
        return list(values.astype(np.int64).tolist())
    return [None if value != value else value for value in values.astype(np.float64).tolist()]


def part(kind: str, schema: Schema, video: str, rows: Iterable[tuple[int, float, Sequence[Any]]]) -> tuple[bytes, int]:
    """Returns a part of a table as the bytes of a file, and its number of rows. `rows`: (frame, time, columns) in order of frames."""
    pieces: list[list[Any]] = [[] for _ in schema]
    count = 0
    for frame, time, columns in rows:
        size = len(columns[0])
        count += size
        for piece, column in zip(pieces, (np.full(size, frame), np.full(size, time), *columns)):
            piece.append(column)
    joined = [np.concatenate(piece) if piece else np.zeros(0) for piece in pieces]
    values = [[video] * count] + [_plain(column, kind) for column, (_, kind) in zip(joined, schema)]
    full = [*HEAD[:1], *schema]
    if kind == "parquet":
        arrow, buffer = _arrow(), io.BytesIO()
        columns_of = [arrow.array(column, type=field.type) for column, field in zip(values, _schema(full))]
        arrow.parquet.write_table(arrow.Table.from_arrays(columns_of, schema=_schema(full)), buffer)
        return buffer.getvalue(), count
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([name for name, _ in full])
    writer.writerows([["" if value is None else value for value in row] for row in zip(*values)])
    return lines.getvalue().encode(), count


class Part(NamedTuple):
    """A part as the journal has it: file, SHA-256 of its bytes, and whose rows it has, those of frames first .. last - 1 of a video."""

    path: str
    sha256: str
    video: str
    first: int
    last: int

    def read(self) -> bytes:
        """Returns the bytes. Raises StorageError when they are not what was written."""
        with open(self.path, "rb") as file:
            data = file.read()
        if sha256_of(data) != self.sha256:
            raise StorageError(f"{self.path}: is not what was written; --resume computes it again")
        return data

    def is_of(self, videos: Sequence[str], frames: Any) -> bool:
        """Returns whether rows of these videos and frames are those of this part."""
        numbers = np.asarray(frames, np.int64)
        return not len(numbers) or (set(videos) == {self.video} and self.first <= numbers.min() and numbers.max() < self.last)


def merge(kind: str, schema: Schema, parts: Iterable[Part], path: str) -> list[Part]:
    """Writes parts one after the other as one table. Returns those whose rows are not those of their segment: the table is wrong then.

    Raises StorageError when the bytes of a part are not what was written.
    """
    full = [*HEAD[:1], *schema]
    return (_merge_csv if kind == "csv" else _merge_parquet)(full, parts, path)


def _merge_csv(full: Schema, parts: Iterable[Part], path: str) -> list[Part]:
    wrong = []
    head = (",".join(name for name, _ in full) + "\n").encode()
    with open(path, "wb") as file:
        file.write(head)
        for part in parts:
            data = part.read()
            rows = list(csv.reader(io.StringIO(data[len(head):].decode(), newline="")))
            if not part.is_of([row[0] for row in rows], [int(row[1]) for row in rows]):
                wrong.append(part)
            file.write(data[len(head):])
    return wrong


def _merge_parquet(full: Schema, parts: Iterable[Part], path: str) -> list[Part]:
    arrow = _arrow()
    wrong: list[Part] = []
    waiting: list[Any] = []
    size = 0
    with arrow.parquet.ParquetWriter(path, _schema(full)) as writer:
        def flush(least: int) -> None:
            nonlocal waiting, size
            table = arrow.concat_tables(waiting) if waiting else _schema(full).empty_table()
            while table.num_rows >= max(least, 1):
                writer.write_table(table.slice(0, ROWS_OF_A_GROUP).combine_chunks(), row_group_size=ROWS_OF_A_GROUP)
                table = table.slice(ROWS_OF_A_GROUP)
            waiting, size = [table], table.num_rows

        for part in parts:
            table = arrow.parquet.read_table(io.BytesIO(part.read()), schema=_schema(full))
            if not part.is_of(table.column("video").unique().to_pylist(), table.column("frame").to_numpy()):
                wrong.append(part)
            waiting.append(table)
            size += table.num_rows
            if size >= ROWS_OF_A_GROUP:
                flush(ROWS_OF_A_GROUP)
        flush(1)
    return wrong
