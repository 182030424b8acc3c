"""Quantiles from a summary of bounded size.

    quantile(x, q)  ≈  the smallest x that is at least as large as a fraction q of all x

`kll` (Karnin, Lang, Liberty, 2016) answers with a value that occurred and whose rank is off by at most
about 1.3 % at k = 200, wherever q lies; up to k values it is exact. `tdigest` (Dunning, 2019) interpolates
between values and is sharpest near q = 0 and q = 1.

An element is (sketch, how many −∞, +∞, NaN): neither sketch takes NaN, and a t-digest averages values,
which infinities do not survive. Counting them beside it keeps Spark's order, with NaN the largest.
"""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from datasketches import kll_doubles_sketch, tdigest_double

from sash.aggregation.built_in.column_types import number_to, numeric_kinds, of_values, require_number
from sash.aggregation.built_in.sketch_bytes import digest_of, kll_of
from sash.aggregation.monoid import Kind, Monoid
from sash.errors import ArgumentError, CorruptValue
from sash.semantics.condition import RowCondition

Digest = tuple[Any, int, int, int]
_TAILS = struct.Struct("<qqq")
_SKETCHES = {"kll": kll_doubles_sketch, "tdigest": tdigest_double}
_READERS = {"kll": kll_of, "tdigest": digest_of}


def quantile(
    column: str,
    q: float,
    *,
    sketch: Literal["kll", "tdigest"] = "kll",
    k: int = 200,
    where: RowCondition | None = None,
) -> Monoid:
    """About the q-quantile of x, 0 ≤ q ≤ 1, as a float; null when empty. Larger k: larger and more exact.

    "kll" draws random numbers: beyond k values two runs over the same values differ, within its error.
    "tdigest" draws none, and depends on how values were grouped.

    >>> from sash.semantics.monoid import fold
    >>> fold(quantile("x", 0.5), [{"x": 9}, {"x": 1}, {"x": None}, {"x": 4}])
    4.0
    """
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise ArgumentError("q", q, "a number from 0 to 1")
    if sketch not in _SKETCHES:
        raise ArgumentError("sketch", sketch, "'kll' or 'tdigest'")
    if isinstance(k, bool) or not isinstance(k, int) or not 10 <= k <= 65535:
        raise ArgumentError("k", k, "an integer from 10 to 65535")
    return of_values(
        "quantile", column, partial(_empty, sketch, k), partial(_lift, sketch, k),
        partial(_merge, sketch, k), partial(_at_rank, sketch, q), commutative=True, encode=_encode,
        decode=partial(_decode, sketch), specialise=_numbers_only,
        result=number_to("quantile", pa.float64()), approximate=True, where=where,
    )  # fmt: skip


def _numbers_only(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    numeric_kinds("quantile", kinds)
    return {}


def _empty(sketch: str, k: int) -> Digest:
    return (_SKETCHES[sketch](k), 0, 0, 0)


def _lift(sketch: str, k: int, x: float) -> Digest:
    require_number("quantile", x)
    values = _SKETCHES[sketch](k)
    if math.isfinite(x):
        values.update(float(x))
        return (values, 0, 0, 0)
    return (values, int(x == -math.inf), int(x == math.inf), int(x != x))


def _merge(sketch: str, k: int, a: Digest, b: Digest) -> Digest:
    values = _SKETCHES[sketch](k)
    values.merge(a[0])
    values.merge(b[0])
    return (values, a[1] + b[1], a[2] + b[2], a[3] + b[3])


def _at_rank(sketch: str, q: float, e: Digest) -> float | None:
    values, low, high, nans = e
    finite = values.n if sketch == "kll" else values.get_total_weight()
    total = low + finite + high + nans
    if total == 0:
        return None
    place = max(1, math.ceil(q * total))
    if place <= low:
        return -math.inf
    if place > low + finite:
        return math.inf if place <= low + finite + high else math.nan
    if sketch == "kll":
        # Half a place down: the sketch rounds the rank up, and (place / n) · n may exceed the place.
        return float(values.get_quantile((place - low - 0.5) / finite, True))
    return float(values.get_quantile(min(1.0, max(0.0, (q * total - low) / finite))))


def _encode(e: Digest) -> bytes:
    return _TAILS.pack(*e[1:]) + bytes(e[0].serialize())


def _decode(sketch: str, data: bytes) -> Digest:
    if len(data) < _TAILS.size:
        raise CorruptValue(f"an encoded quantile sketch has at least {_TAILS.size} bytes, not {len(data)}")
    low, high, nans = _TAILS.unpack_from(data)
    return (_READERS[sketch](bytes(data[_TAILS.size :])), low, high, nans)
