"""Tuples of several inputs as rows of one table: how they travel, and how they are kept.

    columns            those of input 0, then those of input 1, and so on
    a tuple of i       its values in the columns of i, null in all others
    the input of a row the one whose time it has; a row without any time is of no use to an operator

What shuffles, saves and loads rows then need not know that there are inputs. A single input keeps its own
schema: its rows are its tuples.

>>> quotes = Input(pa.schema([("t", pa.int64()), ("bid", pa.float64())]), time="t")
>>> trades = Input(pa.schema([("t", pa.int64())]), time="t")
>>> both = CommonRows((quotes, trades))
>>> both.placed(1, pa.table({"t": [7]})).to_pylist()
[{'0.t': None, '0.bid': None, '1.t': 7}]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.columns.times import to_integers
from sash.operators.order.interleaved import Input, Part


@dataclass(frozen=True)
class CommonRows:
    """The rows that hold the tuples of these inputs."""

    inputs: tuple[Input, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        if len(self.inputs) == 1:
            return self.inputs[0].schema
        return pa.schema(
            [
                field.with_name(self._name(number, field.name)).with_nullable(True)
                for number, own in enumerate(self.inputs)
                for field in own.schema
            ]
        )

    def time(self, number: int) -> str:
        return self._name(number, self.inputs[number].time)

    def _name(self, number: int, column: str) -> str:
        return column if len(self.inputs) == 1 else f"{number}.{column}"

    def placed(self, number: int, tuples: pa.Table) -> pa.Table:
        if len(self.inputs) == 1:
            return tuples
        columns: list[pa.Array | pa.ChunkedArray] = []
        for other, own in enumerate(self.inputs):
            nulls = (pa.nulls(tuples.num_rows, field.type) for field in own.schema)
            columns += tuples.columns if other == number else nulls
        return pa.Table.from_arrays(columns, schema=self.schema)

    def tuples(self, number: int, rows: pa.Table) -> pa.Table:
        """Back: the tuples of an input in rows that are all of it, whatever their columns are called."""
        own = self.inputs[number].schema
        first = sum(len(other.schema) for other in self.inputs[:number])
        columns = rows.columns[first : first + len(own)]
        return pa.Table.from_arrays(columns, names=own.names).cast(own)

    def known(self, rows: pa.Table) -> pa.ChunkedArray:
        """Which rows have a time."""
        return reduce(pc.or_, (self._of(number, rows) for number in range(len(self.inputs))))

    def _of(self, number: int, rows: pa.Table) -> pa.ChunkedArray:
        return pc.is_valid(rows[self.time(number)])

    def times(self, rows: pa.Table) -> Ints:
        """The times of rows that all have one."""
        if len(self.inputs) == 1:
            return to_integers(rows[self.time(0)])
        times = np.empty(rows.num_rows, np.int64)
        for number in range(len(self.inputs)):
            mine = self._of(number, rows).to_numpy()
            times[mine] = to_integers(rows[self.time(number)].drop_null())
        return times

    def parts(self, rows: pa.Table, times: Ints) -> list[Part]:
        """The tuples of each input in the order of time, those of one time in the order of the rows."""
        order = np.argsort(times, kind="stable")
        rows, times = rows.take(pa.array(order)), times[order]
        if len(self.inputs) == 1:
            return [Part(0, times, rows)]
        parts = []
        for number, own in enumerate(self.inputs):
            mine = self._of(number, rows)
            names = [self._name(number, name) for name in own.schema.names]
            tuples = rows.select(names).filter(mine).rename_columns(own.schema.names)
            parts.append(Part(number, times[mine.to_numpy()], tuples.cast(own.schema)))
        return parts
