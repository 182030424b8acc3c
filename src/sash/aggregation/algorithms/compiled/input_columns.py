"""What goes into a compiled structure: events and elements as columns of the element's types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from sash.aggregation.algorithms.column_kinds import as_array, narrowest_kind, numbers, require_kind
from sash.aggregation.algorithms.protocol import Algorithm, as_list, is_numeric
from sash.aggregation.elements import ABSENT, Element, ElementBatch
from sash.aggregation.interpreted import shaped
from sash.aggregation.kernels.compiler.casts import as_bool, as_float, as_int
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.shape import kind_of_value
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Kind
from sash.arrays import Array, Ints
from sash.errors import ArgumentError

_CASTS: dict[Kind, Callable[[Any], Any]] = {"bool": as_bool, "int": as_int, "float": as_float}
_TYPES: dict[Kind, type] = {"bool": bool, "int": int, "float": float}


class Inlet:
    """The way from values to columns of elements, one by one and in batches."""

    def __init__(self, machine: Compiled, kinds: tuple[Kind, ...] | None) -> None:
        self.machine, self.kinds = machine, kinds
        self._identity = machine.monoid.identity()
        self._slot = machine.empty(1)
        self._shown = tuple(read_only(column) for column in self._slot)
        self._casts = tuple(_CASTS[kind] for kind in machine.shape.fields)
        self._types = tuple(_TYPES[kind] for kind in kinds or ())
        self._scalar = machine.shape.scalar
        self._shaped = shaped(machine.monoid)

    def values(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """One event, its values widened to the kinds of their columns."""
        # Python's own types are the common case; the cast of the element checks the range of integers.
        if self.kinds is None or tuple(map(type, values)) == self._types:
            return values
        names = self.machine.monoid.columns
        for name, value, kind in zip(names, values, self.kinds, strict=True):
            require_kind(name, kind_of_value(value), kind)
        return tuple(_CASTS[kind](value) for value, kind in zip(values, self.kinds, strict=True))

    def one(self, element: Element) -> Columns:
        """Columns with this element in their only place, which the next call overwrites."""
        if element is ABSENT:
            element = self._identity
        if self._scalar:
            self._slot[0][0] = self._casts[0](element)
        else:
            for column, cast, value in zip(self._slot, self._casts, element, strict=True):
                column[0] = cast(value)
        return self._shown

    def empty(self, n: int) -> Columns:
        return self.machine.empty(n)

    def header(self, n: int) -> Ints:
        return np.zeros(n, np.int64)

    def identities(self, n: int) -> Columns:
        """New columns of n identities, to be written to; of none: as inputs are."""
        columns = self.machine.empty(n)
        if not n:
            return self.machine.columns(columns)
        for column, value in zip(columns, self.one(ABSENT), strict=True):
            column[:] = value[0]
        return columns

    def lifted(self, columns: Sequence[Any], count: int) -> ElementBatch:
        """The elements of `count` events."""
        names = self.machine.monoid.columns
        if len(columns) != len(names):
            raise ArgumentError("columns", f"{len(columns)} of them", f"one for each of {list(names)}")
        kinds = self.kinds or tuple(narrowest_kind(column) or "float" for column in columns)
        read = [as_array(*given) for given in zip(names, columns, kinds, strict=True)]
        masks = [mask for _, mask in read if mask is not None]
        known = reduce(np.logical_and, masks) if masks else None
        lifted = self.machine.lift([values for values, _ in read], valid=known, n=count)
        return ElementBatch(self.machine.columns(lifted), known)

    def batch(self, elements: Any) -> ElementBatch:
        """Elements that are lifted already."""
        if self._scalar and is_numeric(elements):
            return ElementBatch(self.machine.columns((elements,)), None)
        listed = as_list(elements)
        known = np.array([element is not ABSENT for element in listed], np.bool_)
        rows = [self._identity if element is ABSENT else element for element in listed]
        columns = self.machine.empty(len(rows))
        for i, row in enumerate(rows):
            fields = (row,) if self._scalar else row
            for column, cast, value in zip(columns, self._casts, fields, strict=True):
                column[i] = cast(value)
        return ElementBatch(self.machine.columns(columns), None if known.all() else known)

    def element(self, fold: Any) -> Element:
        """What a kernel returned, in the form of the monoid's own elements."""
        return fold if self._scalar else self._shaped(fold)

    def load(self, columns: Columns, i: int) -> Element:
        if self._scalar:
            return columns[0].item(i)
        return self._shaped(column.item(i) for column in columns)


class CompiledAlgorithm(Algorithm):
    """A window whose elements are in columns. Subclasses have the arrays and call the kernels."""

    interpreted: bool
    """Whether Numba refused one of the kernels, so that the interpreted algorithm is the better choice."""

    def __init__(self, inlet: Inlet) -> None:
        super().__init__(inlet.machine.monoid)
        self._inlet = inlet

    def _ready(self, name: str, *arguments: Any) -> Callable[..., Any]:
        """The kernel of that name, called once on nothing: what cannot be compiled is found now, and the
        calls that follow go to the machine code directly."""
        kernel = self._inlet.machine.kernel(name)
        kernel(*arguments)
        self.interpreted = getattr(self, "interpreted", False) or kernel.mode == "interpreted"
        return kernel.function

    def _lift(self, values: tuple[Any, ...]) -> Element:
        if None in values or len(values) != len(self.monoid.columns):
            return super()._lift(values)
        return self.monoid.lift(*self._inlet.values(values))

    def _lift_batch(self, columns: Sequence[Any], count: int) -> ElementBatch:
        return self._inlet.lifted(columns, count)

    def _as_column(self, column: Any) -> Any:
        return numbers(column)

    def _as_elements(self, elements: Any) -> ElementBatch:
        return self._inlet.batch(elements)

    def _as_times(self, times: Any) -> Any:
        return times if is_numeric(times) else as_list(times)


def read_only(array: Array) -> Array:
    """A view for kernels, which are compiled for inputs that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
