"""A growable 2-D array, in memory or in a mapped file.

A full disk must be an error of the call that grows, never a SIGBUS when a page is first written. So growth
reserves the blocks of the file. A mapping is never resized, because arrays point into it: a larger one is
made next to it, and the old one goes when its last array goes. Both map the same pages of the file; in
memory, an array from before a growth is an old copy.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sash.arrays import Array
from sash.disk_space import reserve_blocks, room_for
from sash.operators.arena.memory_map import mapped

PAGE = 4096
"""Bytes; the smallest table, so that small ones do not grow often."""


class GrowingArray:
    """Rows of one dtype, in memory, or in a file if one is given.

    >>> prices = GrowingArray(2, np.float64)
    >>> prices.reserve(3)
    >>> prices.array.shape[0] >= 3, float(prices.array.sum())
    (True, 0.0)
    """

    array: Array
    """Of shape (capacity, width). `reserve` and `attach` replace it."""

    def __init__(self, width: int, dtype: npt.DTypeLike, *, file: Path | None = None) -> None:
        self.width, self.dtype, self.file = width, np.dtype(dtype), file
        self.row_bytes = width * self.dtype.itemsize
        self._inode = 0
        self.detach()

    @property
    def capacity(self) -> int:
        return len(self.array)

    def reserve(self, rows: int) -> None:
        """At least that many rows: doubles. New rows are zero, and old ones keep their content.

        Raises NoSpace, and stays as it was, if the disk is full.
        """
        capacity = self.capacity
        if rows <= capacity:
            return
        grown = max(rows, 2 * capacity, -(-PAGE // self.row_bytes))
        if self.file is not None:
            self._grow_file(self.file, capacity * self.row_bytes, grown * self.row_bytes)
            self.attach(grown)
            return
        array = np.zeros((grown, self.width), self.dtype)
        array[:capacity] = self.array
        self.array = array

    def _grow_file(self, file: Path, old: int, new: int) -> None:
        # A disk can also be too full for the entry of a new file.
        with room_in_arena(new - old, file.parent):
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                os.ftruncate(descriptor, old)
                try:
                    reserve_blocks(descriptor, old, new)
                except BaseException:
                    os.ftruncate(descriptor, old)
                    raise
            finally:
                os.close(descriptor)

    def fits(self, rows: int) -> bool:
        """Whether the file is there and long enough for so many rows."""
        return self._found(rows) is not None

    def is_mapped(self, rows: int) -> bool:
        """Whether the array is just these rows of the file that now has the name."""
        return self.capacity == rows and (rows == 0 or self._found(rows) == self._inode)

    def _found(self, rows: int) -> int | None:
        if rows == 0 or self.file is None:
            return 0
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_ino if found.st_size >= rows * self.row_bytes else None

    def attach(self, rows: int) -> None:
        """Map so many rows of the file."""
        if rows == 0 or self.file is None:
            self.detach()
            return
        descriptor = os.open(self.file, os.O_RDWR)
        try:
            buffer = mapped(descriptor, rows * self.row_bytes)
            self._inode = os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)
        self.array = np.frombuffer(buffer, self.dtype).reshape(rows, self.width)

    def detach(self) -> None:
        """No rows. The file stays."""
        self.array = np.zeros((0, self.width), self.dtype)


def room_in_arena(size: int, folder: Path) -> AbstractContextManager[None]:
    """A full disk becomes NoSpace."""
    return room_for(
        f"{size:,} more bytes of a window arena", folder,
        instead="set SASH_ARENA_DIR to a folder with more room",
    )  # fmt: skip
