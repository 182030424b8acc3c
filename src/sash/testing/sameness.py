"""When two values count as the same in a test.

    x ~ y   iff   |x − y| ≤ max(absolute, relative · max(|x|, |y|, scale))      for floats; NaN ~ NaN, ∞ ~ ∞

and part by part for tuples, lists, sets and mappings; anything else is compared with ==. A scale is the
largest magnitude around, per part of a tuple: what is left after a cancellation is only as exact as what
was cancelled.

>>> same((1.0, float("nan")), (1.0 + 1e-12, float("nan")))
True
>>> same(0.0, 1e-10), same(0.0, 1e-10, scale=scale_of(1.0))
(False, True)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

Scale = float | tuple["Scale", ...]
_FLOAT = (float, np.floating)
_NUMBER = (int, float, np.integer, np.floating)


def same(x: Any, y: Any, *, scale: Scale = 0.0, relative: float = 1e-9, absolute: float = 1e-12) -> bool:
    """Whether x and y are equal up to rounding, at that scale."""
    close = partial(same, relative=relative, absolute=absolute)
    if isinstance(x, _FLOAT) or isinstance(y, _FLOAT):
        if not (isinstance(x, _NUMBER) and isinstance(y, _NUMBER)):
            return False
        if x == y or (x != x and y != y):
            return True
        return bool(abs(x - y) <= max(absolute, relative * max(_finite(x), _finite(y), _largest(scale))))
    if isinstance(x, tuple | list) and type(x) is type(y):
        parts = scale if isinstance(scale, tuple) and len(scale) == len(x) else (_largest(scale),) * len(x)
        return len(x) == len(y) and all(
            close(a, b, scale=part) for a, b, part in zip(x, y, parts, strict=True)
        )
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        return x.keys() == y.keys() and all(close(x[key], y[key], scale=scale) for key in x)
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return x.shape == y.shape and close(x.tolist(), y.tolist(), scale=scale)
    return bool(x == y)


def scale_of(*values: Any) -> Scale:
    """The largest finite magnitude among the values: per part if all are tuples of one length."""
    tuples = [value for value in values if isinstance(value, tuple)]
    if tuples and len(tuples) == len(values) and len({len(value) for value in tuples}) == 1:
        return tuple(scale_of(*parts) for parts in zip(*tuples, strict=True))
    return max((_finite(value) for value in values if isinstance(value, _FLOAT)), default=0.0)


def _finite(x: Any) -> float:
    return abs(float(x)) if math.isfinite(x) else 0.0


def _largest(scale: Scale) -> float:
    return max(map(_largest, scale), default=0.0) if isinstance(scale, tuple) else scale
