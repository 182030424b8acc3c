"""The names under which a store holds what is published.

    query · progress · swept      one value each
    label                         the checkpoint of the stream, for whoever finds what was published
    k key                         the head of a key
    p key number                  another page of a key
    due entries                   time · key, in the order of time: when a key is to be looked at

A key has at most one due entry, at a time that is not after its newest event. It is not moved with every
event, but when it is looked at.
"""

from __future__ import annotations

import struct

DESCRIPTION, PROGRESS, LABEL = b"query", b"progress", b"label"
SWEPT = b"swept"
"""The newest time of the events of keys that were let go."""

_NUMBER = struct.Struct(">Q")
_OFFSET = 2**63


def head_name(key: bytes) -> bytes:
    """The head of a key."""
    return b"k" + key


def page_name(key: bytes, number: int) -> bytes:
    """Another page of a key; names of one page are never used for another."""
    return b"p" + key + _NUMBER.pack(number)


def due_entry(time: int, key: bytes) -> bytes:
    """Entries are in the order of time.

    >>> due_entry(-1, b"a") < due_entry(0, b"") < due_entry(0, b"a")
    True
    """
    return _NUMBER.pack(time + _OFFSET) + key


def time_of(entry: bytes) -> int:
    return int(_NUMBER.unpack_from(entry)[0]) - _OFFSET


def due_key(entry: bytes) -> bytes:
    return entry[_NUMBER.size :]
