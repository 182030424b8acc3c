"""A store in this process's memory: the default, and the yardstick for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregation.stores.epoch_store import FRESH, Committed, Delta, EpochStore
from sash.errors import StoreError


class Memory(EpochStore):
    """Two dictionaries: the state, and what the last commit replaced in it.

    >>> store = Memory()
    >>> store.put_many({b"k": b"1"})
    >>> store.commit(0)
    >>> store.put_many({b"k": b"2"})
    >>> store.commit(1)
    >>> store.rollback(0)
    >>> store.get_many([b"k"])
    [b'1']
    """

    def __init__(self) -> None:
        super().__init__()
        self._state: dict[bytes, bytes] = {}
        self._replaced: dict[bytes, bytes | None] = {}
        self._known = FRESH
        self._fence = 0

    def _put_up(self, token: int | None) -> int:
        token = self._fence + 1 if token is None else token
        self._require_inside(self._fence, token)
        self._fence = token
        return token

    def _committed(self) -> Committed:
        return self._known

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._state.get(key) for key in keys]

    def _base_keys(self, prefix: bytes) -> list[bytes]:
        return [key for key in self._state if key.startswith(prefix)]

    def _surely_absent(self, key: bytes) -> bool:
        return key not in self._state

    def _write(self, epoch: int, delta: Delta) -> None:
        # Nothing here can fail half-way, so no reader of this process sees a mixture.
        self._replaced = {key: self._state.get(key) for key in delta}
        self._put(delta)
        self._known = Committed(epoch, epoch - 1)

    def _revert(self, epoch: int) -> None:
        self._put(self._replaced)
        self._replaced = {}
        self._known = Committed(epoch - 1, epoch - 1)

    def _put(self, delta: Delta) -> None:
        for key, value in delta.items():
            if value is None:
                self._state.pop(key, None)
            else:
                self._state[key] = value

    def _release(self) -> None:
        self._state, self._replaced = {}, {}

    def _reopen(self) -> tuple[Any, ...]:
        raise StoreError(
            "a Memory store lives in one process; an LMDB or Redis store can be sent to another"
        )
