"""Several monoids folded side by side: what a slide policy looks at.

    (a₁, …, aₘ) ⊕ (b₁, …, bₘ)  =  (a₁ ⊕₁ b₁, …, aₘ ⊕ₘ bₘ)

The value of a window is a namespace with one name for each monoid, so that a policy reads well:
`lambda total, old: total.t - old.t >= hour`. Each part skips the nulls of its own columns only.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from sash.aggregation.elements import ABSENT, null_aware_combine
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError


@dataclass(frozen=True)
class Tracked(Monoid):
    """A product of monoids. Unlike a plain monoid it is lifted over nulls, for each part sees its own."""


def tracked(**monoids: Monoid) -> Tracked:
    """The product of the named monoids; its columns are theirs, each once, in order of appearance.

    >>> def number(name, combine):
    ...     return Monoid(name, ("x",), lambda: 0, lambda x: x, combine, lambda s: s)
    >>> folds = tracked(s=number("sum", lambda a, b: a + b), last=number("last", lambda a, b: b))
    >>> folds.lower(folds.combine(folds.lift(2), folds.lift(3)))
    namespace(s=5, last=3)
    """
    if not monoids:
        raise ArgumentError("monoids", {}, "at least one monoid, such as s=sash.sum('x')")
    parts = tuple(monoids.values())
    for part in parts:
        part.require_no_condition("a slide policy")
    columns = tuple(dict.fromkeys(column for part in parts for column in part.columns))
    inputs = [[columns.index(column) for column in part.columns] for part in parts]
    joins = [null_aware_combine(part.combine) for part in parts]

    def lift(*values: Any) -> tuple[Any, ...]:
        chosen = [[values[i] for i in places] for places in inputs]
        return tuple(
            ABSENT if any(value is None for value in own) else part.lift(*own)
            for part, own in zip(parts, chosen, strict=True)
        )

    def combine(older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(join(a, b) for join, a, b in zip(joins, older, newer, strict=True))

    def lower(element: tuple[Any, ...]) -> SimpleNamespace:
        values = (p.nothing if e is ABSENT else p.lower(e) for p, e in zip(parts, element, strict=True))
        return SimpleNamespace(**dict(zip(monoids, values, strict=True)))

    nothing = tuple(ABSENT for _ in parts)
    return Tracked(
        name=f"tracked({', '.join(monoids)})",
        columns=columns,
        identity=lambda: nothing,
        lift=lift,
        combine=combine,
        lower=lower,
        commutative=all(part.commutative for part in parts),
        idempotent=all(part.idempotent for part in parts),
        nothing=lower(nothing),
    )
