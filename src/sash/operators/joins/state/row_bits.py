"""Which rows of many, as text for a header."""

from __future__ import annotations

from base64 import b64decode, b64encode
from zlib import compress, decompressobj

import numpy as np

from sash.arrays import Array, Ints, Mask
from sash.errors import CorruptValue


def to_text(chosen: Mask) -> str:
    """Bits, compressed: most rows in a run are of one kind.

    >>> from_text(to_text(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    return b64encode(compress(np.packbits(chosen).tobytes(), 1)).decode()


def from_text(text: str, count: int) -> Mask:
    """What was written, of so many rows."""
    return np.unpackbits(_bits(text, count), count=count).astype(np.bool_)


def chosen_at(text: str, count: int, places: Ints) -> Mask:
    """Whether the rows at these places were chosen, of so many: the rows between them take no memory.

    >>> chosen_at(to_text(np.array([True, False, True])), 3, np.array([2, 1])).tolist()
    [True, False]
    """
    chosen: Mask = (_bits(text, count)[places >> 3] >> (7 - (places & 7)) & 1).astype(np.bool_)
    return chosen


def _bits(text: str, count: int) -> Array:
    """Eight rows in a byte. A count that is not that of the text allocates nothing, and so does a text that
    holds more than the count."""
    size = -(-count // 8)
    packed = decompressobj()
    # One byte more than there should be, since 0 would be any number of them.
    bits = packed.decompress(b64decode(text), size + 1)
    if len(bits) != size or not packed.eof:
        raise CorruptValue(f"a set of rows does not hold the {count} that it announces")
    return np.frombuffer(bits, np.uint8)
