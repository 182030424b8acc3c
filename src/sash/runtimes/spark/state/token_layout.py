"""The layout number of a bucket's token, wherever it is kept.

    token    "sash-token" · layout · the rest, in this layout

The first tokens had no number: they began with a fingerprint or with a random name, which do not begin
with these letters.
"""

from __future__ import annotations

import struct

from sash.aggregation.stores.protocol import Payload
from sash.aggregation.stores.values import require_layout

_HEAD = struct.Struct("<12sI")
_MAGIC = b"sash-token".ljust(12, b"\0")
LAYOUT = 1


def with_layout(rest: bytes, layout: int = LAYOUT) -> bytes:
    """
    >>> bytes(without_layout(with_layout(b"rest"))), bytes(without_layout(b"of the first tokens"))
    (b'rest', b'of the first tokens')
    """
    return _HEAD.pack(_MAGIC, layout) + rest


def without_layout(token: Payload) -> memoryview:
    """The rest; StoreError for a token of another layout."""
    view = memoryview(token)
    if view[: len(_MAGIC)] != _MAGIC:
        return view
    require_layout("the token of a bucket", _HEAD.unpack_from(view)[1], LAYOUT)
    return view[_HEAD.size :]
