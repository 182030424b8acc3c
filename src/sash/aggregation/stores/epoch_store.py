"""The commit rule, once for all stores: which epochs can be committed, rolled back to and read.

    commit(e)     at e−1: delta(e) becomes the state, all or none.   at e: nothing is left to do.
    rollback(e)   at e: delta(e+1) is dropped.   at e+1: delta(e+1) is taken out of the state again.

Everything else is an `EpochError`. A subclass defines how a delta is written and taken back in one atomic
step; the delta itself stays in this process until that step has succeeded, so that a commit that failed
can simply be called again.

A handle that was given up may still be at work, and would commit or take back what others build upon. So
whoever takes over puts up a fence with a greater token, and the store refuses all changes of lesser ones.

Every read is checked against the epoch that this handle is at. When another process has moved the store
on, a read is refused rather than answered from a mixture of two epochs; `rollback(store's epoch)` adopts
the new state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from sash.aggregation.stores.protocol import NOTHING_COMMITTED, Payload
from sash.errors import ArgumentError, EpochError, StoreError

Delta = Mapping[bytes, bytes | None]
"""What an epoch changes: the new value of a key, or None when the key is deleted."""


class Committed(NamedTuple):
    """What a store knows of itself: the state it is in, and the oldest one it can go back to."""

    epoch: int
    oldest: int

    def has(self, epoch: int) -> bool:
        """Whether `rollback(epoch)` finds the end of this epoch."""
        return max(self.oldest, self.epoch - 1) <= epoch <= self.epoch


TOKENS = 1 << 120
"""Tokens are less than this."""
FRESH = Committed(NOTHING_COMMITTED, NOTHING_COMMITTED)


class EpochStore(ABC):
    """The in-process half of a store: the delta, and the rules above."""

    def __init__(self) -> None:
        self._delta: dict[bytes, bytes | None] = {}
        self._epoch = NOTHING_COMMITTED
        self._token = 0
        self._closed = False
        self.on_step: Callable[[str], None] = _no_step
        """Called with a name between any two steps of a change: for traces, and for tests that kill."""

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def committed(self) -> Committed:
        """The epochs that others find now."""
        return self._committed()

    @property
    def is_replaced(self) -> bool:
        """Whether the place of this handle has another store by now, which a new handle would find."""
        return False

    @property
    def pending(self) -> int:
        return len(self._delta)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._require_open()
        delta = self._delta
        below = [key for key in keys if key not in delta]
        base = dict(zip(below, self._read(below), strict=True)) if below else {}
        return [delta[key] if key in delta else base[key] for key in keys]

    def put_many(self, items: Mapping[bytes, Payload]) -> None:
        self._require_open()
        for key in items:
            self._check_key(key)
        for key, value in items.items():
            # `bytes` of bytes is the same object; of anything mutable it is the copy that we need.
            self._delta[key] = bytes(value)

    def delete_many(self, keys: Iterable[bytes]) -> None:
        self._require_open()
        for key in keys:
            self._check_key(key)
            if self._surely_absent(key):
                self._delta.pop(key, None)
            else:
                self._delta[key] = None

    def keys(self, *, prefix: bytes = b"") -> Iterator[bytes]:
        self._require_open()
        base = [key for key in self._base_keys(prefix) if key not in self._delta]
        new = [key for key, value in self._delta.items() if value is not None and key.startswith(prefix)]
        yield from sorted(base + new)

    def fence(self, token: int | None = None) -> int:
        """From now on the store takes no change from a handle whose token is less; EpochError if this one
        is. Without a token, one more than the greatest so far. Returns the token."""
        self._require_open()
        if token is not None and (isinstance(token, bool) or not 0 <= token < TOKENS):
            raise ArgumentError("token", token, "a number from 0 on, of at most 120 bits")
        self._token = self._put_up(token)
        return self._token

    @classmethod
    def fence_together(cls, stores: Sequence[Self], token: int) -> None:
        """`fence(token)` of several namespaces of one place, with one wait for its disk if it has one."""
        for store in stores:
            store.fence(token)

    def commit(self, epoch: int) -> None:
        if self._is_due(epoch):
            self._write(epoch, self._delta)
            self._is_now(epoch)

    @classmethod
    def commit_together(cls, stores: Sequence[Self], epoch: int) -> None:
        """`commit(epoch)` of several namespaces of one place, with one wait for its disk if it has one."""
        for store in stores:
            store.commit(epoch)

    def _is_due(self, epoch: int) -> bool:
        """Whether a commit of `epoch` has something to do; EpochError when it is not its turn."""
        self._require_open()
        _check_epoch(epoch)
        if epoch == self._epoch and not self._delta:
            return False
        if epoch == self._epoch:
            raise EpochError(
                f"epoch {epoch} is committed, and {len(self._delta)} keys were written on top of it; "
                f"commit({epoch + 1}) to keep them, rollback({epoch - 1}) to execute epoch {epoch} again"
            )
        if epoch != self._epoch + 1:
            raise EpochError(
                f"epoch {epoch} does not follow epoch {self._epoch}; commit({self._epoch + 1}) is next"
            )
        return True

    def _is_now(self, epoch: int) -> None:
        self._epoch = epoch
        self._delta = {}

    def label(self, text: bytes) -> None:  # noqa: B027 (most have nothing to do)
        """What this namespace is of, for whoever finds it, also before the first commit. A store that is
        deleted with its query has no use for it."""

    def rollback(self, epoch: int) -> None:
        self._require_open()
        _check_epoch(epoch)
        committed = self._committed()
        if not committed.has(epoch):
            raise EpochError(
                f"cannot roll back to epoch {epoch}: the store is at epoch {committed.epoch} and "
                f"keeps none before {committed.oldest}"
            )
        if epoch < committed.epoch:
            self._revert(committed.epoch)
        self._epoch = epoch
        self._delta = {}

    def replace_after(self, epoch: int) -> None:
        """`rollback(epoch)` for whoever executes the epoch after it once more. A store that can leaves what
        is there until the next commit takes its place: an attempt that is given up changes nothing."""
        self.rollback(epoch)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._delta = {}
            self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A handle travels as its address: the delta must not, it would be committed by two processes.
        if self._delta:
            raise StoreError(
                f"a {type(self).__name__} store with {len(self._delta)} uncommitted keys cannot be sent to "
                "another process; commit or roll back first"
            )
        return self._reopen()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"this {type(self).__name__} store is closed; open a new one")

    def _require_epoch(self, found: int) -> None:
        if found != self._epoch:
            raise EpochError(
                f"epoch {self._epoch} cannot be read any more: the store is at epoch {found}; "
                f"rollback({found}) adopts its state"
            )

    def _check_key(self, key: bytes) -> None:
        if not isinstance(key, bytes) or not key:
            raise ArgumentError("key", key, "non-empty bytes")

    def _surely_absent(self, key: bytes) -> bool:
        # Only a store that knows for free answers True; the others keep a tombstone in the delta.
        return False

    def _require_inside(self, fence: int, token: int | None = None) -> None:
        token = self._token if token is None else token
        if fence > token:
            raise EpochError(
                f"a newer attempt has taken over this store (token {fence}, here {token}): nothing was "
                "changed, and this attempt must end"
            )

    @abstractmethod
    def _put_up(self, token: int | None) -> int:
        """The fence, atomically: see `fence`."""

    @abstractmethod
    def _committed(self) -> Committed: ...

    @abstractmethod
    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Committed values, verified to be of `self._epoch`."""

    @abstractmethod
    def _base_keys(self, prefix: bytes) -> list[bytes]: ...

    @abstractmethod
    def _write(self, epoch: int, delta: Delta) -> None:
        """Make `delta` the state, atomically; do nothing when it is already (the reply was lost), and
        refuse a handle that is outside of the fence."""

    @abstractmethod
    def _revert(self, epoch: int) -> None:
        """Take delta(`epoch`) out of the state, atomically; refuse a handle outside of the fence."""

    @abstractmethod
    def _release(self) -> None: ...

    @abstractmethod
    def _reopen(self) -> tuple[Any, ...]:
        """What `__reduce__` returns: a function and its arguments that open the same store elsewhere."""


def followed_by(committed: Committed, epoch: int) -> bool:
    """Whether delta(`epoch`) is to be written now (True) or has been (False); EpochError for a gap."""
    if committed.epoch == epoch:
        return False
    if committed.epoch != epoch - 1:
        raise EpochError(
            f"epoch {epoch} does not follow epoch {committed.epoch}, which another process has committed; "
            f"rollback({committed.epoch}) adopts its state"
        )
    return True


def _check_epoch(epoch: int) -> None:
    if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < NOTHING_COMMITTED:
        raise ArgumentError("epoch", epoch, f"an integer, {NOTHING_COMMITTED} or more")


def _no_step(name: str) -> None:
    pass
