"""The algebra of an aggregate: lift → combine → lower, with the properties that algorithms rely on.

A `Monoid` is a record of plain functions, not a class with methods, for two reasons: a user's ten lines
of Python become one without inheriting anything, and the functions can be handed to Numba as they are.

    identity ⊕ a = a = a ⊕ identity            (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)

`combine(older, newer)` may assume that order; only `commutative` monoids may be reordered. An *element*
is a scalar, a flat tuple of scalars (both are kept in numpy columns and compiled), or any object when
`encode` and `decode` are given (interpreted; written to a store by `encode`, never pickled).

Nulls never reach `lift`: an event with a null in one of `columns` is skipped, and a window without any
element has the value `nothing`. That is Spark's rule, kept in one place. `lower` may answer None: the
value is null (the sample variance of one event). It must not raise on the identity, because a compiled
loop lowers a whole column of elements and only then masks those that hold no event.

Events for which the condition `where` is not true are skipped like those with a null. It is computed on
columns before anything is lifted, so that elements and algorithms are those of the aggregate without it.

An aggregate that reads the time of events has it as its last column, named `EVENT_TIME` until a query
decides which column that is (`at`).

A monoid is *unbound* until the kinds of its columns are known. Unbound, the built-in ones take any Python
value and are interpreted; `bind(kinds)` gives the typed version that can be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from sash.aggregation.sql_form import SqlForm
from sash.errors import NotCommutative, NotInvertible, Unsupported
from sash.semantics.condition import Condition

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["int", "float", "bool", "object"]
"""What an input column holds, as far as algebra cares. Timestamps are ints (microseconds)."""

ResultType = Callable[[tuple["pa.DataType", ...]], "pa.DataType"]
"""Arrow types of the input columns → Arrow type of the result; refuses types that it cannot take."""

EVENT_TIME = "event time"
"""Stands for the column with the time of events, until it is known."""


@dataclass(frozen=True)
class Monoid:
    """A named, bound aggregate. Built by `@sash.monoid` or by one of the built-in functions."""

    name: str
    columns: tuple[str, ...]
    identity: Callable[[], Any]
    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]
    inverse: Callable[[Any, Any], Any] | None = None
    """`inverse(total, oldest)`: what is left of `total` when its oldest part is taken away."""
    commutative: bool = False
    idempotent: bool = False
    encode: Callable[[Any], bytes] | None = None
    decode: Callable[[bytes], Any] | None = None
    # An empty list is a fair `nothing`, and must not stop a monoid from being a dictionary key.
    nothing: Any = field(default=None, hash=False)
    specialise: Callable[[tuple[Kind, ...]], dict[str, Any]] | None = None
    """Fields to replace once the kinds of the input columns are known (typed identities, exact sums)."""
    result: ResultType | None = None
    """The Arrow type of `lower`'s answers. Tuples become structs, by position. None: not known."""
    approximate: bool = False
    """Whether grouping elements differently may change the result, within the error that is documented."""
    plain: Monoid | None = None
    """The same aggregate on cheaper elements, right only while integers cannot overflow: see `narrowed`."""
    sql: SqlForm | None = field(default=None, repr=False, compare=False)
    """How Spark folds it without Python; None: it cannot. Needs typed elements, so set by `specialise`."""
    where: Condition | None = None
    """Which events count, of those without a null in `columns`; None: all."""
    timed: Callable[[str, int | None], Monoid] | None = field(default=None, repr=False, compare=False)
    """(time column, its units in a second, None for ticks) → the aggregate, if it reads the time."""
    made_by: tuple[str, tuple[Any, ...], dict[str, Any]] | None = field(
        default=None, repr=False, compare=False
    )
    """The name of the built-in function that made it, and what it was given besides `where`."""
    written: str = field(default="", repr=False, compare=False)
    """As a pipeline file has it, for messages."""

    unbound: Monoid | None = field(default=None, repr=False, compare=False)
    """What this was before `bind`."""
    kinds: tuple[Kind, ...] | None = field(default=None, repr=False, compare=False)
    """The kinds of the input columns that it was bound to."""

    def __repr__(self) -> str:
        laws = [law for law in ("commutative", "invertible", "idempotent") if getattr(self, law)]
        algebra = f": {', '.join(laws)}" if laws else ""
        return f"<sash aggregate {self}{algebra}>"

    def __str__(self) -> str:
        condition = [] if self.where is None else [f"where={self.where}"]
        return f"{self.name}({', '.join([*self._given(), *condition])})"

    def _given(self) -> list[str]:
        """Its columns, and what else it was made with, as it is written."""
        _, arguments, options = self.made_by or ("", (), {})
        written = [("", value) for value in arguments] + [(f"{name}=", options[name]) for name in options]
        return [
            *self.columns,
            *(
                f"{name}{list(value) if isinstance(value, tuple) else value!r}"
                for name, value in written
                if not (isinstance(value, str) and value in self.columns)
            ),
        ]

    @property
    def reads(self) -> tuple[str, ...]:
        """Every column that must be there: what is lifted, and what the condition looks at."""
        return tuple(dict.fromkeys([*self.columns, *(self.where.columns if self.where else ())]))

    @property
    def invertible(self) -> bool:
        return self.inverse is not None

    @property
    def columnar(self) -> bool:
        """Whether elements are scalars or flat tuples of scalars, so that they fit numpy columns."""
        return self.encode is None

    def bind(self, kinds: tuple[Kind, ...]) -> Monoid:
        """The same aggregate for input columns of these kinds; a bound one is bound afresh."""
        if self.specialise is None:
            return self
        unbound = self.unbound or self
        return replace(unbound, **self.specialise(kinds), unbound=unbound, kinds=kinds)

    def at(self, time: str, per_second: int | None) -> Monoid:
        """The same aggregate with its time from this column, which counts so many units in a second (None:
        ticks of an unknown length). One that does not read the time is as it was."""
        if self.timed is None:
            return self
        return replace(self.timed(time, per_second), where=self.where, made_by=self.made_by)

    def conditional(self, where: Condition | None) -> Monoid:
        """The same aggregate over the events for which `where` is true."""
        return self if where is None else replace(self, where=where)

    def narrowed(self, *, magnitude: int, events: int) -> Monoid:
        """`plain` if it cannot overflow on `events` values of at most `magnitude` each, otherwise self.

        Elements of the two differ, so one buffer holds either the one or the other.
        """
        if self.plain is None or magnitude * events >= 2**63:
            return self
        return self.plain.conditional(self.where)

    def require_inverse(self, needed_by: str) -> Callable[[Any, Any], Any]:
        if self.inverse is None:
            raise NotInvertible(
                f"{needed_by} takes elements out by subtraction, and {self.name} declares no inverse; "
                "give one with invertible=True and an `inverse`, or use two_stacks, daba or mta"
            )
        return self.inverse

    def require_no_condition(self, needed_by: str) -> None:
        if self.where is not None:
            raise Unsupported(
                "where", str(self.where), f"left out for {needed_by}, which takes values and not rows",
                hint="Insert only the values that count.",
            )  # fmt: skip

    def require_commutative(self, needed_by: str) -> None:
        if not self.commutative:
            raise NotCommutative(
                f"{needed_by} combines elements out of order, and {self.name} is not declared commutative; "
                "declare commutative=True if a ⊕ b = b ⊕ a for all of its elements"
            )
