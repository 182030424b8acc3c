"""The folder: from ranges to values, one column an aggregate. HOW FAST, never WHICH events."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.monoid import Monoid
from sash.operators.ranges import Ranges

Ints = NDArray[np.int64]


def fold_ranges(monoid: Monoid, rows: pa.Table, ranges: Ranges, result: pa.DataType) -> pa.Array:
    """The value of `monoid` over every range of `rows`."""
    inputs = [rows[column].to_pylist() for column in monoid.columns]
    elements = [
        None if None in values else monoid.lift(*values)
        for values in (zip(*inputs, strict=True) if inputs else [()] * rows.num_rows)
    ]
    values = [
        _value(monoid, [element for element in elements[lo:hi] if element is not None])
        for lo, hi in zip(ranges.lo.tolist(), ranges.hi.tolist(), strict=True)
    ]
    return pa.array(values, result)


def _value(monoid: Monoid, elements: list[object]) -> object:
    return monoid.lower(reduce(monoid.combine, elements)) if elements else monoid.nothing
