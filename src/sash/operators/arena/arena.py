"""An arena: named tables, 256 numbers and a few blobs, which change together from one version to the next.

    arena.acquire()           nobody else may change it; what others have changed is seen
    arena.begin()             dirty: whoever finds it now finds nothing
        ...                   tables, numbers and blobs are changed in place
    arena.commit(version)     clean again, at that version
    arena.release()

An arena that was not committed is empty when it is acquired again, in this process or in another.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from sash._version import __version__
from sash.arrays import Bytes, Floats, Ints
from sash.disk_space import write_all
from sash.errors import ArgumentError, StoreError
from sash.operators.arena.growing import GrowingArray, room_in_arena
from sash.operators.arena.head import NUMBERS, SIZE, ArenaHead, this_boot
from sash.operators.arena.locked import WAIT, LockedHead

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


T = TypeVar("T")


class TableSpec(NamedTuple):
    """Values in a row: words of 64 bits (integers, or floats in the same memory), or bytes of a heap."""

    width: int = 1
    dtype: Literal["int64", "uint8"] = "int64"


class Arena:
    """In this process only. `Arena.open` gives one that lies in files.

    >>> arena = Arena.anonymous({"keys": TableSpec(2)})
    >>> arena.begin()
    >>> arena.reserve("keys", 10)
    >>> arena.ints("keys")[3] = 7, 8
    >>> arena.commit(b"0123456789abcdef")
    >>> arena.ints("keys")[3].tolist(), arena.version
    ([7, 8], b'0123456789abcdef')
    """

    numbers: Ints
    """256 numbers of the operator. The same array as long as the arena lives."""
    version: bytes
    """16 bytes that the last commit gave, or b"" for an arena that holds nothing."""
    folder: Path | None
    """Where its files are, if it has any."""

    def __init__(self, tables: Mapping[str, TableSpec], *, folder: Path | None = None) -> None:
        self.folder = folder
        self._tables = {
            checked_name("tables", name): GrowingArray(
                spec.width, spec.dtype, file=folder / f"{name}.table" if folder else None
            )
            for name, spec in tables.items()
        }
        self._blobs: dict[str, int] = {}
        self._contents: dict[str, bytes] = {}
        self._held, self._begun = True, False
        self.numbers, self.version = np.zeros(NUMBERS, np.int64), b""
        self._ints: dict[str, Ints] = {}
        self._floats: dict[str, Floats] = {}
        self._bytes: dict[str, Bytes] = {}
        self._views: dict[str, Any] = {}
        for name in self._tables:
            self._view(name)

    @property
    def is_anonymous(self) -> bool:
        """Whether it lies in the memory of this process only."""
        return self.folder is None

    @property
    def is_outdated(self) -> bool:
        """Whether files that it maps have been removed: to keep it is to keep their blocks on the disk."""
        return False

    @classmethod
    def anonymous(cls, tables: Mapping[str, TableSpec]) -> Arena:
        """Without files."""
        return Arena(tables)

    @classmethod
    def open(
        cls,
        folder: Path,
        tables: Mapping[str, TableSpec],
        *,
        identity: bytes,
        owner: str = "",
        wait: float = WAIT,
    ) -> Arena | None:
        """The arena in that folder, acquired; None if others keep it locked for longer than `wait` seconds.

        It is empty if it is new, of another identity, or damaged in any way.
        """
        arena = FileArena(folder, tables, identity=identity, owner=owner)
        return arena if arena.acquire(wait=wait) else None

    def ints(self, name: str) -> Ints:
        """A table of words, of shape (capacity, width). Get it again after `reserve` and `acquire`."""
        return self._ints[name]

    def floats(self, name: str) -> Floats:
        """The same memory as `ints`, as floats."""
        return self._floats[name]

    def bytes_of(self, name: str) -> Bytes:
        """A table of bytes, flat."""
        return self._bytes[name]

    def views(self, name: str, make: Callable[[], T]) -> T:
        """What is made of the arrays of tables, once as long as they are the same arrays: to slice some
        thirty columns takes longer than to fold a thousand ranges."""
        if name not in self._views:
            self._views[name] = make()
        found: T = self._views[name]
        return found

    def _view(self, name: str) -> None:
        self._views.clear()
        array = self._tables[name].array
        if array.dtype == np.uint8:
            self._bytes[name] = array.reshape(-1)
        else:
            self._ints[name], self._floats[name] = array, array.view(np.float64)

    def reserve(self, name: str, rows: int) -> None:
        """At least that many rows, as `GrowingArray.reserve`. A growth is a change: it begins one."""
        table = self._tables[name]
        if rows > table.capacity:
            self.begin()
            table.reserve(rows)
            self._view(name)

    def put_blob(self, name: str, data: bytes | bytearray | memoryview) -> None:
        """Replace a blob as a whole. It is a change: it begins one."""
        self.begin()
        view = memoryview(data).cast("B")
        self._write_blob(checked_name("name", name), view)
        self._blobs[name] = len(view)

    def get_blob(self, name: str) -> bytes:
        """What was last put, or b"" if nothing was."""
        return self._read_blob(name) if name in self._blobs else b""

    def _write_blob(self, name: str, view: memoryview) -> None:
        self._contents[name] = bytes(view)

    def _read_blob(self, name: str) -> bytes:
        return self._contents[name]

    @property
    def size(self) -> int:
        """Bytes, on disk or in memory."""
        tables = sum(table.array.nbytes for table in self._tables.values())
        return SIZE + tables + sum(self._blobs.values())

    def acquire(self, *, wait: float = WAIT) -> bool:
        """Nobody else may change it until `release`. False if somebody does for `wait` seconds."""
        if self._begun and not self._held:
            self._begun = False
            self.clear()
        self._held = True
        return True

    def release(self) -> None:
        """Others may change it."""
        self._held = False

    def begin(self) -> None:
        """Before the first change. `version` is still the one that is left."""
        self._begun = True

    def commit(self, version: bytes) -> None:
        """What was changed is the state at this version."""
        if len(version) != 16 or not any(version):
            raise ArgumentError("version", version, "16 bytes that are not all zero")
        self.version, self._begun = version, False

    def clear(self) -> None:
        """No rows, no blobs, no version. A change that was begun stays begun."""
        self.version, self._blobs = b"", {}
        self._contents.clear()
        self.numbers[:] = 0
        for name, table in self._tables.items():
            table.detach()
            self._view(name)

    def close(self) -> None:
        """Let go of memory, files and the lock."""
        Arena.clear(self)
        self._begun = False


class FileArena(Arena):
    """In a folder, shared by the processes of a machine."""

    def __init__(
        self, folder: Path, tables: Mapping[str, TableSpec], *, identity: bytes, owner: str = ""
    ) -> None:
        super().__init__(tables, folder=folder)
        self._owner = owner
        self._identity = _identity(identity, tables)
        self._lock = LockedHead(folder)
        self._seen: bytes | None = None
        """The head that the arrays are mapped by."""

    @property
    def is_outdated(self) -> bool:
        return not self._lock.has_the_name() or not self._is_mapped()

    def acquire(self, *, wait: float = WAIT) -> bool:
        """Also finds out what others have changed: get arrays and blobs again."""
        if self._lock.is_held:
            return True
        if not self._lock.lock(wait):
            return False
        try:
            found = self._lock.read()
            if self._begun or found != self._seen or not self._is_mapped():
                self._adopt(ArenaHead.unpack(found), found)
        except BaseException:
            self._lock.close()
            raise
        return True

    def _is_mapped(self) -> bool:
        return self._has_blobs(self._blobs) and all(
            table.is_mapped(table.capacity) for table in self._tables.values()
        )

    def _has_blobs(self, blobs: Mapping[str, int]) -> bool:
        try:
            return all(self._blob(name).stat().st_size == size for name, size in blobs.items())
        except OSError:
            return False

    def _adopt(self, head: ArenaHead | None, found: bytes) -> None:
        self._begun = False
        if (
            head is None
            or not head.is_usable(self._identity)
            or not all(table.fits(head.tables[name]) for name, table in self._tables.items())
            or not self._has_blobs(head.blobs)
        ):
            self.clear()
            return
        self.version, self._blobs = head.version, head.blobs
        self.numbers[:] = np.frombuffer(head.numbers, np.int64)
        for name, table in self._tables.items():
            if not table.is_mapped(head.tables[name]):
                table.attach(head.tables[name])
                self._view(name)
        self._seen = found

    def release(self) -> None:
        self._lock.unlock()

    def begin(self) -> None:
        self._must_be_held()
        if not self._begun:
            self._lock.mark_dirty()
            self._begun = True

    def commit(self, version: bytes) -> None:
        self._must_be_held()
        super().commit(version)
        self._write_head()

    def clear(self) -> None:
        """Files are unlinked, never made shorter: other processes may still have arrays of them."""
        self._must_be_held()
        super().clear()
        self._write_head()
        for file in self._lock.folder.iterdir():
            if file != self._lock.path:
                file.unlink(missing_ok=True)

    def close(self) -> None:
        super().close()
        self._seen = None
        self._lock.close()

    def _write_head(self) -> None:
        tables = {name: table.capacity for name, table in self._tables.items()}
        self._seen = ArenaHead(
            identity=self._identity,
            boot=this_boot(),
            version=self.version,
            numbers=self.numbers.tobytes(),
            tables=tables,
            blobs=self._blobs,
            owner=self._owner,
            dirty=self._begun,
        ).pack()
        self._lock.write(self._seen)

    def _must_be_held(self) -> None:
        if not self._lock.is_held:
            raise StoreError(f"the arena in {self._lock.folder} is changed without being acquired")

    def _blob(self, name: str) -> Path:
        return self._lock.folder / f"{name}.blob"

    def _write_blob(self, name: str, view: memoryview) -> None:
        # In place: the arena is dirty, so nobody reads half a blob; ext4 would flush a replaced file.
        with room_in_arena(len(view), self._lock.folder):
            descriptor = os.open(self._blob(name), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                write_all(descriptor, view, 0)
                os.ftruncate(descriptor, len(view))
            finally:
                os.close(descriptor)

    def _read_blob(self, name: str) -> bytes:
        return self._blob(name).read_bytes()


def _identity(query: bytes, tables: Mapping[str, TableSpec]) -> bytes:
    """Of the query, this version of the library, the byte order and the tables."""
    specs = sorted((name, spec.width, spec.dtype) for name, spec in tables.items())
    text = repr((query, __version__, sys.byteorder, specs))
    return hashlib.blake2b(text.encode(), digest_size=32).digest()


def checked_name(argument: str, name: str) -> str:
    """A name that can be that of a file."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(argument, name, "up to 200 letters, digits, '_', '-' and '.', not '.' at first")
    return name
