"""The shares of J+ as columns of stored tuples, compared by a compiled predicate.

A share stores of a tuple its number, its time and the columns that the predicate reads; the rows themselves
stay in the runs that brought them, shared by all instances, until no window can hold them. Stored tuples
stand in the order of arrival, so that the candidates of a tuple are a range: not too old, and before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.pairs import Ranges, matches, read_only
from sash.aggregation.kernels.predicates import columns_in_text, compiled_function
from sash.aggregation.kernels.source import NoSource
from sash.errors import DataError
from sash.operators.inputs import kind_of, to_numpy
from sash.operators.interleaved import Interleaved
from sash.operators.stateful.prepared import Prepared
from sash.operators.stateful.running import Running
from sash.operators.times import FARTHEST, from_integers
from sash.semantics.expression import Column, Side

if TYPE_CHECKING:
    from sash.operators.stateful.join import Join

Ints = NDArray[np.int64]
Columns = tuple[NDArray[Any], ...]
Pairs = tuple[Ints, Ints]

SMALLEST = 64
LARGEST = 2**31
"""Integers that a predicate may read: the product of two still fits 64 bits."""


class Stored:
    """A growing, ageing list of tuples: number, and the predicate's columns with the time last."""

    def __init__(self, dtypes: list[np.dtype[Any]]) -> None:
        self.columns = [np.empty(SMALLEST, dtype) for dtype in (np.dtype(np.int64), *dtypes)]
        self.head, self.tail = 0, 0

    def __len__(self) -> int:
        return self.tail - self.head

    def drop_until(self, time: int) -> None:
        """Forget the tuples up to this time."""
        self.head += int(np.searchsorted(self.columns[-1][self.head : self.tail], time, side="right"))

    def append(self, numbers: Ints, columns: Columns) -> None:
        n = len(numbers)
        if self.tail + n > len(self.columns[0]):
            self._make_room(n)
        for own, new in zip(self.columns, (numbers, *columns), strict=True):
            own[self.tail : self.tail + n] = new
        self.tail += n

    def _make_room(self, n: int) -> None:
        """Half of the room is free afterwards, so that a tuple is copied about once more in its life."""
        live, room = len(self), len(self.columns[0])
        if 2 * (live + n) > room:
            room = 2 * (live + n)
        for place, own in enumerate(self.columns):
            larger = np.empty(room, own.dtype)
            larger[:live] = own[self.head : self.tail]
            self.columns[place] = larger
        self.head, self.tail = 0, live

    def live(self) -> tuple[Ints, Columns]:
        numbers, *columns = (column[self.head : self.tail] for column in self.columns)
        return numbers, tuple(map(read_only, columns))


