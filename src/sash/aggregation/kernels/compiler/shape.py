"""The shape of a monoid's elements: which numpy columns hold them.

    a scalar           one column            0.0          -> (float64,)
    a flat tuple       one column per field  (0, -inf)    -> (int64, float64)

The type of a field is the widest among what identity, lift and combine give for sample inputs, in the
order bool < int < float. Anything else (None, text, integers beyond 64 bits) is kept as objects, and such
elements are interpreted.

>>> from sash.aggregation.monoid import Monoid
>>> mean = Monoid("mean", ("x",), lambda: (0, 0), lambda x: (x, 1),
...               lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[0] / s[1])
>>> shape_of(mean, ("float",)).fields
('float', 'int')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregation.interpreted import require_one_length
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Kind, Monoid

DTYPES: dict[Kind, npt.DTypeLike] = {
    "bool": np.bool_,
    "int": np.int64,
    "float": np.float64,
    "object": object,
}
SAMPLES: dict[Kind, tuple[Any, ...]] = {"bool": (True, False), "int": (1, 2), "float": (1.5, 0.25)}
_WIDTH: dict[Kind, int] = {"bool": 0, "int": 1, "float": 2, "object": 3}


@dataclass(frozen=True)
class Shape:
    """One kind per field, and whether the element is the bare scalar of its only field."""

    fields: tuple[Kind, ...]
    scalar: bool
    identity: tuple[Any, ...]

    @cached_property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return tuple(np.dtype(DTYPES[kind]) for kind in self.fields)

    @property
    def has_objects(self) -> bool:
        return "object" in self.fields

    def takes(self, element: Any) -> bool:
        """Whether an element fits, and no field of it must be narrowed."""
        if self.scalar is isinstance(element, tuple):
            return False
        fields = (element,) if self.scalar else element
        return len(fields) == len(self.fields) and all(
            _WIDTH[kind_of_value(value)] <= _WIDTH[kind]
            for value, kind in zip(fields, self.fields, strict=True)
        )

    def empty(self, n: int) -> Columns:
        """Columns for n elements, not initialised."""
        return tuple(np.empty(n, dtype) for dtype in self.dtypes)


def kind_of_value(value: Any) -> Kind:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int" if -(2**63) <= value < 2**63 else "object"
    if isinstance(value, float | np.floating):
        return "float"
    return "object"


def shape_of(monoid: Monoid, kinds: tuple[Kind, ...] | None) -> Shape:
    """The shape of the elements over input columns of these kinds (None: from identity alone)."""
    first = monoid.identity()
    lifted = _lifted(monoid, kinds or ())
    combined = [
        one for pair in product([first, *lifted], repeat=2) for one in _answer(monoid.combine, *pair)
    ]
    elements = [first, *lifted, *combined]
    rows = [element if isinstance(element, tuple) else (element,) for element in elements]
    identity = rows[0]
    if monoid.columnar and isinstance(first, tuple):
        # Without kinds nothing was lifted yet; numbers of some kind show how many fields `lift` returns.
        number: Kind = "float"
        tried = lifted or _lifted(monoid, (number,) * len(monoid.columns))
        for function, returned in (("lift", tried), ("combine", combined)):
            require_one_length(monoid, function, (row for row in returned if isinstance(row, tuple)))
    if any(len(row) != len(identity) for row in rows):
        return Shape(("object",), True, (first,))
    fields = tuple(
        _widest([kind_of_value(value) for value in column]) for column in zip(*rows, strict=True)
    )
    return Shape(fields, not isinstance(first, tuple), identity)


def _lifted(monoid: Monoid, kinds: tuple[Kind, ...]) -> list[Any]:
    if len(kinds) != len(monoid.columns) or "object" in kinds:
        return []
    inputs = zip(*(SAMPLES[kind] for kind in kinds), strict=True) if kinds else [()]
    return [element for values in inputs for element in _answer(monoid.lift, *values)]


def _answer(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    # The arguments are made up; from a function that refuses them nothing is learnt, and that is all.
    try:
        return [function(*arguments)]
    except Exception:
        return []


def _widest(kinds: list[Kind]) -> Kind:
    return max(kinds, key=_WIDTH.__getitem__)
