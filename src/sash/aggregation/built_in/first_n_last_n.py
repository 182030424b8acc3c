"""The n oldest and the n newest values of a window.

    first(x, n)  =  collect(x)[:n]             last(x, n)  =  collect(x)[-n:]

With `distinct`, an x that equals another is kept where it comes first (`first`) or where it comes last
(`last`), and n of those that are left are taken. Either way the list is in the order of events, and an
element is never longer than n, whatever the length of the window:

    first:   a ⊕ b  =  (a ++ b)[:n]            last:   a ⊕ b  =  (a ++ b)[-n:]            of what differs
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from sash.aggregation.built_in.column_types import list_of, of_values, positive_integer
from sash.aggregation.encoding import encode, one_of_equals
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError
from sash.semantics.condition import RowCondition

KeptValues = tuple[Any, ...]


def several(
    name: Literal["first", "last"], column: str, n: int | None, distinct: bool, where: RowCondition | None
) -> Monoid:
    """The first or last n; the empty list when there is none."""
    if n is None:
        raise ArgumentError(
            "n", n, "given with distinct=True", hint=f"For example {name}('x', 3, distinct=True)."
        )
    if not isinstance(distinct, bool):
        raise ArgumentError("distinct", distinct, "True or False")
    positive_integer("n", n)
    return of_values(
        name, column, tuple, _single, partial(_KEPT[name, distinct], n), list, idempotent=distinct,
        nothing=[], result=list_of(0), where=where,
    )  # fmt: skip


def _single(x: Any) -> KeptValues:
    return (x,)


def _oldest(n: int, a: KeptValues, b: KeptValues) -> KeptValues:
    return a if len(a) == n else (a + b)[:n]


def _newest(n: int, a: KeptValues, b: KeptValues) -> KeptValues:
    return b if len(b) == n else (a + b)[-n:]


def _first_different(n: int, a: KeptValues, b: KeptValues) -> KeptValues:
    return a if len(a) == n else _different(a + b)[:n]


def _last_different(n: int, a: KeptValues, b: KeptValues) -> KeptValues:
    return b if len(b) == n else _different((a + b)[::-1])[:n][::-1]


_KEPT = {
    ("first", False): _oldest,
    ("first", True): _first_different,
    ("last", False): _newest,
    ("last", True): _last_different,
}


def _different(values: KeptValues) -> KeptValues:
    """Each value where it is found first. By what Spark takes as equal: all NaNs, 0.0 and −0.0."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(_identified(value), value)
    return tuple(found.values())


def _identified(value: Any) -> Any:
    # Lists and structs have no hash; their bytes stand for them.
    return encode(value) if isinstance(value, list | dict) else one_of_equals(value)
