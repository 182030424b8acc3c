"""Finds every exported monoid and builds it, bound to every kind of column that it takes.

Nothing here lists the monoids: a new one is built, and tested, the day it is exported. A factory may ask
for column names (parameters annotated `str`) and for the few other things in `OTHER_ARGUMENTS`.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

from hypothesis import strategies as st

from sash.aggregation import built_in
from sash.aggregation.monoid import Kind, Monoid
from sash.errors import Unsupported

OTHER_ARGUMENTS: dict[str, Any] = {"k": 3, "q": 0.3}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "ewm": [{"alpha": 0.25}, {"half_life": 3}, {"half_life": 10, "by": "time"}],
    "first": [{}, {"n": 3}, {"n": 2, "distinct": True}],
    "histogram": [{"bins": 4}, {"edges": (-2, 0, 0.5, 100)}],
    "last": [{}, {"n": 3}, {"n": 2, "distinct": True}],
    "quantile": [{"sketch": "kll"}, {"sketch": "tdigest"}],
    "skyline": [{"prefer": "min"}, {"prefer": ("max", "min")}],
}
KINDS: dict[int, list[tuple[Kind, ...]]] = {
    0: [()],
    1: [("int",), ("float",), ("bool",)],
    2: [
        ("int", "int"),
        ("float", "float"),
        ("bool", "bool"),
        ("int", "float"),
        ("float", "int"),
        ("float", "bool"),
    ],
}

SUMS_OF_FLOATS = {"sum", "mean", "geomean", "increase"}
ROUNDED = {"ewm", "rate"}
"""Plain floats, like moments: within their domain a rounding stays a rounding."""
MOMENTS = {"variance", "stddev", "skewness", "kurtosis", "covariance", "correlation", "linear_regression"}


def build(name: str, **options: Any) -> Monoid:
    """The exported monoid `name` over columns c0, c1, …"""
    factory = getattr(built_in, name)
    arguments: list[Any] = []
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments += [f"c{len(arguments) + i}" for i in range(2 if name == "skyline" else 1)]
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD and parameter.default is parameter.empty:
            is_column = parameter.annotation == "str"
            arguments.append(f"c{len(arguments)}" if is_column else OTHER_ARGUMENTS[parameter.name])
    return factory(*arguments, **options)


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "-".join([name, *(str(value) for value in options.values())]): (name, options)
    for name in built_in.__all__
    for options in VARIANTS.get(name, [{}])
}
"""Which monoid a label stands for, and what it is built with."""

UNBOUND: dict[str, Monoid] = {label: build(name, **options) for label, (name, options) in CALLS.items()} | {
    "count-all": built_in.count()
}


def _bindings() -> dict[str, tuple[Monoid, tuple[Kind, ...]]]:
    found = {}
    for label, unbound in UNBOUND.items():
        for kinds in KINDS[len(unbound.columns)]:
            try:
                found[f"{label}({', '.join(kinds)})"] = unbound.bind(kinds), kinds
            except Unsupported:
                continue
    return found


BOUND = _bindings()


def values(monoid: Monoid, kind: Kind) -> st.SearchStrategy[Any]:
    """Values of a kind with their extremes, inside the domain in which rounding stays a rounding.

    Floats that overflow on the way (1e308 + 1e308) follow IEEE arithmetic, which does not associate.
    """
    if kind == "bool":
        return st.booleans()
    if monoid.name in MOMENTS | ROUNDED:
        # Quarters up to 1,000: differences are exact, so that a column is constant or clearly is not.
        quarters = st.integers(-4000, 4000)
        odd = st.sampled_from([math.nan, math.inf, -math.inf])
        return (
            quarters
            if kind == "int"
            else st.one_of(quarters.map(lambda n: n / 4), quarters, odd).map(float)
        )
    if kind == "int":
        extremes = st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**31, 2**32, 2**63 - 2, 2**63 - 1])
        return st.one_of(extremes, st.integers(-(2**63), 2**63 - 1), st.integers(-5, 5))
    odd = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 5e-324])
    if monoid.name in SUMS_OF_FLOATS:
        return st.one_of(st.floats(-1e9, 1e9), st.sampled_from([1e16, -1e16, 1e300, -1e300]), odd)
    return st.one_of(st.floats(), odd)


def slack(monoid: Monoid) -> float:
    """How far apart results may be by rounding alone, in the domain of `values`."""
    return 1e-6 if monoid.name in MOMENTS | ROUNDED else 1e-12


def rows(monoid: Monoid, kinds: tuple[Kind, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(values(monoid, kind) for kind in kinds))
