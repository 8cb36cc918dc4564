# This file is part of the opencv_cudatracking module.
# It is subject to the license terms in the LICENSE file found in the top-level directory of this distribution.
"""Tables as Parquet or CSV: the part of each video, and all parts as one table. Equal rows make equal bytes."""
from __future__ import annotations

import csv
import itertools
import shutil
from typing import Any, Iterable, Sequence

import numpy as np

from .._errors import import_optional

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


def _arrow_schema(schema: Schema) -> Any:
    arrow = _arrow()
    kinds = {"int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    return arrow.schema([(name, kinds[kind]) for name, kind in schema])


def _plain(column: Any, kind: str) -> list[Any]:
    """Returns a column as Python values; NaN, which stands for an unknown time, becomes None."""
    if kind == "text":
        return list(map(str, column.tolist()))
    if kind == "int":
        return list(column.astype(np.int64).tolist())
    return [None if value != value else value for value in column.astype(np.float64).tolist()]


class Part:
    """The part of a table that one video has, written to a file. Equal rows make equal bytes."""

    def __init__(self, kind: str, schema: Schema, video: str, path: str) -> None:
        self._schema, self._video, self.rows = schema, video, 0
        self._waiting: list[list[Any]] = [[] for _ in schema]
        self._writer: Any
        if kind == "parquet":
            self._file, self._writer = None, _arrow().parquet.ParquetWriter(path, _arrow_schema(schema))
        else:
            self._file = open(path, "w", newline="", encoding="utf-8")
            self._writer = csv.writer(self._file, lineterminator="\n")
            self._writer.writerow([name for name, _ in schema])

    def add(self, frame: int, time: float, columns: Sequence[Any]) -> None:
        """Adds the rows of a frame: the columns after those of HEAD."""
        size = len(columns[0])
        if not size:
            return
        self.rows += size
        values: list[list[Any]] = [[self._video] * size, [frame] * size, _plain(np.full(size, time), "float")]
        values += [_plain(np.asarray(column), kind) for column, (_, kind) in zip(columns, self._schema[len(HEAD):])]
        for waiting, column in zip(self._waiting, values):
            waiting += column
        while len(self._waiting[0]) >= ROWS_OF_A_GROUP:
            self._write(ROWS_OF_A_GROUP)

    def _write(self, size: int) -> None:
        values = [waiting[:size] for waiting in self._waiting]
        self._waiting = [waiting[size:] for waiting in self._waiting]
        if self._file:
            self._writer.writerows([["" if value is None else value for value in row] for row in zip(*values)])
        elif values[0]:
            arrow, schema = _arrow(), _arrow_schema(self._schema)
            self._writer.write_table(arrow.Table.from_arrays([arrow.array(column, field.type) for column, field in zip(values, schema)], schema=schema))

    def close(self) -> None:
        """Writes what is left."""
        self._write(ROWS_OF_A_GROUP)
        (self._file or self._writer).close()


def merge(kind: str, schema: Schema, parts: Iterable[str], path: str) -> None:
    """Writes the files of parts one after the other as one table."""
    if kind == "csv":
        with open(path, "wb") as table:
            table.write(",".join(name for name, _ in schema).encode() + b"\n")
            for name in parts:
                with open(name, "rb") as file:
                    file.readline()
                    shutil.copyfileobj(file, table)
        return
    arrow, made = _arrow(), _arrow_schema(schema)
    files = map(arrow.parquet.ParquetFile, parts)
    groups = (file.read_row_group(i) for file in files for i in range(file.num_row_groups))
    waiting, size = [made.empty_table()], 0
    with arrow.parquet.ParquetWriter(path, made) as writer:
        for group in itertools.chain(groups, (None,)):
            if group is not None:
                waiting.append(group)
                size += group.num_rows
                if size < ROWS_OF_A_GROUP:
                    continue
            table = arrow.concat_tables(waiting)
            while table.num_rows >= (1 if group is None else ROWS_OF_A_GROUP):
                writer.write_table(table.slice(0, ROWS_OF_A_GROUP).combine_chunks(), row_group_size=ROWS_OF_A_GROUP)
                table = table.slice(ROWS_OF_A_GROUP)
            waiting, size = [table], table.num_rows
