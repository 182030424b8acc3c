"""One open LMDB environment per process and file: shared by all handles, safe across fork, growing.

LMDB forbids to open a file twice in one process, to use it after a fork, and to resize its map while the
process has a transaction open. This module keeps those three rules so that `lmdb.py` need not know them.
A folder that was deleted and made again has another file: handles of the deleted one keep what they see.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import lmdb

from sash.aggregation.stores.lmdb_damage import DATA, complete, damage_words
from sash.disk_space import REASONS, allocate, free_bytes, no_space, room_for
from sash.errors import ArgumentError, StoreError

Result = TypeVar("Result")

DATABASES = (b"live", b"undo", b"dead", b"meta")

Key: TypeAlias = tuple[int, str, tuple[int, int] | None]
"""The process, the path, and the device and inode of the file there."""

_open: dict[Key, Environment] = {}
_registry = threading.Lock()
_inherited: list[Environment] = []
"""What a forked child got from its parent and may not even close, so that it must stay referenced."""

READERS = 1024
"""Transactions that read at the same time, on the whole machine."""
LOCK_SIZE = 192 + (READERS - 1) * 64
"""Bytes of the file with their slots, as LMDB has them; a larger one would be a table of more."""

FORK_PATIENCE = 1.0
"""Seconds for which a fork waits for transactions of other threads to end."""


class Environment:
    """The LMDB file of one path, with its databases, as this process has it open."""

    def __init__(self, path: str, *, map_size: int, durable: bool) -> None:
        self.path, self.durable, self.handles = path, durable, 0
        self._quiet = threading.Condition(threading.RLock())
        self._readers: dict[int, int] = {}
        opened = None
        try:
            with room_for("the lock of an LMDB store", path):
                _reserve_lock(Path(path))
            opened = self._lmdb = _opened(Path(path), map_size=map_size, durable=durable)
            complete(opened, Path(path))
            self.live, self.undo, self.dead, self.meta = (self._lmdb.open_db(name) for name in DATABASES)
        except (lmdb.Error, OSError, StoreError) as error:
            if opened is not None:
                opened.close()  # a process can have it open only once
            if isinstance(error, StoreError):
                raise
            hint = " (this process was forked inside `with store.reading()`)" if _inherited else ""
            raise self._failed(error, f"cannot be opened: {error}{hint}") from error
        self.key = _key(path)  # now that there is a file

    @property
    def max_key_size(self) -> int:
        return int(self._lmdb.max_key_size())

    @property
    def map_size(self) -> int:
        return int(self._lmdb.info()["map_size"])

    @property
    def is_replaced(self) -> bool:
        """Whether the path has another file by now, or none."""
        return _key(self.path) != self.key

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A transaction that sees one committed state; views that it gives out are valid until it ends."""
        me = threading.get_ident()
        with self._quiet:
            try:
                transaction = self._begin(write=False)
            except lmdb.Error as error:
                raise self._failed(error, f"cannot be read: {error}") from error
            self._readers[me] = self._readers.get(me, 0) + 1
        try:
            yield transaction
        except lmdb.Error as error:
            raise self._failed(error, f"cannot be read: {error}") from error
        finally:
            with self._quiet:
                transaction.abort()
                self._readers[me] -= 1
                if not self._readers[me]:
                    del self._readers[me]
                self._quiet.notify_all()

    def write(self, work: Callable[[Any], Result]) -> Result:
        """`work` in one transaction, all of it or nothing; again in a larger map when it did not fit."""
        with self._quiet:
            # A reader that was killed holds its version: without this, no page would be used again.
            self._lmdb.reader_check()
            while True:
                transaction = self._begin(write=True)
                try:
                    result = work(transaction)
                    transaction.commit()
                except lmdb.MapFullError:
                    transaction.abort()
                    self._resize(2 * self.map_size)
                except lmdb.Error as error:
                    transaction.abort()
                    raise self._failed(error, f"was not written: {error}") from error
                except BaseException:
                    transaction.abort()
                    raise
                else:
                    return result

    def _failed(self, error: Exception, words: str) -> StoreError:
        reason = next((each for each in REASONS if each in str(error)), "")
        # LMDB calls it an input/output error when the disk took a part of what it wrote.
        free = free_bytes(self.path)
        if reason or (os.strerror(errno.EIO) in str(error) and free is not None and free < mmap.PAGESIZE):
            return no_space("the pages of an LMDB store", self.path, reason or os.strerror(errno.ENOSPC))
        return StoreError(f"the LMDB store at {self.path} {words}{damage_words(error)}")

    def close(self) -> None:
        self._lmdb.close()

    @property
    def busy(self) -> bool:
        return bool(self._readers)

    def hold_still(self) -> None:
        """Let no other thread begin a transaction until `go_on`, and wait for those that have begun."""
        self._quiet.acquire()
        me = {threading.get_ident()}
        self._quiet.wait_for(lambda: not self._readers.keys() - me, timeout=FORK_PATIENCE)

    def go_on(self) -> None:
        self._quiet.release()

    def _begin(self, *, write: bool) -> Any:
        while True:
            try:
                return self._lmdb.begin(write=write, buffers=True)
            except lmdb.MapResizedError:
                # Another process made the map larger; 0 means: as large as it is now.
                self._resize(0)

    def _resize(self, size: int) -> None:
        if threading.get_ident() in self._readers:
            raise StoreError(
                f"the LMDB map at {self.path} must grow, which it cannot do inside `with store.reading()`; "
                "leave that block before committing, or open the store with a larger map_size"
            )
        while self._readers:
            self._quiet.wait()
        self._lmdb.set_mapsize(size)


