"""A file as shared memory, without a descriptor that stays open.

Python's mmap keeps one for each map (up to 3.12 always, since a map could be resized). An operator has a
few tables for each of its lanes, and a worker some dozens of operators at hand, so that the limit of open
files would be reached long before that of memory. The system itself needs none once the file is mapped.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
]  # fmt: skip
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


def mapped(descriptor: int, size: int) -> Any:
    """The first bytes of a file, to be read and written: a buffer, unmapped when nobody has it any more."""
    access = mmap.PROT_READ | mmap.PROT_WRITE
    address = _libc.mmap(None, size, access, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    buffer = (ctypes.c_char * size).from_address(address)
    # Not at exit: arrays may outlive the interpreter's last statement, and the system unmaps all then.
    weakref.finalize(buffer, _libc.munmap, address, size).atexit = False
    return buffer
