"""Folds over columns of elements by the monoid's own Python functions: what is not a number is folded so.

A run of elements is *struct of arrays*: one numpy column for a scalar element, one per field for a flat
tuple, one column of objects when the monoid has `encode` and `decode`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from sash.aggregation.monoid import Monoid
from sash.arrays import Array, Ints
from sash.errors import ArgumentError, IntegerOverflow, PredicateError, SashError

Columns: TypeAlias = tuple[Array, ...]
Element: TypeAlias = Any


class Interpreted:
    """Every operation by its definition, one Python call for each ⊕.

    >>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda a: a)
    >>> plain = Interpreted(total, [np.dtype(np.int64)])
    >>> plain.fold_ranges(plain.lift([[1, 2, 3, 4]], 4), np.array([0, 1, 1]), np.array([1, 3, 4]))
    (array([1, 5, 9]),)
    """

    def __init__(self, monoid: Monoid, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._monoid, self._dtypes = monoid, tuple(dtypes)
        self._scalar = is_scalar(monoid)
        self._shaped = shaped(monoid)

    @property
    def monoid(self) -> Monoid:
        return self._monoid

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return self._dtypes

    def lift(self, inputs: Sequence[Any], n: int) -> Columns:
        # numpy scalars overflow silently and are slow in Python code; tolist gives plain ints and floats.
        plain = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in inputs]
        if any(len(values) != n for values in plain):
            raise ArgumentError("columns", [len(values) for values in plain], f"all {n} long")
        return self.columns([self._monoid.lift(*(values[i] for values in plain)) for i in range(n)])

    def columns(self, elements: Sequence[Element]) -> Columns:
        return as_columns(elements, self._dtypes, scalar=self._scalar)

    def load(self, columns: Columns, i: int) -> Element:
        if self._scalar:
            return columns[0].item(i)
        return self._shaped(column.item(i) for column in columns)

    def fold(self, columns: Columns, lo: int, hi: int) -> Element:
        elements = self._elements(columns, lo, hi)
        return reduce(self._monoid.combine, elements) if elements else self._monoid.identity()

    def fold_ranges(self, columns: Columns, lo: Ints, hi: Ints) -> Columns:
        # Two stacks: `older` are the suffixes of [bottom, middle), `newer` is the fold of [middle, end).
        combine, results = self._monoid.combine, []
        older: list[Element] = []
        newer, bottom, middle, end = self._monoid.identity(), 0, 0, 0
        for a, b in zip(lo.tolist(), hi.tolist(), strict=True):
            if a >= middle:
                older = self._suffixes(columns, a, b)
                newer, bottom, middle, end = self._monoid.identity(), a, b, b
            newer = reduce(combine, self._elements(columns, end, b), newer)
            end = b
            results.append(combine(older[a - bottom], newer) if a < middle else newer)
        return self.columns(results)

    def _elements(self, columns: Columns, lo: int, hi: int) -> list[Element]:
        if self._scalar:
            return list(columns[0][lo:hi].tolist())
        return list(map(self._shaped, zip(*(column[lo:hi].tolist() for column in columns), strict=True)))

    def _suffixes(self, columns: Columns, lo: int, hi: int) -> list[Element]:
        suffixes: list[Element] = []
        for element in reversed(self._elements(columns, lo, hi)):
            suffixes.append(self._monoid.combine(element, suffixes[-1]) if suffixes else element)
        return suffixes[::-1]


def is_scalar(monoid: Monoid) -> bool:
    """Whether an element is the bare value of its only column."""
    return not monoid.columnar or not isinstance(monoid.identity(), tuple)


def shaped(monoid: Monoid) -> Callable[..., Any]:
    """From the fields of an element to the element: a tuple, or the named tuple that identity() gives."""
    make: Callable[..., Any] = getattr(type(monoid.identity()), "_make", tuple)
    return make


@contextmanager
def lifting(monoid: Monoid) -> Iterator[None]:
    """What a user's `lift` raises, with the name of the monoid."""
    try:
        yield
    except SashError:
        raise
    except Exception as error:
        raise PredicateError(f"{monoid.name}.lift raised {type(error).__name__}: {error}") from error


VARYING = "Elements that vary in length need encode(e) → bytes and decode(bytes) → e."


def require_one_length(elements: Iterable[Element], length: int) -> None:
    """Refuse tuples of other lengths than the identity's: they have no columns."""
    for element in elements:
        if len(element) != length:
            raise ArgumentError(
                "an element of a monoid", element, f"a tuple of {length}, as its identity is", hint=VARYING
            )


def as_columns(elements: Sequence[Element], dtypes: Sequence[np.dtype[Any]], *, scalar: bool) -> Columns:
    """Elements, one per row, as columns of these types."""
    if not scalar:
        require_one_length(elements, len(dtypes))
    fields: list[Any] = [elements] if scalar else list(zip(*elements, strict=True)) or [()] * len(dtypes)
    return tuple(_column(values, dtype) for values, dtype in zip(fields, dtypes, strict=True))


def _column(values: Sequence[Any], dtype: np.dtype[Any]) -> Array:
    column: Array = np.empty(len(values), dtype)
    try:
        if dtype.hasobject:
            # One by one: numpy would take a list of lists for a matrix.
            for i, value in enumerate(values):
                column[i] = value
        else:
            column[:] = values
    except OverflowError as error:
        raise IntegerOverflow(f"an element does not fit in the 64 bits of its column: {error}") from error
    return column