class CompiledJoin(Running):
    """J+ over predicates that become machine code. NoSource or NumbaError where this one does not."""

    def __init__(self, operator: Join) -> None:
        super().__init__(operator)
        self.sides = operator.sides
        self.alone = len(operator.inputs) == 1
        names = {side: own.schema.names for side, own in zip(Side, self.sides, strict=True)}
        reads = columns_in_text(operator.where, names)
        self._reads = [[column.name for column in reads if column.side is side] for side in Side]
        for own, columns in zip(self.sides, self._reads, strict=True):
            for name in columns:
                if kind_of(own.schema.field(name).type) == "object":
                    raise NoSource(f"{name} is not a column of numbers")
        places = {
            Column(s, n): at for s, own in zip(Side, self._reads, strict=True) for at, n in enumerate(own)
        }
        none = np.empty(0, np.int64)
        empty = [self._columns(own.schema.empty_table(), none, at) for at, own in enumerate(self.sides)]
        samples = dict(zip(Side, empty, strict=True))
        self._kernels = [compiled_function(operator.where, places, side, -1, samples) for side in Side]
        dtypes = [[column.dtype for column in columns] for columns in empty]
        stored_sides = [0] if self.alone else [0, 1]
        self._shares = [[Stored(dtypes[at]) for at in stored_sides] for _ in range(operator.shares)]
        self._past: deque[Interleaved] = deque()
        self.comparisons = np.zeros(operator.shares, np.int64)
        """How many pairs each share has compared."""

    def _share(self, number: int) -> list[Stored]:
        return self._shares[number]

    def _columns(self, rows: pa.Table, times: Ints, side: int) -> Columns:
        read = []
        for name in self._reads[side]:
            values, valid = to_numpy(rows[name])
            if valid is not None:
                raise DataError(f"the join compares {name!r}, which holds a null; drop such rows first")
            limit = FARTHEST if pa.types.is_temporal(rows[name].type) else LARGEST
            if (
                values.dtype.kind in "iu"
                and len(values)
                and max(-int(values.min()), int(values.max())) > limit
            ):
                raise DataError(f"the join compares {name!r} in 64 bits; values must be within ±{limit}")
            read.append(values)
        return tuple(read_only(column) for column in (*read, times))

    def _begin(self, run: Interleaved, *, pieces: int) -> Prepared:
        """Every tuple has every key: there is nothing to read. The run is kept while it is needed."""
        oldest = int(self.reached.min()) - self.operator.clock.size
        while self._past and self._past[0].times[-1] <= oldest:
            self._past.popleft()
        if len(run):
            self._past.append(run)
        return Prepared()

    def _arrived(self, run: Interleaved) -> list[tuple[Ints, Ints, Columns]]:
        """For each side: the numbers, the times and the columns of its tuples."""
        found = []
        for number, rows in enumerate(run.tables):
            at = run.positions(number)
            found.append((run.first + at, run.times[at], self._columns(rows, run.times[at], number)))
        if self.alone:
            numbers, times, _ = found[0]
            found.append((numbers, times, self._columns(run.tables[0], times, 1)))
        return found

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        if not len(run):
            return self.operator.schema.empty_table()
        arrived = prepared.once("arrived", lambda: self._arrived(run))
        probing = [1] if self.alone else [0, 1]
        found: list[list[Pairs]] = [[], []]
        for number in mine.tolist():
            with self.share(number) as stored:
                for at, list_ in enumerate(stored):
                    numbers, _, columns = arrived[at]
                    turn = numbers % self.operator.shares == number
                    list_.append(numbers[turn], tuple(column[turn] for column in columns))
                for side in probing:
                    list_ = stored[0 if self.alone else 1 - side]
                    found[side].append(self._matches(number, side, arrived[side], list_))
                for list_ in stored:
                    list_.drop_until(run.watermark - self.operator.clock.size)
        return self._reports(run, found)

    def _matches(self, share: int, side: int, arrived: tuple[Ints, Ints, Columns], stored: Stored) -> Pairs:
        """The numbers of the tuples that match: of the arrived, of the stored ones."""
        numbers, times, columns = arrived
        kept, kept_columns = stored.live()
        if not len(numbers) or not len(kept):
            return numbers[:0], kept[:0]
        lo = np.searchsorted(kept_columns[-1], times - self.operator.clock.size, side="right")
        hi = np.searchsorted(kept, numbers)
        probe = np.flatnonzero(hi > lo)
        if not len(probe):
            return numbers[:0], kept[:0]
        lo, hi = lo[probe], hi[probe]
        self.comparisons[share] += int((hi - lo).sum())
        i, j = matches(self._kernels[side], columns, kept_columns, Ranges(probe, lo, hi))
        return numbers[i], kept[j]

    def _reports(self, run: Interleaved, found: list[list[Pairs]]) -> pa.Table:
        """Pairs by the arrival of the later tuple, then of the earlier one."""
        joined = [_concatenated(pairs) for pairs in found]
        # On the left side stand the arrived tuples of input 0 and the stored ones that input 1 has met.
        left = np.concatenate([joined[0][0], joined[1][1]])
        right = np.concatenate([joined[0][1], joined[1][0]])
        if not len(left):
            return self.operator.schema.empty_table()
        later, earlier = np.maximum(left, right), np.minimum(left, right)
        order = np.lexsort((earlier, later))
        ends = run.times[later[order] - run.first] + 1
        tables = [self._rows(left[order], 0), self._rows(right[order], 0 if self.alone else 1)]
        times = from_integers(ends, self.operator.schema.field(0).type)
        columns = [times, *(column for table in tables for column in table.columns)]
        return pa.Table.from_arrays(columns, schema=self.operator.schema)

    def _rows(self, numbers: Ints, side: int) -> pa.Table:
        """The rows of these tuples, from the runs that brought them."""
        with self._preparing:
            past = list(self._past)
        run_of = np.array([bisect_right(past, number, key=_first) - 1 for number in numbers.tolist()])
        parts, order = [], np.argsort(run_of, kind="stable")
        for which in np.unique(run_of):
            run, own = past[which], numbers[order][run_of[order] == which]
            within = np.searchsorted(run.positions(side), own - run.first)
            parts.append(run.tables[side].take(pa.array(within)))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).take(pa.array(back))

    def buffers(self) -> list[tuple[int, int]]:
        columns = [column for stored in self._shares for list_ in stored for column in list_.columns]
        return [(column.__array_interface__["data"][0], column.nbytes) for column in columns]


def _first(run: Interleaved) -> int:
    return run.first


def _concatenated(pairs: list[Pairs]) -> Pairs:
    none = np.empty(0, np.int64)
    first, second = zip(*pairs, strict=True) if pairs else ((), ())
    return np.concatenate([none, *first]), np.concatenate([none, *second])
