"""Reading a store whose query may be running: what is read together is of one committed state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sash.aggregation.stores.epoch_store import EpochStore
from sash.errors import CorruptValue, EpochError, StoreError

T = TypeVar("T")
TRIES = 20


def read_one_state(name: str, opened: Callable[[], EpochStore], read: Callable[[EpochStore], T]) -> T:
    """What `read` returns of one committed state, with a handle that moves nothing. A store forgets a state
    two commits later; whoever reads it then reads the newer one."""
    for _ in range(TRIES):
        with opened() as store:
            try:
                return read(store)
            except EpochError:
                continue
            except CorruptValue:
                if store.committed.epoch == store.epoch:
                    raise
    raise StoreError(
        f"{name} was committed again during each of {TRIES} tries to read it: look again, or stop its query"
    )
