"""Elements on their way between processes: what is not numbers travels as bytes.

    process  →  one value of bytes for each element  →  owner, who puts parts side by side  →  process

The owner never reads an element: it cuts and joins columns, of bytes as of numbers. A monoid with `encode`
has its own bytes; elements of others are pickled. What has no bytes stays where it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import cloudpickle

from sash.aggregation.interpreted import object_column
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Monoid
from sash.operators.patterns.folding import Folding, Folds

Codec: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class NotSent:
    """The answer of a process whose elements have no bytes."""

    reason: str


class ElementsStay(Exception):
    """Folds cannot leave the process that made them, so that one process must do both steps."""


def as_bytes(folding: Folding, folds: Folds) -> Folds | NotSent:
    """Elements as another process with the same folding reads them."""
    try:
        return _each(folding, folds, lambda monoid: monoid.encode or cloudpickle.dumps)
    except Exception as error:  # whatever `encode`, or an object that is pickled, raises
        return NotSent(f"{type(error).__name__}: {error}")


def from_bytes(folding: Folding, folds: Folds) -> Folds:
    """The elements that another process has made into bytes."""
    return _each(folding, folds, lambda monoid: (monoid.encode and monoid.decode) or cloudpickle.loads)


def _each(folding: Folding, folds: Folds, codec: Callable[[Monoid], Codec]) -> Folds:
    return {
        name: replace(elements, columns=_objects(elements.columns, codec(folding.bound.aggregates[name])))
        for name, elements in folds.items()
    }


def _objects(columns: Columns, codec: Codec) -> Columns:
    """Columns of objects with each value replaced; those of numbers travel as they are."""
    return tuple(
        object_column([codec(value) for value in column]) if column.dtype == object else column
        for column in columns
    )
