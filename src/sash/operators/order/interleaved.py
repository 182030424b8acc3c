"""Tuples of several inputs in one order of time, as columns.

    times   τ₀ ≤ τ₁ ≤ … ≤ τₙ₋₁                  inputs   which input each of them came on
    tables  one a input, its rows in the same order: the k-th tuple of input i is row k of tables[i]

Inputs have schemas of their own, so that one table for all of them would be mostly nulls; two short columns
are how the tables are woven together. What is woven is never changed, so that any number of readers can
share it.

>>> quotes = Input(pa.schema([("t", pa.int64()), ("bid", pa.float64())]), time="t")
>>> batch = interleave([quotes], [(0, {"t": np.array([1, 4]), "bid": np.array([9.5, 9.6])})])
>>> batch.times.tolist(), batch.tables[0]["bid"].to_pylist()
([1, 4], [9.5, 9.6])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.arrays import Ints
from sash.errors import ArgumentError, DataError, OutOfOrder, UnknownColumn
from sash.operators.columns.times import require_time_type, to_integers
from sash.semantics.durations import Unit

END_OF_TIME = 2**62
"""A watermark that closes every window: beyond all times, and window arithmetic on it stays in 64 bits."""

InputTable: TypeAlias = "pa.Table | pa.RecordBatch | Mapping[str, Any]"
"""Rows of one input: an Arrow table, or columns by name (numpy arrays, lists)."""


@dataclass(frozen=True)
class Input:
    """One of the streams that an operator reads: its columns, and which of them is the time."""

    schema: pa.Schema
    time: str

    def __post_init__(self) -> None:
        if not isinstance(self.schema, pa.Schema):
            raise ArgumentError("schema", self.schema, "a pyarrow schema")
        if self.time not in self.schema.names:
            raise UnknownColumn("time", self.time, self.schema.names)
        require_time_type(self.time, self.schema.field(self.time).type)

    @property
    def unit(self) -> Unit:
        type_ = self.schema.field(self.time).type
        return Unit.MICROSECONDS if pa.types.is_timestamp(type_) else Unit.TICKS

    def read(self, batch: InputTable) -> tuple[Ints, pa.Table]:
        """The times and the rows of a batch, once it is known to fit the schema and to be in order."""
        table = self._table(batch)
        if table[self.time].null_count:
            raise DataError(f"column {self.time!r} must hold a time in every row; got a null")
        times = to_integers(table[self.time])
        if len(times) > 1 and bool((times[1:] < times[:-1]).any()):
            raise OutOfOrder(f"the rows of a batch must be in the order of {self.time!r}; sort them first")
        return times, table

    def _table(self, batch: InputTable) -> pa.Table:
        names = batch.schema.names if isinstance(batch, pa.Table | pa.RecordBatch) else list(batch)
        for name in self.schema.names:
            if name not in names:
                raise UnknownColumn("batch", name, names)
        try:
            if isinstance(batch, pa.RecordBatch):
                batch = pa.Table.from_batches([batch])
            if isinstance(batch, pa.Table):
                rows = batch.select(self.schema.names)
                return rows if rows.schema.equals(self.schema) else rows.cast(self.schema)
            return pa.table({name: batch[name] for name in self.schema.names}, schema=self.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise DataError(f"a batch does not fit the schema ({self.schema}): {error}") from error


@dataclass(frozen=True, eq=False)
class Interleaved:
    """A run of tuples; nothing before `watermark` comes after it. Equal only to itself: it is shared."""

    times: Ints
    inputs: NDArray[np.int8]
    tables: tuple[pa.Table, ...]
    watermark: int
    first: int = 0
    """The number of the first tuple, counted from the beginning of the stream."""

    def __len__(self) -> int:
        return len(self.times)

    def positions(self, number: int) -> Ints:
        """Where the tuples of input `number` stand in the run."""
        if len(self.tables) == 1:
            return np.arange(len(self.times))
        return np.flatnonzero(self.inputs == number)

    def part(self, number: int, part: slice) -> tuple[Ints, pa.Table]:
        """Where the tuples of input `number` within a part of the run stand in the run, and their rows."""
        positions = self.positions(number)
        begin, end = np.searchsorted(positions, [part.start, part.stop])
        return positions[begin:end], self.tables[number].slice(begin, end - begin)


@dataclass(frozen=True)
class Part:
    """Rows of one input, in order: what is woven."""

    input: int
    times: Ints
    rows: pa.Table

    def __len__(self) -> int:
        return len(self.times)

    def cut(self, until: int) -> tuple[Part, Part]:
        """The rows up to `until`, itself included, and the rows after it."""
        at = int(np.searchsorted(self.times, until, side="right"))
        head = Part(self.input, self.times[:at], self.rows.slice(0, at))
        return head, Part(self.input, self.times[at:], self.rows.slice(at))


def weave(inputs: Sequence[Input], parts: Sequence[Part], *, watermark: int, first: int) -> Interleaved:
    """The parts in the order of time; tuples of one time in the order of the parts."""
    if len(parts) == 1 and len(inputs) == 1:
        (part,) = parts
        codes = np.zeros(len(part), np.int8)
        return Interleaved(part.times, codes, (part.rows,), watermark, first)
    times = np.concatenate([np.empty(0, np.int64), *(part.times for part in parts)])
    codes = np.repeat(np.array([part.input for part in parts], np.int8), [len(part) for part in parts])
    tables = []
    for number, own in enumerate(inputs):
        rows = [part.rows for part in parts if part.input == number]
        tables.append(pa.concat_tables(rows) if rows else own.schema.empty_table())
    if bool((times[1:] >= times[:-1]).all()):
        # Parts that follow one another, as those of windows with one end do.
        return Interleaved(times, codes, tuple(tables), watermark, first)
    order = np.argsort(times, kind="stable")
    for number, table in enumerate(tables):
        mine = codes == number
        within = (np.cumsum(mine) - 1)[order][mine[order]]
        in_order = bool((within[1:] > within[:-1]).all())
        tables[number] = table if in_order else table.take(pa.array(within))
    return Interleaved(times[order], codes[order], tuple(tables), watermark, first)


def joined(runs: Sequence[Interleaved]) -> Interleaved:
    """Runs that follow one another, as one."""
    return Interleaved(
        np.concatenate([run.times for run in runs]),
        np.concatenate([run.inputs for run in runs]),
        tuple(pa.concat_tables(tables) for tables in zip(*(run.tables for run in runs), strict=True)),
        runs[-1].watermark,
        runs[0].first,
    )


def interleave(
    inputs: Sequence[Input], batches: Iterable[tuple[int, InputTable]], *, watermark: int | None = None
) -> Interleaved:
    """Batches of a bounded input, each with the number of its input, as one run in the order of time."""
    parts = [Part(number, *inputs[number].read(batch)) for number, batch in batches]
    latest = max((int(part.times[-1]) for part in parts if len(part)), default=0)
    return weave(inputs, parts, watermark=latest if watermark is None else watermark, first=0)
