"""One open LMDB environment per process and path: shared by all handles, safe across fork, growing.

LMDB forbids to open a file twice in one process, to use it after a fork, and to resize its map while the
process has a transaction open. This module keeps those three rules so that `lmdb.py` need not know them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from sash.errors import ArgumentError, StoreError

Result = TypeVar("Result")

DATABASES = (b"live", b"undo", b"dead", b"meta")

_open: dict[tuple[int, str], Environment] = {}
_registry = threading.Lock()
_inherited: list[Environment] = []
"""What a forked child got from its parent and may not even close, so that it must stay referenced."""

FORK_PATIENCE = 1.0
"""Seconds for which a fork waits for transactions of other threads to end."""


class Environment:
    """The LMDB file of one path, with its databases, as this process has it open."""

    def __init__(self, path: str, *, map_size: int, durable: bool) -> None:
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
            self._lmdb = lmdb.open(
                path,
                map_size=map_size,
                max_dbs=len(DATABASES),
                max_readers=1024,
                sync=durable,
                # Chunks are read where the head is, not in file order: read-ahead would only fill memory.
                readahead=False,
            )
        except (lmdb.Error, OSError) as error:
            hint = " (this process was forked inside `with store.reading()`)" if _inherited else ""
            raise StoreError(f"the LMDB store at {path} cannot be opened: {error}{hint}") from error
        self.path, self.durable, self.handles = path, durable, 0
        self._quiet = threading.Condition(threading.RLock())
        self._readers: dict[int, int] = {}
        self.live, self.undo, self.dead, self.meta = (self._lmdb.open_db(name) for name in DATABASES)

    @property
    def max_key_size(self) -> int:
        return int(self._lmdb.max_key_size())

    @property
    def map_size(self) -> int:
        return int(self._lmdb.info()["map_size"])

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A transaction that sees one committed state; views that it gives out are valid until it ends."""
        me = threading.get_ident()
        with self._quiet:
            transaction = self._begin(write=False)
            self._readers[me] = self._readers.get(me, 0) + 1
        try:
            yield transaction
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
                    raise StoreError(f"the LMDB store at {self.path} was not written: {error}") from error
                except BaseException:
                    transaction.abort()
                    raise
                else:
                    return result

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


def acquire(path: str, *, map_size: int, durable: bool) -> Environment:
    """The process's environment of `path`, opened when this is its first handle."""
    key = (os.getpid(), str(Path(path).resolve()))
    with _registry:
        environment = _open.get(key)
        if environment is None:
            environment = _open[key] = Environment(key[1], map_size=map_size, durable=durable)
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
            _open.pop((os.getpid(), environment.path), None)
            environment.close()


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
