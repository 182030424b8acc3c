"""The value of a monoid over rows, and rows to try it with."""

# ruff: noqa: N805  (the functions of a monoid have no self)
from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import settings, strategies as st

steady = settings(max_examples=60, deadline=None, derandomize=True)

INT64 = st.integers(-(2**63), 2**63 - 1)
QUARTERS = st.integers(-4000, 4000).map(lambda n: n / 4)
BOTH = pytest.mark.parametrize("bind", [True, False], ids=["bound", "unbound"])


def some(values, *, size=1):
    return st.lists(values, min_size=size, max_size=30)


def value(monoid, rows, kinds, *, bind=True):
    """The value over rows of scalars or tuples, typed or not."""
    monoid = monoid.bind(kinds) if bind else monoid
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    return monoid.lower(reduce(monoid.combine, [monoid.lift(*row) for row in rows]))


class Vwap:
    """Volume-weighted average price."""

    def identity():
        return (0.0, 0.0)

    def lift(price, size):
        return (price * size, size)

    def combine(a, b):
        return (a[0] + b[0], a[1] + b[1])

    def lower(s):
        return s[0] / s[1] if s[1] else None
