"""How values are spread: counts by bin.

    edges e₀ < e₁ < … < e_k      bin i is [eᵢ, eᵢ₊₁), the last one closed: [e_{k−1}, e_k]
    at most b bins               bin i is [i · 2ᵏ, (i + 1) · 2ᵏ), k as small as b bins allow

Given edges, an element is one count for each bin; values outside are in none, and ends may be infinite.
Given a number of bins, their width follows the values: it is a power of two and bins start at multiples of
it, so that a merge of two histograms only ever joins whole bins. The width depends on the set of values
alone, and not on their order or on how they were grouped: ⊕ is exact.

NaN is in no bin, nor is an infinity where bins have a width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

import pyarrow as pa

from sash.aggregation.built_in.column_types import (
    column_name,
    columnar,
    constant,
    number_to,
    numbers_only,
    numeric_kinds,
)
from sash.aggregation.encoding import decode, encode
from sash.aggregation.kernels.compiler.function_source import defined
from sash.aggregation.monoid import Kind, Monoid
from sash.errors import ArgumentError
from sash.semantics.condition import RowCondition, condition

BinCounts = tuple[int, ...]

Spread = tuple[Any, ...]
"""Nothing, or the k of the width 2ᵏ and (i, count) of every bin that is not empty, in order."""

FLAT = 16
"""Up to so many bins elements are kept in columns; compiling wider ones takes longer than it gains."""

_COUNTS = pa.list_(pa.int64())
_BINS = pa.list_(pa.struct([("start", pa.float64()), ("end", pa.float64()), ("count", pa.int64())]))


def histogram(
    column: str,
    *,
    bins: int | None = None,
    edges: Sequence[float] | None = None,
    where: RowCondition | None = None,
) -> Monoid:
    """How many x are in each bin, as a list in a table.

    With edges: a count for each pair of neighbouring edges. With bins: (start, end, count) of at most so
    many bins of one width, the smallest power of two with which they span the values; none without values.

    >>> from sash.semantics.monoid import fold
    >>> rows = [{"x": x} for x in (0.5, 3.0, 9.0, 12.0, None)]
    >>> fold(histogram("x", edges=[0, 1, 10]), rows)
    (1, 2)
    >>> fold(histogram("x", bins=4), rows)
    [(0.0, 4.0, 2), (4.0, 8.0, 0), (8.0, 12.0, 1), (12.0, 16.0, 1)]
    """
    name = column_name("column", column, of="histogram")
    if (bins is None) == (edges is None):
        raise ArgumentError("bins", bins, "given, or else edges (one of the two)")
    made = _by_width(name, bins) if bins is not None else _by_edges(name, _edges(edges))
    return made.conditional(condition(where))


def _edges(given: Any) -> tuple[float, ...]:
    expected = "at least two numbers that increase, such as [0, 10, 100]"
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError("edges", given, expected)
    if any(isinstance(edge, bool) or not isinstance(edge, int | float) for edge in given):
        raise ArgumentError("edges", given, expected)
    edges = tuple(float(edge) for edge in given)
    if len(edges) < 2 or not all(low < high for low, high in pairwise(edges)):
        raise ArgumentError("edges", given, expected)
    return edges


def _by_edges(column: str, edges: tuple[float, ...]) -> Monoid:
    lift, combine, inverse = _functions(edges)
    nothing = (0,) * (len(edges) - 1)
    return Monoid(
        name="histogram",
        columns=(column,),
        identity=constant(nothing),
        lift=numbers_only("histogram", lift),
        combine=combine,
        lower=_itself,
        inverse=inverse,
        commutative=True,
        encode=encode,
        decode=decode,
        nothing=nothing,
        specialise=_typed(edges),
        result=number_to("histogram", _COUNTS),
    )


@cache
def _typed(edges: tuple[float, ...]) -> Callable[[tuple[Kind, ...]], dict[str, Any]]:
    def specialise(kinds: tuple[Kind, ...]) -> dict[str, Any]:
        numeric_kinds("histogram", kinds)
        if len(edges) - 1 > FLAT:
            return {}
        return columnar(lift=_functions(edges)[0])

    return specialise


@cache
def _functions(edges: tuple[float, ...]) -> tuple[Callable[..., Any], ...]:
    """lift, combine and inverse, written out bin by bin: a compiler wants tuples of a known length."""
    bins = range(len(edges) - 1)
    counts = ", ".join(f"1 if {_inside(edges, i)} else 0" for i in bins)
    texts = {
        "lift": f"def lift(x):\n    return ({counts},)",
        "combine": f"def combine(a, b):\n    return ({', '.join(f'a[{i}] + b[{i}]' for i in bins)},)",
        "inverse": f"def inverse(a, b):\n    return ({', '.join(f'a[{i}] - b[{i}]' for i in bins)},)",
    }
    return tuple(defined(text, name) for name, text in texts.items())


def _inside(edges: tuple[float, ...], i: int) -> str:
    low, high, last = edges[i], edges[i + 1], i == len(edges) - 2
    tests = [] if math.isinf(low) else [f"x >= {_literal(low)}"]
    if not math.isinf(high):
        tests.append(f"x {'<=' if last else '<'} {_literal(high)}")
    return " and ".join(tests) or "x == x"


def _literal(edge: float) -> str:
    # An integer is compared with integers exactly, where machine code would round them to floats.
    return repr(int(edge)) if edge.is_integer() and abs(edge) < 2**53 else repr(edge)


def _itself(element: BinCounts) -> BinCounts:
    return element


def _by_width(column: str, bins: int) -> Monoid:
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        raise ArgumentError("bins", bins, "an integer of at least 2: zero is always the end of a bin")
    return Monoid(
        name="histogram",
        columns=(column,),
        identity=tuple,
        lift=numbers_only("histogram", _alone),
        combine=partial(_merge, bins),
        lower=_bins,
        commutative=True,
        encode=encode,
        decode=decode,
        nothing=[],
        specialise=_numbers_only,
        result=number_to("histogram", _BINS),
    )


def _numbers_only(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    numeric_kinds("histogram", kinds)
    return {}


def _alone(x: Any) -> Spread:
    """The narrowest bin that begins at x: an integer's is 1 wide, a float's a unit in its last place."""
    if not isinstance(x, float):
        return (0, ((int(x), 1),))
    if not math.isfinite(x):
        return ()
    unit = max(-1074, math.frexp(x)[1] - 53) if x else -1074
    return (unit, ((int(math.ldexp(x, -unit)), 1),))


def _merge(bins: int, a: Spread, b: Spread) -> Spread:
    if not a or not b:
        return a or b
    k = max(a[0], b[0])
    counts: dict[int, int] = {}
    for own, entries in (a, b):
        for index, count in entries:
            place = index >> (k - own)
            counts[place] = counts.get(place, 0) + count
    low, high = min(counts), max(counts)
    more = max(0, (high - low).bit_length() - bins.bit_length())
    while (high >> more) - (low >> more) >= bins:
        more += 1
    if more:
        wide: dict[int, int] = {}
        for index, count in counts.items():
            wide[index >> more] = wide.get(index >> more, 0) + count
        counts = wide
    return (k + more, tuple(sorted(counts.items())))


def _bins(e: Spread) -> list[tuple[float, float, int]]:
    if not e:
        return []
    k, entries = e
    counts = dict(entries)
    places = range(entries[0][0], entries[-1][0] + 1)
    return [(_edge(i, k), _edge(i + 1, k), counts.get(i, 0)) for i in places]


def _edge(index: int, k: int) -> float:
    try:
        return math.ldexp(index, k)
    except OverflowError:  # the end of the bin that holds the largest floats
        return math.copysign(math.inf, index)
