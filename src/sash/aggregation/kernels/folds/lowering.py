"""From elements to results: values, and which of them are not null.

    result  =  nothing          where the range had no element
               null             where lower answered None
               lower(element)   otherwise

A scalar result is one array, a tuple result a tuple of arrays.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from sash.aggregation.kernels.compiler.numba_compilation import Kernel, NumbaError
from sash.aggregation.kernels.compiler.shape import DTYPES, kind_of_value
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Kind
from sash.arrays import Array, Mask

Lowered: TypeAlias = tuple[Array | Columns, Mask]


def lower_compiled(
    one: Kernel, every: Kernel, columns: Columns, present: Mask | None, nothing: Any
) -> Lowered:
    """Lower by machine code; raises NumbaError when `lower` or its result has no machine type."""
    n = len(columns[0])
    results, several = blank_results(one, columns, n)
    valid = np.ones(n, np.bool_) if present is None else present.copy()
    every.function(columns, results, valid)
    return completed(results, valid, present, nothing, several=several)


def blank_results(one: Kernel, columns: Columns, n: int) -> tuple[Columns, bool]:
    """Columns for n results, and whether a result is a tuple of them; NumbaError as above."""
    answer = _answer(one, columns)
    return tuple(np.zeros(n, dtype) for dtype in _dtypes(answer)), isinstance(answer, types.BaseTuple)


def completed(
    results: Columns, valid: Mask, present: Mask | None, nothing: Any, *, several: bool
) -> Lowered:
    """With `nothing` where there was no element; `valid` is where there is a result."""
    if present is not None and nothing is not None:
        parts = nothing if isinstance(nothing, tuple) else (nothing,)
        for column, part in zip(results, parts, strict=True):
            column[~present] = part
        valid |= ~present
    return (results if several else results[0]), valid


def _answer(one: Kernel, columns: Columns) -> Any:
    answer = one.result_type(columns, 0)
    return answer.type if isinstance(answer, types.Optional) else answer


@cache
def _dtypes(answer: Any) -> list[np.dtype[Any]]:
    fields = list(answer) if isinstance(answer, types.BaseTuple) else [answer]
    if not all(isinstance(field, types.Number | types.Boolean) for field in fields):
        raise NumbaError(f"lower returns {answer}, not numbers or bools")
    return [as_dtype(field) for field in fields]


def kind_of_result(one: Kernel, columns: Columns) -> Kind | None:
    """What machine code lowers to, where that is a number or a bool."""
    kinds: dict[Any, Kind] = {types.boolean: "bool", types.int64: "int", types.float64: "float"}
    return kinds.get(_answer(one, columns))


def lower_interpreted(one: Kernel, columns: Columns, present: Mask | None, nothing: Any) -> Lowered:
    """Lower by Python; columns of one kind of scalar come out typed, as the machine would give them."""
    n = len(columns[0])
    answers = [one(columns, i) if present is None or present[i] else nothing for i in range(n)]
    valid = np.array([answer is not None for answer in answers], np.bool_)
    known = [answer for answer in answers if answer is not None]
    if known and all(isinstance(answer, tuple) and len(answer) == len(known[0]) for answer in known):
        blank = (None,) * len(known[0])
        rows = [blank if answer is None else answer for answer in answers]
        return tuple(_typed(list(column), valid) for column in zip(*rows, strict=True)), valid
    return _typed(answers, valid), valid


def _typed(values: list[Any], valid: Mask) -> Array:
    kinds = {kind_of_value(value) for value, known in zip(values, valid, strict=True) if known}
    numeric = kinds <= {"int", "float"} or kinds == {"bool"}
    if not numeric:
        objects = np.empty(len(values), object)
        for i, value in enumerate(values):
            objects[i] = value
        return objects
    kind = "float" if "float" in kinds or not kinds else kinds.pop()
    return np.array(
        [value if known else 0 for value, known in zip(values, valid, strict=True)], DTYPES[kind]
    )
