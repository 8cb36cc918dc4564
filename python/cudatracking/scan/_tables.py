# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Tables as Parquet or CSV: the part of a segment as bytes, and all parts as one table. Equal rows make equal bytes."""
from __future__ import annotations

import csv
import io
from typing import Any, Iterable, Sequence

import numpy as np

from .._errors import error
from ._files import StorageError, sha256_of

FORMATS = ("parquet", "csv")
ROWS_OF_A_GROUP = 1 << 17  # of a merged Parquet file, whatever the size of its parts

Schema = Sequence[tuple[str, str]]
HEAD: Schema = (("video", "text"), ("frame", "int"), ("time", "float"))


def _arrow() -> Any:
    try:
        import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
        import pyarrow.parquet  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: F401
    except ImportError:
        raise error("Parquet needs pyarrow: pip install 'cudatracking[scan]'; --format csv needs nothing") from None
    return pyarrow


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


def merge(kind: str, schema: Schema, parts: Iterable[tuple[str, str]], path: str) -> None:
    """Writes parts, (path, SHA-256), one after the other as one table. Raises StorageError when a part is not what it was."""
    def contents() -> Iterable[bytes]:
        for name, digest in parts:
            with open(name, "rb") as file:
                data = file.read()
            if sha256_of(data) != digest:
                raise StorageError(f"{name}: is not what was written; --resume computes it again")
            yield data

    full = [*HEAD[:1], *schema]
    if kind == "csv":
        head = (",".join(name for name, _ in full) + "\n").encode()
        with open(path, "wb") as file:
            file.write(head)
            for data in contents():
                file.write(data[len(head):])
        return
    arrow = _arrow()
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

        for data in contents():
            table = arrow.parquet.read_table(io.BytesIO(data), schema=_schema(full))
            waiting.append(table)
            size += table.num_rows
            if size >= ROWS_OF_A_GROUP:
                flush(ROWS_OF_A_GROUP)
        flush(1)
