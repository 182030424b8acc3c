"""Aggregates and patterns as text, for files in which there is no Python to write.

>>> aggregate_of("quantile(price, 0.5)", argument="median").columns
('price',)
>>> print(pattern_of("WinFarm(PaneFarm(2, 3), replicas=2)"))
WinFarm(PaneFarm(plq=2, wlq=3), replicas=2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError
from sash.operators.patterns.declared import KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq
from sash.pipeline.calls import Call, call_of, required_fit
from sash.planner.auto_declaration import AUTO, Auto, Parallelism, require_parallelism
from sash.semantics.pyspark_names import name_here

_AGGREGATES: Mapping[str, Callable[..., Monoid]] = {
    name: getattr(built_in, name) for name in built_in.__all__
}
_PATTERNS: Mapping[str, Callable[..., Any]] = {
    made.__name__: made for made in (Auto, KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq)
}


def aggregate_of(text: Any, *, argument: str) -> Monoid:
    """The aggregate that a text states. Columns are names, or in quotes where they are no identifiers.

    >>> print(aggregate_of("sum(price, where='size > 100')", argument="large"))
    sum(price, where=size > 100)
    """
    call = call_of(text, argument=argument)
    make = _known(call.name, _AGGREGATES, text, argument, "aggregate")
    for given in (*call.arguments, *call.options.values()):
        if isinstance(given, Call):
            raise ArgumentError(
                argument, text, "an aggregate of columns", hint=f"'{given.name}(…)' is no column."
            )
    required_fit(make, call, argument=argument, text=text)
    made: Monoid = make(*call.arguments, **call.options)
    return replace(made, written=text)


def pattern_of(text: Any, *, argument: str = "parallel") -> Parallelism:
    """The parallel pattern that a text states; 'auto' leaves it to the planner."""
    if text == "auto":
        return AUTO
    made = _pattern(call_of(text, argument=argument, example="KeyFarm(4)"), text, argument)
    return require_parallelism(made)


def _pattern(call: Call, text: str, argument: str) -> Any:
    make = _known(call.name, _PATTERNS, text, argument, "pattern")
    required_fit(make, call, argument=argument, text=text)

    def built(given: Any) -> Any:
        return _pattern(given, text, argument) if isinstance(given, Call) else given

    return make(*map(built, call.arguments), **{name: built(one) for name, one in call.options.items()})


def _known(
    name: str, makers: Mapping[str, Callable[..., Any]], text: str, argument: str, what: str
) -> Callable[..., Any]:
    if name in makers:
        return makers[name]
    near = name_here(name, list(makers))
    hint = f"Did you mean {near!r}?" if near else f"There are {', '.join(makers)}."
    message = f"{argument} = {text!r}: there is no {what} {name!r}"
    raise ArgumentError(argument, text, f"a known {what}", hint=hint, message=message)
