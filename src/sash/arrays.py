"""The types of numpy arrays that modules pass to each other, and the form in which kernels take them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = Ints | Floats


def read_only(array: Array) -> Array:
    """The same numbers as kernels take them: one type for each dtype, however they came. What is so already
    is returned as it is, so that it is made ready once for several kernels."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and not flags.writeable:
        return array
    if not (flags.c_contiguous and flags.aligned):
        array = np.require(array, requirements=["C", "A"])
    view: Array = array.view()
    view.flags.writeable = False
    return view


def as_words(numbers: Array) -> Ints:
    """Numbers as the 64-bit words that arenas and published records hold: floats by their bits."""
    if numbers.dtype.kind == "f":
        return numbers.astype(np.float64).view(np.int64)
    return numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers.astype(np.int64)
