"""Which rows of many, as text for a header."""

from __future__ import annotations

from base64 import b64decode, b64encode
from zlib import compress, decompress

import numpy as np

from sash.arrays import Mask


def to_text(chosen: Mask) -> str:
    """Bits, compressed: most rows in a run are of one kind.

    >>> from_text(to_text(np.array([True, False, True])), 3).tolist()
    [True, False, True]
    """
    return b64encode(compress(np.packbits(chosen).tobytes(), 1)).decode()


def from_text(text: str, count: int) -> Mask:
    """What was written, of so many rows."""
    return np.unpackbits(np.frombuffer(decompress(b64decode(text)), np.uint8), count=count).astype(np.bool_)
