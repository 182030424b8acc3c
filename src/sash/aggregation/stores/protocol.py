"""A store keeps what an operator need not have in memory, and moves from epoch to epoch as a whole.

    state(e) = base(e−1) + delta(e)

Writes go to delta(e), where only this handle sees them. `commit(e)` makes them the state, all or none.
`rollback(e−1)` takes delta(e) away again, whether it is committed or not. So an epoch is executed, and
executed again after a failure, in the same way:

    store.rollback(e - 1)
    ...  get_many, put_many, delete_many  ...
    store.commit(e)

A store remembers two states, the committed one and the one before it; older ones are gone. An empty
store is at epoch −1, so that Spark's batch numbers, which start from 0, are epochs as they are.

A new store is an `EpochStore` (`epoch_store.py`) in a module of its own, opened by name in
`runtimes/spark/epochs/store_of_state.py`; `STORES` in `operators/elastic/declaration.py` has the names,
`sash/stores.py` the public classes, and `sash state` reads it by
`runtimes/spark/inspection/elastic_state.py`. Published features have stores of their own
(`serving/feature_stores.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from sash.errors import ArgumentError

NOTHING_COMMITTED = -1
"""The epoch of an empty store."""

_NAMESPACE = re.compile(r"[A-Za-z0-9_.\-]{1,100}")

Payload = bytes | bytearray | memoryview


class Store(Protocol):
    """One namespace of a key-value store. It has one writer at a time, and any number of readers."""

    @property
    def epoch(self) -> int:
        """The last committed epoch, as this handle knows it."""
        ...

    @property
    def pending(self) -> int:
        """How many keys the delta touches."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values under `keys`, in their order; the delta hides the base; None where there is none."""
        ...

    def put_many(self, items: Mapping[bytes, Payload]) -> None: ...

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Keys that are not there are no error: an epoch may be executed twice."""
        ...

    def keys(self, *, prefix: bytes = b"") -> Iterator[bytes]:
        """All keys that begin with `prefix`, sorted, the delta taken into account."""
        ...

    def fence(self, token: int | None = None) -> int:
        """From now on the store takes no change from a handle whose token is less; EpochError if this one
        is. Without a token, one more than the greatest so far. Returns the token."""
        ...

    def commit(self, epoch: int) -> None: ...

    def rollback(self, epoch: int) -> None: ...

    def close(self) -> None:
        """Let go of files and connections. What was not committed is gone."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def check_namespace(namespace: str) -> None:
    """Namespaces become parts of keys and patterns, so they are plain words."""
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise ArgumentError("namespace", namespace, "1 to 100 letters, digits, '_', '-' or '.'")
