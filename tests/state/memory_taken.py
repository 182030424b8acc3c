"""How much memory reading a few bytes has taken at its highest, also when it was given back."""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

MOST = 64 << 20
"""Bytes of memory that reading a few bytes may take."""


@contextmanager
def little_memory(most: int = MOST) -> Iterator[None]:
    """Python, numpy and Arrow each take at most so many bytes at a time, whatever they take them for.

    Of Arrow two pools are asked: one that begins at zero, and that under it, since record batches that are
    no streams take no other. Its peak is that of the whole process, and tells something when it has risen.
    """
    under = pa.default_memory_pool()
    allocated, before = under.bytes_allocated(), under.max_memory()
    pool = pa.proxy_memory_pool(under)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))  # what it gave may outlive everything here
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(under)
    assert peak < most
    assert pool.max_memory() < most
    assert under.max_memory() == before or under.max_memory() - allocated < most
