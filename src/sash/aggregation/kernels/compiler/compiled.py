"""A columnar monoid made fast: its elements in numpy columns, its functions inside compiled loops.

    compiled(monoid).lift(inputs)  ->  columns of elements
                    .fold(columns, lo, hi)  ->  one element
                    .kernel(name)  ->  a kernel template, specialised to this monoid
                    .lower(columns)  ->  results

Users' monoids and built-in ones go the same way and run at the same speed. A function that Numba cannot
compile is interpreted instead, with the same results; one warning names the monoid and the reason.

>>> import numpy as np
>>> from sash.aggregation.monoid import Monoid
>>> fast = compiled(Monoid("total", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s))
>>> columns = fast.lift((np.array([1, 2, 3, 4]),))
>>> fast.fold(columns, 1, 3)
5
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sash.aggregation.interpreted import lifting
from sash.aggregation.kernels.aggregators import (
    amta,
    daba,
    fiba,
    fiba_window,
    subtract_on_evict,
    two_stacks,
)
from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.function_source import remember
from sash.aggregation.kernels.compiler.numba_compilation import Kernel, Mode
from sash.aggregation.kernels.compiler.shape import shape_of
from sash.aggregation.kernels.compiler.specialise import MonoidSource, ValuesSource
from sash.aggregation.kernels.compiler.template_words import Columns, Element
from sash.aggregation.kernels.folds import elementwise, group_fold, keyed_panes, range_fold
from sash.aggregation.kernels.folds.lowering import (
    Lowered,
    kind_of_result,
    lower_compiled,
    lower_interpreted,
)
from sash.aggregation.monoid import Kind, Monoid
from sash.arrays import Array, Mask, read_only
from sash.errors import ArgumentError, IntegerOverflow, SashWarning, Unsupported

TEMPLATES: dict[str, Callable[..., Any]] = {
    template.__name__: template
    for template in (
        elementwise.lift_all,
        elementwise.fold,
        elementwise.recalculate,
        elementwise.lower_one,
        elementwise.lower_all,
        two_stacks.two_stacks,
        two_stacks.two_stacks_insert,
        two_stacks.two_stacks_evict,
        two_stacks.two_stacks_query,
        daba.daba,
        daba.daba_insert,
        daba.daba_evict,
        daba.daba_query,
        amta.amta,
        amta.amta_insert,
        amta.amta_evict,
        amta.amta_query,
        amta.log_mta,
        amta.log_mta_insert,
        amta.log_mta_evict,
        amta.log_mta_query,
        fiba.fiba,
        fiba_window.fiba_clear,
        fiba_window.fiba_insert,
        fiba_window.fiba_evict,
        fiba_window.fiba_query,
        subtract_on_evict.subtract_on_evict,
        subtract_on_evict.subtract_on_evict_insert,
        subtract_on_evict.subtract_on_evict_evict,
        subtract_on_evict.subtract_on_evict_query,
        range_fold.range_folds,
        keyed_panes.keyed_panes,
        group_fold.group_folds,
    )
}


class Compiled:
    """A monoid bound to the column types of its elements. Pickles as the monoid, with its source text."""

    def __init__(self, monoid: Monoid, kinds: tuple[Kind, ...] | None) -> None:
        self.monoid, self.kinds = remember(monoid), kinds
        self.shape = shape_of(monoid, kinds)
        self.source = MonoidSource(monoid, self.shape)
        """What the words of templates mean for it."""
        self._kernels: dict[str, Kernel] = {}
        self._warned = False
        self._interpreted = numba_compilation.jit_disabled()
        if not self._interpreted:
            self._try_to_compile()
        self.one_pass = not self._interpreted
        """Whether machine code may lift, fold and lower in one pass."""

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """One per field of an element."""
        return self.shape.dtypes

    @property
    def mode(self) -> Mode:
        """How combines run: machine code kept on disk, machine code of this process, or interpreted."""
        return self.kernel("fold").mode

    @property
    def result_kind(self) -> Kind | None:
        """What machine code lowers to, null apart; None where it is no scalar, or no machine code."""
        if self.mode == "interpreted" or self.kernel("lower_one").mode == "interpreted":
            return None
        try:
            return kind_of_result(self.kernel("lower_one"), self.columns(self.empty(1)))
        except numba_compilation.NumbaError:
            return None

    def kernel(self, name: str) -> Kernel:
        """The kernel template of that name for this monoid; its docstring has what it expects."""
        if name not in self._kernels:
            if name not in TEMPLATES:
                raise ArgumentError("name", name, f"one of {sorted(TEMPLATES)}")
            self._kernels[name] = self._built(name)
        return self._kernels[name]

    def values_kernel(self, *, masked: bool) -> Kernel:
        """`range_folds` from input columns (with a mask) to results; NumbaError where one of them is not
        machine code's."""
        name = f"range_folds, {masked}"
        if name not in self._kernels:
            source = ValuesSource(self.monoid, self.shape, masked=masked)
            self._kernels[name] = numba_compilation.build(TEMPLATES["range_folds"], source)
        return self._kernels[name]

    def empty(self, n: int) -> Columns:
        return self.shape.empty(n)

    def columns(self, columns: Sequence[Array]) -> Columns:
        """`columns` as kernels want them: one per field, contiguous, of the element's types, read-only.

        All inputs become read-only views, because Numba compiles a second version for writable ones.
        """
        if len(columns) != len(self.dtypes):
            raise ArgumentError(
                "columns", f"{len(columns)} columns", f"one per field of {self.monoid.name}"
            )
        pairs = zip(columns, self.dtypes, strict=True)
        ready = tuple(_prepared("columns", column, dtype) for column, dtype in pairs)
        if len({len(column) for column in ready}) > 1:
            raise ArgumentError("columns", [len(column) for column in ready], "all of the same length")
        return ready

    def lift(self, inputs: Sequence[Array], *, valid: Mask | None = None, n: int | None = None) -> Columns:
        """The elements of n events; where `valid` is False an input was null, and the element is identity.

        n is only needed by a monoid without input columns (a count of all events).
        """
        if n is None and not inputs:
            raise ArgumentError("n", None, "the number of events, because there are no input columns")
        count = len(inputs[0]) if inputs else n or 0
        *ready, masks = self.inputs(inputs, np.empty(0, np.bool_) if valid is None else valid, count)
        out = self.empty(count)
        with lifting(self.monoid):
            self.kernel("lift_all")(tuple(ready), masks, out)
        return out

    def inputs(self, inputs: Sequence[Array], valid: Mask | None, n: int) -> Columns:
        """The input columns of n events as kernels want them, and the mask, if there is one, after them;
        an empty one means: no nulls."""
        if len(inputs) != len(self.monoid.columns):
            expected = f"one column for each of {self.monoid.columns}"
            raise ArgumentError("inputs", f"{len(inputs)} columns", expected)
        ready = [_input(name, a) for name, a in zip(self.monoid.columns, inputs, strict=True)]
        mask = [] if valid is None else [_prepared("valid", valid, np.dtype(np.bool_))]
        if any(len(a) != n for a in ready) or any(len(a) not in (0, n) for a in mask):
            raise ArgumentError("inputs", [len(a) for a in (*ready, *mask)], f"all {n} long")
        return (*ready, *mask)

    def fold(self, columns: Sequence[Array], lo: int, hi: int) -> Element:
        """columns[lo] ⊕ … ⊕ columns[hi − 1] as one element; the identity when lo = hi."""
        ready = self.columns(columns)
        if not 0 <= lo <= hi <= len(ready[0]):
            raise ArgumentError("range", f"[{lo}, {hi})", f"inside the {len(ready[0])} elements")
        return self.kernel("fold")(ready, lo, hi)

    def lower(self, columns: Sequence[Array], *, present: Mask | None = None) -> Lowered:
        """The results, and which of them are not null. Where `present` is False there was no element at all
        and the result is the monoid's `nothing`."""
        ready = self.columns(columns)
        if not self._interpreted and self.kernel("lower_one").mode != "interpreted":
            try:
                one, every = self.kernel("lower_one"), self.kernel("lower_all")
                return lower_compiled(one, every, ready, present, self.monoid.nothing)
            except numba_compilation.NumbaError as error:
                self._kernels["lower_one"] = self._give_up("lower", error)("lower_one")
        return lower_interpreted(self.kernel("lower_one"), ready, present, self.monoid.nothing)

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, (self.monoid, self.kinds)

    def _built(self, name: str) -> Kernel:
        if self._interpreted:
            return numba_compilation.interpreted(TEMPLATES[name], self.source)
        kernel = numba_compilation.build(TEMPLATES[name], self.source)
        what = "lift" if name == "lift_all" else "combine"
        what = "inverse" if name.startswith("subtract_on_evict") else what
        kernel.fallback = lambda error: self._give_up(what, error)(name)
        return kernel

    def _try_to_compile(self) -> None:
        if self.shape.has_objects:
            self.warn("identity", f"elements hold {self.shape.fields}, not only bool, int and float")
            self._interpreted = True
            return
        try:
            self.kernel("fold").function(self.columns(self.empty(0)), 0, 0)
        except (
            Exception
        ) as error:  # nothing of the user's runs on no elements: whatever it is, Numba raised it
            self.warn("combine", numba_compilation.short_reason(error))
            self._interpreted = True
            self._kernels.clear()

    def _give_up(self, what: str, error: BaseException) -> Callable[[str], Kernel]:
        self.warn(what, numba_compilation.short_reason(error))
        return lambda name: numba_compilation.interpreted(TEMPLATES[name], self.source, why=str(error))

    def warn(self, what: str, reason: str) -> None:
        """Once, that a function of the monoid cannot be compiled."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                SashWarning(
                    f"monoid {self.monoid.name!r}: {what} cannot be compiled and is interpreted, with the "
                    f"same results but more slowly: {reason}"
                ),
                stacklevel=2,
            )


def compiled(monoid: Monoid, *, kinds: tuple[Kind, ...] | None = None) -> Compiled:
    """The fast form of a columnar monoid, made once per process.

    `kinds` are those of the input columns; without them the monoid must already be bound, and the types of
    its elements are those of its identity.
    """
    bound = monoid.bind(kinds) if kinds is not None else monoid
    if not bound.columnar:
        raise Unsupported(
            "monoid", monoid.name, "one with scalars or flat tuples as elements; objects are interpreted"
        )
    return _compiled(bound, kinds)


@lru_cache(maxsize=512)
def _compiled(monoid: Monoid, kinds: tuple[Kind, ...] | None) -> Compiled:
    """Those that are forgotten free what is around their machine code; that stays: see `module_cache`."""
    return Compiled(monoid, kinds)


def _prepared(name: str, array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype != dtype:
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise ArgumentError(name, f"an array of {array.dtype}", f"an array of {dtype}")
        array = array.astype(dtype)
    if array.ndim != 1:
        raise ArgumentError(name, f"{array.ndim} dimensions", "one-dimensional")
    return read_only(array)


def _input(name: str, array: Array) -> Array:
    """An input column as bool, int64 or float64, which are the types that lift is compiled for."""
    array = np.asarray(array)
    match array.dtype.kind:
        case "b":
            return _prepared(name, array, np.dtype(np.bool_))
        case "u" if array.dtype.itemsize == 8:
            if len(array) and array.max() >= 2**63:
                raise IntegerOverflow(
                    f"column {name} holds {array.max()}, which does not fit in a signed int"
                )
            return _prepared(name, array.astype(np.int64), np.dtype(np.int64))
        case "i" | "u":
            return _prepared(name, array, np.dtype(np.int64))
        case "f":
            return _prepared(name, array, np.dtype(np.float64))
        case "O":
            return _prepared(name, array, np.dtype(object))
        case _:
            raise ArgumentError(name, f"an array of {array.dtype}", "of bools, ints or floats")
