"""Elements of a window, and the one that is not there.

    ABSENT ⊕ a = a = a ⊕ ABSENT            without a call of `combine`

Every monoid has an identity, and still the algorithms start their folds from `ABSENT`, for three reasons:
an all-null window differs from a window that folds to the identity (its value is `nothing`, as in
Spark); an identity need not be lowerable (the mean of no number); and a fold that starts from nothing
calls `combine` exactly n − 1 times, so that counts of combines mean something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, Final

from sash.arrays import Array, Mask

Element = Any
"""What `lift` returns: a scalar, a flat tuple, or any object; or `ABSENT`."""

Combine = Callable[[Element, Element], Element]


class _Absence(Enum):
    """An enumeration, so that the marker stays itself through copying and pickling."""

    ABSENT = "no element"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absence.ABSENT


def null_aware_combine(combine: Combine) -> Combine:
    """`combine`, made to accept `ABSENT` on either side.

    >>> join = null_aware_combine(max)
    >>> join(3, 5), join(ABSENT, 5), join(ABSENT, ABSENT)
    (5, 5, ABSENT)
    """

    def join(older: Element, newer: Element) -> Element:
        if older is ABSENT:
            return newer
        if newer is ABSENT:
            return older
        return combine(older, newer)

    return join


def fold_all(join: Combine, elements: Iterable[Element]) -> Element:
    """e₁ ⊕ e₂ ⊕ … ⊕ eₙ, oldest first; `ABSENT` when there are none."""
    return reduce(join, elements, ABSENT)


@dataclass(frozen=True)
class ElementBatch:
    """Elements in columns, one per field. Those that are not `known` are nulls; None: all are known."""

    columns: tuple[Array, ...]
    known: Mask | None

    def __len__(self) -> int:
        return len(self.columns[0])
