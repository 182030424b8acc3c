"""What is not a number is folded by the monoid's own Python functions: kernel templates over objects.

A template gets other meanings of its words (`kernels.compiler.template_words`): an element is one cell of a
column of objects, and the identity is `ABSENT`, which costs no combine.

>>> from sash.aggregation.kernels.folds.elementwise import fold
>>> interpreted(fold, object_words(max))(([3, 5, 4],), 0, 3)
5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isfunction
from pathlib import Path
from traceback import extract_tb
from types import FunctionType
from typing import Any

import numpy as np

from sash.aggregation.elements import ABSENT, Combine, Element, null_aware_combine
from sash.aggregation.monoid import Monoid
from sash.arrays import Array
from sash.errors import ArgumentError, PredicateError, SashError

WordMeanings = dict[str, Callable[..., Any]]


def interpreted(template: Callable[..., Any], words: WordMeanings) -> Callable[..., Any]:
    """The template, and the helpers that it calls, with these meanings of its words."""
    assert isinstance(template, FunctionType)
    scope = template.__globals__ | words
    for name in template.__code__.co_names:
        if name not in words and isfunction(scope.get(name)):
            scope[name] = interpreted(scope[name], words)
    return FunctionType(template.__code__, scope, template.__name__, template.__defaults__)


def object_words(combine: Combine) -> WordMeanings:
    """The words of templates for columns of objects."""

    def store(columns: tuple[Any, ...], i: int, element: Element) -> None:
        columns[0][i] = element

    def load(columns: tuple[Any, ...], i: int) -> Element:
        return columns[0][i]

    return {
        "identity": lambda: ABSENT,
        "combine": null_aware_combine(combine),
        "load": load,
        "peek": load,
        "store": store,
        "push": store,
        "scratch": lambda n: ([ABSENT] * n,),
    }


def object_column(elements: Sequence[Element]) -> Array:
    """Elements as one column."""
    column: Array = np.empty(len(elements), object)
    # One by one: numpy would take a list of lists for a matrix.
    for i, element in enumerate(elements):
        column[i] = element
    return column


def is_scalar(monoid: Monoid) -> bool:
    """Whether an element is the bare value of its only column."""
    return not monoid.columnar or not isinstance(monoid.identity(), tuple)


def shaped(monoid: Monoid) -> Callable[..., Any]:
    """From the fields of an element to the element: a tuple, or the named tuple that identity() gives."""
    make: Callable[..., Any] = getattr(type(monoid.identity()), "_make", tuple)
    return make


@contextmanager
def lifting(monoid: Monoid) -> Iterator[None]:
    """What a user's `lift` raises, with the name of the monoid and the line."""
    try:
        yield
    except SashError:
        raise
    except Exception as error:
        raise PredicateError(
            f"{monoid.name}.lift raised {type(error).__name__}: {error}{_line_in(monoid.lift, error)}"
        ) from error


def _line_in(function: Callable[..., Any], error: Exception) -> str:
    """Which line of a user's function an error came from, where that is known; machine code has no lines,
    so there it is where the function begins."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    file = Path(code.co_filename).name
    for frame in reversed(extract_tb(error.__traceback__)):
        if (frame.filename, frame.name) == (code.co_filename, code.co_name):
            return f" (line {frame.lineno} of {file}{': ' if frame.line else ''}{frame.line})"
    return f" (the function at line {code.co_firstlineno} of {file})"


VARYING = "Elements of varying length need encode(e) → bytes and decode(bytes) → e."
_ONE_LENGTH = f"Combine field by field, as in (a[0] + b[0], a[1] + b[1]). {VARYING}"


def require_one_length(monoid: Monoid, function: str, elements: Iterable[Element]) -> None:
    """Refuse tuples of other lengths than the identity's, which have no columns. `function` of the monoid
    returned them."""
    require_fields(monoid.name, len(monoid.identity()), function, elements)


def require_fields(owner: str, length: int, function: str, elements: Iterable[Element]) -> None:
    """The same for a monoid of that name, whose identity has so many fields."""
    for element in elements:
        if len(element) != length:
            fields = f"{len(element)} field{'s' * (len(element) != 1)}"
            raise ArgumentError(
                f"{owner}.{function}", element, f"a function that returns tuples of {length}",
                message=f"{owner}.{function} returned {fields}, but identity() has {length}",
                hint=VARYING if function == "lift" else _ONE_LENGTH,
            )  # fmt: skip
