"""The folder: from ranges to values, one column an aggregate. HOW FAST, never WHICH events.

A monoid whose elements fit numpy columns is folded by one compiled call for all keys. One over objects
(sketches, lists, strings) is interpreted, with two stacks: still about three combines an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.algorithms import TwoStacks
from sash.aggregation.kernels.compiled import compiled
from sash.aggregation.kernels.range_fold import present, range_fold
from sash.aggregation.monoid import Monoid
from sash.operators.inputs import from_numpy, kind_of, to_numpy
from sash.operators.ranges import Ranges

Array = NDArray[np.int64]


def fold_ranges(monoid: Monoid, rows: pa.Table, ranges: Ranges, result: pa.DataType) -> pa.Array:
    """The value of `monoid` over every range of `rows`."""
    kinds = tuple(kind_of(rows.schema.field(column).type) for column in monoid.columns)
    bound = monoid.bind(kinds)
    if "object" in kinds or not bound.columnar:
        return pa.array(list(_interpreted(monoid, rows, ranges)), result)
    read = [to_numpy(rows[column]) for column in monoid.columns]
    inputs = [values for values, _ in read]
    masks = [mask for _, mask in read if mask is not None]
    valid = reduce(np.logical_and, masks) if masks else None
    machine = compiled(_narrowed(bound, inputs, ranges), kinds=None)
    elements = machine.lift(inputs, valid=valid, n=rows.num_rows)
    folds = range_fold(machine, elements, ranges.lo, ranges.hi, groups=_groups(ranges))
    values, known = machine.lower(folds, present=present(valid, ranges.lo, ranges.hi))
    return from_numpy(values, known, result)


def _narrowed(monoid: Monoid, inputs: list[NDArray[np.generic]], ranges: Ranges) -> Monoid:
    """The cheaper form of an integer sum, where the largest value and the longest range prove it safe."""
    if monoid.plain is None or not len(ranges):
        return monoid
    magnitude = max((abs(int(end)) for a in inputs if len(a) for end in (a.min(), a.max())), default=0)
    return monoid.narrowed(magnitude=magnitude, events=int((ranges.hi - ranges.lo).max()))


def _groups(ranges: Ranges) -> Array:
    """Where the ranges of each slot begin: lo and hi never decrease within a slot."""
    begins = np.flatnonzero(np.diff(ranges.slot, prepend=-1))
    return np.append(begins, len(ranges))


def _interpreted(monoid: Monoid, rows: pa.Table, ranges: Ranges) -> Iterator[object]:
    inputs = [rows[column].to_pylist() for column in monoid.columns]
    window, slot, head, tail = TwoStacks(monoid), -1, 0, 0
    for at, lo, hi in zip(ranges.slot.tolist(), ranges.lo.tolist(), ranges.hi.tolist(), strict=True):
        if at != slot or lo >= tail:
            window, slot, head, tail = TwoStacks(monoid), at, lo, lo
        for position in range(tail, hi):
            window.insert(*(column[position] for column in inputs))
        window.bulk_evict(lo - head)
        head, tail = lo, hi
        yield window.query()
