"""Which kind of numbers a column of events holds, and the column as an array of that kind.

    bool < int < float          a column may be widened to the right, never narrowed

Anything else (text, decimals, integers beyond 64 bits) is an object, and is not for arrays. A null is None;
a column of nulls only has no kind yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sash.aggregation.algorithms.protocol import as_list, is_numeric
from sash.aggregation.kernels.compiler.shape import DTYPES
from sash.aggregation.monoid import Kind
from sash.arrays import Array, Mask
from sash.errors import ArgumentError

_KINDS: tuple[Kind, ...] = ("bool", "int", "float")
_TYPES: tuple[tuple[type, ...], ...] = ((bool, np.bool_), (int, np.integer), (float, np.floating))


def numbers(column: Any) -> Any:
    """A numeric array as it is, an Arrow column of numbers without nulls as one, all else as a list."""
    if is_numeric(column):
        return column
    if hasattr(column, "to_pylist") and not column.null_count:
        array = np.asarray(column)
        if is_numeric(array):
            return array
    return as_list(column)


def narrowest_kind(column: Any) -> Kind | None:
    """The narrowest kind that takes all values; None when there is none, or nulls only.

    >>> narrowest_kind([1, None, 2.5]), narrowest_kind([None]), narrowest_kind(["a"])
    ('float', None, 'object')
    """
    if is_numeric(column):
        kind: Kind = {"b": "bool", "f": "float"}.get(column.dtype.kind, "int")  # type: ignore[assignment]
        return kind if len(column) else None
    found = {_rank(of) for of in set(map(type, column)) - {type(None)}}
    if not found:
        return None
    widest = max(found)
    if widest == len(_KINDS) or (1 in found and not _fit_64_bits(column)):
        return "object"
    return _KINDS[widest]


def _rank(of: type) -> int:
    return next((rank for rank, types in enumerate(_TYPES) if issubclass(of, types)), len(_KINDS))


def _fit_64_bits(values: Iterable[Any]) -> bool:
    integers = [value for value in values if isinstance(value, int | np.integer)]
    return bool(min(integers) >= -(2**63) and max(integers) < 2**63)


def kinds_of(columns: Sequence[Any]) -> tuple[Kind, ...] | None:
    """The kind of each column; None while one of them has none."""
    kinds = [narrowest_kind(column) for column in columns]
    return None if None in kinds else tuple(kind for kind in kinds if kind is not None)


def as_array(name: str, column: Any, kind: Kind) -> tuple[Array, Mask | None]:
    """The column as an array of this kind, and which of its values are not null (None: all)."""
    require_kind(name, narrowest_kind(column), kind)
    dtype = np.dtype(DTYPES[kind])
    if is_numeric(column):
        return column.astype(dtype, copy=False), None
    known = np.array([value is not None for value in column], np.bool_)
    if known.all():
        return np.array(column, dtype), None
    return np.array([0 if value is None else value for value in column], dtype), known


def require_kind(name: str, given: Kind | None, kind: Kind) -> None:
    if given is not None and (given == "object" or _KINDS.index(given) > _KINDS.index(kind)):
        raise ArgumentError(
            f"column {name}",
            f"values of kind {given}",
            f"of kind {kind}, as those before",
            hint="Give kinds=, one per column, to fix them when the window is made; 'object' takes any.",
        )
