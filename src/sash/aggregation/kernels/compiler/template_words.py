"""The words that kernel templates are written in: they stand for one monoid, chosen later.

A template is a plain loop over element columns, such as

    total = identity()
    for i in range(lo, hi):
        total = combine(total, load(columns, i))

The functions below only declare those words, so that a template reads and type-checks like any other
module. `specialise` puts the definitions of one monoid in their place, and the same template text becomes
machine code or, when that is not possible, an interpreted loop. A column set is struct-of-arrays: a tuple
of one-dimensional numpy arrays, one per field of the element.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sash.aggregation.elements import Element as Element
from sash.arrays import Array

Columns: TypeAlias = tuple[Array, ...]


def identity() -> Element:
    """The element that changes nothing, already of the column types."""
    raise NotImplementedError


def combine(older: Element, newer: Element) -> Element:
    """older ⊕ newer, already of the column types."""
    raise NotImplementedError


def commutes() -> bool:
    """Whether the monoid is declared commutative: a constant, so that the other branch costs nothing."""
    raise NotImplementedError


def inverse(total: Element, oldest: Element) -> Element:
    """What is left of `total` when its oldest part is taken away."""
    raise NotImplementedError


def lift(inputs: Columns, i: int) -> Element:
    """The element of event i."""
    raise NotImplementedError


def lower(element: Element) -> Any:
    """The result that a reader sees; None stands for null."""
    raise NotImplementedError


def load(columns: Columns, i: int) -> Element:
    """The element at position i."""
    raise NotImplementedError


def store(columns: Columns, i: int, element: Element) -> None:
    """Overwrite the element at position i."""
    raise NotImplementedError


def scratch(n: int) -> Columns:
    """New columns for n elements, not initialised."""
    raise NotImplementedError


def push(stack: Columns, i: int, element: Element) -> None:
    """As `store`, into columns that `scratch` made for this only: to the interpreter they are a list."""
    raise NotImplementedError


def peek(stack: Columns, i: int) -> Element:
    """As `load`, of what was pushed."""
    raise NotImplementedError


def put_result(results: Columns, i: int, result: Any) -> None:
    """Write a lowered result, one column per field of a tuple result."""
    raise NotImplementedError


def shown(total: Any, policy: Any) -> Any:
    """The result of a whole window as a slide policy sees it, for all prefixes of that window."""
    raise NotImplementedError


def leaves(total: Any, old: Any, policy: Any) -> bool:
    """Whether a slide policy wants a prefix out: of the whole window as `shown`, and the result of the
    prefix."""
    raise NotImplementedError


def lifted(total: Element, inputs: Columns, i: int, known: int, bits: Any) -> Element:
    """total ⊕ lift(inputs, i) for each of several monoids whose bit is `known`; the others stay."""
    raise NotImplementedError


def joined(total: Element, columns: Columns, i: int, known: int, bits: Any) -> Element:
    """The same with load(columns, i)."""
    raise NotImplementedError
