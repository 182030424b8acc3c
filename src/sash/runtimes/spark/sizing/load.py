"""The load that a query is sized for, and events that look like it.

events of a key held  =  rate / keys · (window + delay)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa

from sash.errors import ArgumentError, Unsupported
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import StatePlan
from sash.semantics.durations import Duration
from sash.semantics.window import Window
from sash.semantics.windows import SessionWindow

SECOND = 1_000_000
TEXT = 16
"""Characters of a text that is generated, a key's too."""
TEXTS = 1_000
"""How many different texts a column has that is no key."""
OFTEN = 10
"""Events of a key that a window holds whose ends depend on what comes."""
ALL_KEYS = 3
"""After so many events per key on average, 95 % of the keys have come."""


@dataclass(frozen=True)
class ExpectedLoad:
    """What arrives, all keys together."""

    rate: float
    """Events per second."""
    keys: int
    seconds: float
    """From one micro-batch to the next."""

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate), ("keys", self.keys), ("every", self.seconds)):
            if not value > 0:
                raise ArgumentError(name, value, "greater than 0")

    @property
    def of_a_key(self) -> float:
        """Events of one key per second."""
        return self.rate / self.keys


def filling_seconds(bound: BoundQuery, load: ExpectedLoad) -> float:
    """After how much event time as much is held as ever will be."""
    if not pa.types.is_timestamp(bound.time_type):
        raise Unsupported(
            "time", f"{bound.time}: {bound.time_type}", "a timestamp for sash size",
            hint="Events per second have no meaning on a clock without seconds.",
        )  # fmt: skip
    query = bound.query
    needed = max(_needed(window, load) for window in query.windows)
    waits = (query.delay.length + query.allowed_lateness.length) / SECOND
    if query.forget_after.length:
        needed = max(needed, query.forget_after.length / SECOND)
    elif not StatePlan(bound).forgets:
        needed = max(needed, ALL_KEYS / load.of_a_key)
    return needed + waits


def _needed(window: Window, load: ExpectedLoad) -> float:
    match window.capacity:
        case None:
            gap = window.gap if isinstance(window, SessionWindow) else 0
            return max(gap / SECOND, OFTEN / load.of_a_key)
        case Duration(length):
            return length / SECOND
        case number:
            return (ALL_KEYS if number == inf else number) / load.of_a_key


class SampleEvents:
    """Events with the columns that a query reads: any key as often as any other, evenly in time."""

    def __init__(self, bound: BoundQuery, *, keys: int) -> None:
        self._bound, self._keys = bound, keys
        self._random = np.random.default_rng(1)

    def between(self, begin: float, end: float, count: int) -> pa.Table:
        """So many in these seconds, in order of time."""
        times = np.sort(self._random.uniform(begin * SECOND, end * SECOND, count)).astype(np.int64)
        keys = self._random.integers(0, self._keys, count)
        columns = {
            name: self._column(name, self._bound.schema.field(name).type, times, keys)
            for name in self._bound.columns
        }
        return pa.table(columns)

    def _column(self, name: str, type_: pa.DataType, times: Any, keys: Any) -> pa.Array:
        if name == self._bound.time:
            return pa.array(times).cast(pa.timestamp("us")).cast(type_)
        if name in self._bound.keys:
            return _of_numbers(keys, type_)
        count = len(times)
        if pa.types.is_floating(type_):
            return pa.array(self._random.normal(100, 10, count)).cast(type_)
        if pa.types.is_boolean(type_):
            return pa.array(self._random.random(count) < 0.5)
        return _of_numbers(self._random.integers(0, TEXTS, count), type_)


def _of_numbers(numbers: Any, type_: pa.DataType) -> pa.Array:
    """
    >>> _of_numbers(np.array([7]), pa.string()).to_pylist()
    ['0000000000000007']
    >>> _of_numbers(np.array([300]), pa.int8()).to_pylist()
    [44]
    """
    if pa.types.is_integer(type_):
        return pa.array(numbers.astype(type_.to_pandas_dtype()))
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_binary(type_):
        texts = np.char.zfill(numbers.astype(str), TEXT)
        return pa.array(texts.tolist(), pa.string()).cast(type_)
    try:
        return pa.array(numbers).cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(numbers), type_)
