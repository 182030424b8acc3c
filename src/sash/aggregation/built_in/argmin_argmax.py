"""Where the extreme is: the value of one column in the event in which another is smallest or largest.

    argmin(v, by)  =  v of the earliest event with the smallest `by`           argmax likewise

The arguments stand as in Spark's `min_by(v, by)` and `max_by(v, by)`, and NaN is the largest `by`. Two
rules are firmer than Spark's, where ties go to whichever row a task happens to see last, and where a null
v can be the answer: here ties go to the earliest event, and events with a null in either column are
skipped. The tie rule makes both order-aware, hence not commutative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregation.built_in.column_types import ZERO, column_name, columnar, constant, same_as, typed
from sash.aggregation.encoding import decode, encode
from sash.aggregation.monoid import Kind, Monoid
from sash.semantics.condition import RowCondition, condition

Champion = tuple[bool, Any, Any]
"""Whether there is one yet, its `by`, its value. Without the flag, an event at −∞ would tie with none."""


def argmin(value: str, by: str, *, where: RowCondition | None = None) -> Monoid:
    """`value` in the earliest event with the smallest `by`; null when empty.

    >>> from sash.semantics.monoid import fold
    >>> fold(argmin("who", "t"), [{"who": "a", "t": 2}, {"who": "b", "t": 1}, {"who": "c", "t": 1}])
    'b'
    """
    return _champion("argmin", value, by, _lowest, where)


def argmax(value: str, by: str, *, where: RowCondition | None = None) -> Monoid:
    """`value` in the earliest event with the largest `by`; null when empty.

    >>> from sash.semantics.monoid import fold
    >>> fold(argmax("who", "t"), [{"who": "a", "t": 1}, {"who": "b", "t": 2}, {"who": "c", "t": 2}])
    'b'
    """
    return _champion("argmax", value, by, _highest, where)


def _champion(
    name: str,
    value: str,
    by: str,
    combine: Callable[[Champion, Champion], Champion],
    where: RowCondition | None,
) -> Monoid:
    return Monoid(
        name=name,
        columns=(column_name("value", value, of=name), column_name("by", by, of=name)),
        identity=_no_one,
        lift=_contender,
        combine=combine,
        lower=_value,
        idempotent=True,
        encode=encode,
        decode=decode,
        specialise=_typed_champion,
        result=same_as(0),
        where=condition(where),
    )


def _typed_champion(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    value, by = kinds
    return columnar(identity=constant((False, ZERO[by], ZERO[value])))


def _no_one() -> Champion:
    return (False, None, None)


def _contender(value: Any, by: Any) -> Champion:
    return (True, by, value)


def _lowest(a: Champion, b: Champion) -> Champion:
    if not a[0]:
        return b
    if not b[0]:
        return a
    return b if b[1] < a[1] or (a[1] != a[1] and b[1] == b[1]) else a


def _highest(a: Champion, b: Champion) -> Champion:
    if not a[0]:
        return b
    if not b[0]:
        return a
    return b if b[1] > a[1] or (b[1] != b[1] and a[1] == a[1]) else a


def _value(e: Champion) -> Any:
    return e[2]
