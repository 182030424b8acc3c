"""Where rows go when they are grouped by key, and columns that are moved there.

    places[i]  =  begins[codes[i]] + how many rows j < i have codes[j] = codes[i]

Columns are scattered, not gathered: rows are read as they stand, and each key is written from its first row
to its last, so that a line of the cache serves all of its rows. Several threads do so side by side when
each has a block of rows, codes of its own, and where the rows of each of its codes begin.

>>> import numpy as np
>>> codes, places = np.array([1, 0, 1, 1], np.int32), np.empty(4, np.int32)
>>> count(codes, 2).tolist()
[1, 3]
>>> place_rows(codes, np.array([0, 1]), places)
>>> moved = np.empty(4, np.int64)
>>> move(np.array([10, 11, 12, 13]), places, moved)
>>> places.tolist(), moved.tolist()
([1, 0, 2, 3], [11, 10, 12, 13])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.rows.numbering import Codes
from sash.arrays import Array, Ints, read_only

Places = npt.NDArray[np.int32] | Ints


def count(codes: Codes, groups: int) -> Ints:
    """How many rows have each code; codes are trusted, here and below."""
    counts = np.zeros(groups, np.int64)
    kernel_of(count_codes)(read_only(codes), counts)
    return counts


def place_rows(codes: Codes, free: Ints, places: Places) -> None:
    """Fill places; `free` is where the rows of each code begin, and then where they end."""
    kernel_of(fill_places)(read_only(codes), free, places)


def move(values: Array, places: Places, out: Array) -> None:
    """out[places[i]] = values[i], for values of 1, 2, 4 or 8 bytes."""
    bits = np.dtype(f"u{values.dtype.itemsize}")
    kernel_of(scatter)(read_only(values.view(bits)), read_only(places), out.view(bits))


def grows_within(times: Ints, offsets: Ints) -> bool:
    """Whether times never decrease within a group."""
    return bool(kernel_of(never_decreases)(read_only(times), read_only(offsets)))


def count_codes(codes: Codes, counts: Ints) -> None:
    for row in range(len(codes)):
        counts[np.uintp(codes[row])] += 1


def fill_places(codes: Codes, free: Ints, places: Places) -> None:
    for row in range(len(codes)):
        code = np.uintp(codes[row])
        places[row] = free[code]
        free[code] += 1


def scatter(values: Array, places: Places, out: Array) -> None:
    for row in range(len(values)):
        out[np.uintp(places[row])] = values[row]


def never_decreases(times: Ints, offsets: Ints) -> bool:
    for group in range(len(offsets) - 1):
        for at in range(offsets[group] + 1, offsets[group + 1]):
            if times[at] < times[at - 1]:
                return False
    return True
