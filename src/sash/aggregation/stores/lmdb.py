"""An embedded store: larger than memory, shared by all processes of a host through one memory map.

A commit is one LMDB transaction, so it happens as a whole or not at all, also when the process is killed.
Four databases, all with keys `namespace · 0 · key`:

    live    the values, sealed                        undo    what the last epoch replaced in live
    dead    keys that the last epoch deleted          meta    epoch, oldest epoch to go back to, fence

A deleted value stays in `live`, hidden by `dead`, until the next epoch is committed: taking an epoch back
then costs no copy of what it deleted. (LMDB: H. Chu, 'MDB: A memory-mapped database and backend for
OpenLDAP', 2011.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

from sash.aggregation.stores import lmdb_environment
from sash.aggregation.stores.epoch_store import FRESH, Committed, Delta, EpochStore, followed_by
from sash.aggregation.stores.lmdb_environment import Environment
from sash.aggregation.stores.protocol import Payload, check_namespace
from sash.aggregation.stores.values import require_layout, seal, unseal
from sash.errors import ArgumentError, CorruptValue

_META = struct.Struct("<qq16s")
_LAYOUT = struct.Struct("<I")
LAYOUT = 1
"""Of the databases. Another one stands behind these numbers; the first has none."""
_ABSENT = b""


class View:
    """A committed state, read in place: its values are views of the map, valid inside `reading()` only."""

    def __init__(self, store: LMDB, transaction: Any) -> None:
        self._store, self._transaction = store, transaction
        self.epoch = store._meta(transaction).epoch

    def get_many(self, keys: Sequence[bytes]) -> list[memoryview | None]:
        return [self._store._find(self._transaction, key) for key in keys]


class LMDB(EpochStore):
    """A namespace of the LMDB environment in the directory `path`, which is made when it is not there.

    `map_size` is where the map begins; it doubles when it is full. `durable=False` leaves writing to the
    disk to the operating system: still atomic when a process dies, but not when the machine does.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        namespace: str = "default",
        map_size: int = 64 << 20,
        durable: bool = True,
    ) -> None:
        super().__init__()
        check_namespace(namespace)
        if isinstance(map_size, bool) or not isinstance(map_size, int) or map_size < 1 << 16:
            raise ArgumentError("map_size", map_size, "a number of bytes, at least 65536")
        # Absolute, because a handle that travels to another process may find another working directory.
        self.path, self.namespace = str(Path(path).resolve()), namespace
        self._options: dict[str, Any] = {"map_size": map_size, "durable": durable}
        self._prefix = namespace.encode() + b"\0"
        self._process = -1
        self._shared: Environment
        try:
            self._epoch = self._committed().epoch
        except BaseException:
            self._release()  # nobody else has this handle, to close it
            raise

    @property
    def map_size(self) -> int:
        return self._environment().map_size

    @property
    def is_replaced(self) -> bool:
        return self._environment().is_replaced

    @contextmanager
    def reading(self) -> Iterator[View]:
        """The newest committed state, without copying; whatever is committed meanwhile is not seen."""
        self._require_open()
        with self._environment().reading() as transaction:
            yield View(self, transaction)

    def _environment(self) -> Environment:
        if self._process != os.getpid():
            self._shared = lmdb_environment.acquire(self.path, **self._options)
            self._process = os.getpid()
        return self._shared

    def _committed(self) -> Committed:
        with self._environment().reading() as transaction:
            return self._meta(transaction)

    def _meta(self, transaction: Any) -> Committed:
        data = transaction.get(self._prefix, db=self._environment().meta)
        return FRESH if data is None else read_meta(self._prefix, data)

    def _fence(self, transaction: Any) -> int:
        data = transaction.get(self._prefix, db=self._environment().meta)
        return 0 if data is None else _fence_in(self._prefix, data)

    def _put_up(self, token: int | None) -> int:
        return self._environment().write(partial(self._put_up_in, token))

    def _put_up_in(self, token: int | None, transaction: Any) -> int:
        fence = self._fence(transaction)
        token = fence + 1 if token is None else token
        self._require_inside(fence, token)
        if token != fence:
            self._set_meta(transaction, self._meta(transaction), token)
        return token

    @classmethod
    def fence_together(cls, stores: Sequence[Self], token: int) -> None:
        """One transaction for all: all of them or none, and the disk is waited for once."""
        cls._require_one_place(stores)

        def put_up(transaction: Any) -> None:
            for store in stores:
                store._put_up_in(token, transaction)

        if stores:
            stores[0]._environment().write(put_up)
        for store in stores:
            store._token = token

    def _find(self, transaction: Any, key: bytes) -> memoryview | None:
        shared, full = self._environment(), self._prefix + key
        data = transaction.get(full, db=shared.live)
        if data is None or transaction.get(full, db=shared.dead) is not None:
            return None
        return unseal(key, data)

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._environment().reading() as transaction:
            self._require_epoch(self._meta(transaction).epoch)
            found = (self._find(transaction, key) for key in keys)
            return [None if value is None else bytes(value) for value in found]

    def _base_keys(self, prefix: bytes) -> list[bytes]:
        shared = self._environment()
        with shared.reading() as transaction:
            self._require_epoch(self._meta(transaction).epoch)
            dead = set(self._scan(transaction, shared.dead, b""))
            return [key for key in self._scan(transaction, shared.live, prefix) if key not in dead]

    def _scan(self, transaction: Any, database: Any, prefix: bytes) -> Iterator[bytes]:
        start = self._prefix + prefix
        with transaction.cursor(db=database) as cursor:
            if cursor.set_range(start):
                for full in cursor.iternext(keys=True, values=False):
                    key = bytes(full)
                    if not key.startswith(start):
                        break
                    yield key[len(self._prefix) :]

    @classmethod
    def commit_together(cls, stores: Sequence[Self], epoch: int) -> None:
        """One transaction for all: all of them or none, and the disk is waited for once."""
        due = [store for store in stores if store._is_due(epoch)]
        cls._require_one_place(due)

        def apply(transaction: Any) -> None:
            for store in due:
                store._apply(epoch, store._delta, transaction)

        if due:
            due[0]._environment().write(apply)
        for store in due:
            store._is_now(epoch)

    @staticmethod
    def _require_one_place(stores: Sequence[LMDB]) -> None:
        if len({store.path for store in stores}) > 1:
            raise ArgumentError("stores", [store.path for store in stores], "namespaces of one environment")

    def _write(self, epoch: int, delta: Delta) -> None:
        self.on_step("before the transaction")
        self._environment().write(partial(self._apply, epoch, delta))
        self.on_step("after the transaction")

    def _apply(self, epoch: int, delta: Delta, transaction: Any) -> None:
        shared = self._environment()
        self._require_inside(self._fence(transaction))
        if not followed_by(self._meta(transaction), epoch):
            return
        self.on_step("transaction begun")
        self._forget_previous(transaction)
        self.on_step("previous epoch forgotten")
        # In key order, because neighbours share pages.
        for key in sorted(delta):
            full, value = self._prefix + key, delta[key]
            if value is None:
                transaction.put(full, b"", db=shared.dead)
            else:
                old = transaction.get(full, db=shared.live)
                transaction.put(full, _ABSENT if old is None else bytes(old), db=shared.undo)
                transaction.put(full, seal(key, value), db=shared.live)
            self.on_step(f"key {key!r} written")
        self._set_meta(transaction, Committed(epoch, epoch - 1))
        self.on_step("epoch written")

    def _forget_previous(self, transaction: Any) -> None:
        shared = self._environment()
        for key in list(self._scan(transaction, shared.undo, b"")):
            transaction.delete(self._prefix + key, db=shared.undo)
        for key in list(self._scan(transaction, shared.dead, b"")):
            transaction.delete(self._prefix + key, db=shared.live)
            transaction.delete(self._prefix + key, db=shared.dead)

    def _revert(self, epoch: int) -> None:
        self._environment().write(partial(self._take_back, epoch))

    def _take_back(self, epoch: int, transaction: Any) -> None:
        shared = self._environment()
        self._require_inside(self._fence(transaction))
        if self._meta(transaction).epoch != epoch:
            return
        for key in list(self._scan(transaction, shared.undo, b"")):
            full = self._prefix + key
            old = bytes(transaction.get(full, db=shared.undo))
            if old == _ABSENT:
                transaction.delete(full, db=shared.live)
            else:
                transaction.put(full, old, db=shared.live)
            transaction.delete(full, db=shared.undo)
        for key in list(self._scan(transaction, shared.dead, b"")):
            transaction.delete(self._prefix + key, db=shared.dead)
        self._set_meta(transaction, Committed(epoch - 1, epoch - 1))

    def _set_meta(self, transaction: Any, committed: Committed, fence: int | None = None) -> None:
        fence = self._fence(transaction) if fence is None else fence
        data = seal(self._prefix, _META.pack(*committed, fence.to_bytes(16, "little")))
        transaction.put(self._prefix, data, db=self._environment().meta)

    def _check_key(self, key: bytes) -> None:
        super()._check_key(key)
        limit = self._environment().max_key_size - len(self._prefix)
        if len(key) > limit:
            raise ArgumentError("key", key, f"at most {limit} bytes in namespace {self.namespace!r}")

    def _release(self) -> None:
        if self._process == os.getpid():
            lmdb_environment.release(self._shared)

    def _reopen(self) -> tuple[Any, ...]:
        return partial(LMDB, namespace=self.namespace, **self._options), (self.path,)


def read_meta(key: bytes, data: Payload) -> Committed:
    """What a namespace keeps of itself, under `key` in the database of epochs."""
    epoch, oldest, _ = _unpacked(key, data)
    return Committed(epoch, oldest)


def _fence_in(key: bytes, data: Payload) -> int:
    return int.from_bytes(_unpacked(key, data)[2], "little")


def _unpacked(key: bytes, data: Payload) -> tuple[int, int, bytes]:
    payload = unseal(key, data)
    numbers, layout = payload[: _META.size], payload[_META.size :]
    if layout.nbytes >= _LAYOUT.size:
        require_layout(f"the LMDB store {bytes(key[:-1])!r}", _LAYOUT.unpack_from(layout)[0], LAYOUT)
    if numbers.nbytes != _META.size or layout.nbytes not in (0, _LAYOUT.size):
        raise CorruptValue(f"the value under key {key!r} is not an epoch")
    return _META.unpack(numbers)