def _opened(folder: Path, *, map_size: int, durable: bool) -> Any:
    def lmdb_of_folder() -> Any:
        return lmdb.open(
            str(folder),
            map_size=map_size,
            max_dbs=len(DATABASES),
            max_readers=READERS,
            sync=durable,
            # Chunks are read where the head is, not in file order: read-ahead would only fill memory.
            readahead=False,
        )

    try:
        return lmdb_of_folder()
    except lmdb.InvalidError:
        data = folder / DATA
        if data.stat().st_size >= 2 * mmap.PAGESIZE:
            raise
        # The disk became full, or the process was killed, while the two first pages were written.
        os.truncate(data, 0)
        return lmdb_of_folder()


def _reserve_lock(folder: Path) -> None:
    """Blocks for the file that LMDB maps to know its readers. It leaves holes there, and a process that
    fills one on a full disk would end by SIGBUS. Others may be using the file: nothing is written to it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock.mdb", os.O_RDWR | os.O_CREAT, 0o755)
    try:
        if os.fstat(descriptor).st_blocks * 512 < LOCK_SIZE:
            allocate(descriptor, 0, LOCK_SIZE)
    finally:
        os.close(descriptor)


def acquire(path: str, *, map_size: int, durable: bool) -> Environment:
    """The process's environment of `path`, opened when this is its first handle."""
    resolved = str(Path(path).resolve())
    with _registry:
        environment = _open.get(_key(resolved))
        if environment is None:
            environment = Environment(resolved, map_size=map_size, durable=durable)
            _open[environment.key] = environment
        elif environment.durable != durable:
            raise ArgumentError(
                "durable", durable, f"{environment.durable}, as in the handle that has {path} open already"
            )
        environment.handles += 1
        return environment


def release(environment: Environment) -> None:
    """Give back what `acquire` gave; the last handle closes the file."""
    with _registry:
        environment.handles -= 1
        if not environment.handles:
            _open.pop(environment.key, None)
            environment.close()


def _key(path: str) -> Key:
    try:
        file = (Path(path) / DATA).stat()
    except OSError:
        return os.getpid(), path, None
    return os.getpid(), path, (file.st_dev, file.st_ino)


def _before_fork() -> None:
    _registry.acquire()
    for environment in _open.values():
        environment.hold_still()


def _after_fork_in_parent() -> None:
    for environment in _open.values():
        environment.go_on()
    _registry.release()


def _after_fork_in_child() -> None:
    global _registry
    _registry = threading.Lock()
    for environment in _open.values():
        # Closing would end the parent's transactions too: their slots are in memory that both share.
        if environment.busy:
            _inherited.append(environment)
        else:
            environment.close()
    _open.clear()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
