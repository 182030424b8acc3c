"""What the driver of a query in epochs remembers from one micro-batch to the next, in a store of its own.

The input of each batch is elsewhere: in the journal of every bucket (`engine/saving/operator_journal.py`).

    newest     how far time has come, as Spark would have it: the greatest τ of all batches so far
    newest i   the same of the i-th further input
    query      the description of the query that the state belongs to
    buckets    which of them have state; the first journals do not have it
    layout     of all these; the first journals do not have it
    shared     the keys whose look-backs several buckets share in the next batch, and whether these buckets
               have state (`operators.look_back_regimes`); most journals do not have it
    checkpoint where its checkpoint is, for whoever finds the state of one that was deleted

Spark has no part in this watermark: it is a number that the batches before have left behind. A batch
that is executed again, after whatever has failed, finds the number that it found at first.

A server may forget keys one by one. So what every batch has written is looked for, here and in the buckets:
without it a query would continue from nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.values import reading, require_layout
from sash.errors import EpochError, StoreError
from sash.operators.engine import Change
from sash.operators.look_back_regimes import Regime
from sash.runtimes.spark.state.checkpoint_compatibility import change_of, refused
from sash.runtimes.spark.state.fingerprint import canonical
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import regimes_as_json, regimes_in

QUERY, NEWEST, CHECKPOINT, BUCKETS = b"query", b"newest", b"checkpoint", b"buckets"
SHARED = b"shared"
LAYOUT_KEY, LAYOUT, WITH_SHARED_KEYS = b"layout", 1, 2
"""The second one while keys are shared: who does not know of that would look for their events elsewhere."""
_BACK = (
    "first run it as it was with .parallel(sash.Auto(hottest=0.001)): what is shared goes back, which "
    "takes the longest look-back in the stream's time"
)
QUERIES = "queries"
"""Of what is under QUERY: several that run together, by name."""


class EpochJournal:
    """The journal while one batch is executed."""

    def __init__(
        self, store: EpochStore, description: Mapping[str, Any], *, epoch: int, inputs: int = 1,
        checkpoint: bytes = b"{}",
    ) -> None:  # fmt: skip
        """Go back to the end of the batch before `epoch`; DifferentQuery if another query was there."""
        if epoch == 0:
            store.label(checkpoint)  # before any bucket has state: this batch may be the last one, too
        self.token = store.fence()
        """Greater than those of all executions of batches before."""
        self._store, self._description, self._epoch = store, description, epoch
        self._checkpoint = checkpoint
        self._keys = [NEWEST, *(NEWEST + b" %d" % number for number in range(1, inputs))]
        try:
            store.rollback(epoch - 1)
        except EpochError as error:
            raise EpochError(
                f"the checkpoint is at micro-batch {epoch} and the state at {store.epoch}: they do "
                f"not belong together ({error}); give the query a checkpoint location of its own"
            ) from error
        kept, layout, begun, shared, *newest = store.get_many(
            [QUERY, LAYOUT_KEY, BUCKETS, SHARED, *self._keys]
        )
        require_journal_layout(layout)
        if epoch > 0 and kept is None:
            raise lost("the journal", epoch - 1)
        self._compare(kept)
        if epoch > 0 and None in newest:
            raise lost("the newest event time", epoch - 1)
        with reading("the journal of epochs"):
            self.newest: list[int] = [0 if time is None else int(time) for time in newest]
            """Of each input; 0 where nothing has come yet."""
            self.begun = frozenset[int]() if begun is None else frozenset(map(int, json.loads(begun)))
            """The buckets that have state."""
            self.shared = SharedKeysKept.of(shared)
            """The keys that are shared in this batch."""

    def _compare(self, kept: bytes | None) -> None:
        if kept is not None:
            _require_alone(kept)
        self.change = None if kept is None else change_of(kept, self._description)
        """What has become of the aggregates since the batch before, if anything."""

    def require_sharing(self, *, shares: bool) -> None:
        """DifferentQuery where keys are shared in this batch, and the query cannot do so."""
        if self.shared.regimes:
            _require_sharing(self.shared.regimes, self.change, shares=shares)

    def commit(
        self, newest: Sequence[int], saved: Iterable[int] = (), shared: tuple[Regime, ...] = ()
    ) -> None:
        """The batch is done, time has come so far on each input, these buckets were saved, and these keys
        are shared in the next batch."""
        times = {key: json.dumps(time).encode() for key, time in zip(self._keys, newest, strict=True)}
        begun = json.dumps(sorted(self.begun.union(saved))).encode()
        layout = WITH_SHARED_KEYS if shared else LAYOUT
        facts = {QUERY: canonical(self._description), LAYOUT_KEY: b"%d" % layout, BUCKETS: begun}
        if shared or self.shared != SharedKeysKept():
            facts[SHARED] = bytes(SharedKeysKept(shared, served=bool(self.shared.regimes)))
        self._store.put_many({**facts, CHECKPOINT: self._checkpoint, **times})
        self._store.commit(self._epoch)


@dataclass(frozen=True)
class SharedKeysKept:
    """What a journal has of keys that several buckets share."""

    regimes: tuple[Regime, ...] = ()
    """Of the next batch."""
    served: bool = False
    """Whether the buckets that share keys were there in this batch: where not, they begin with nothing."""

    @property
    def are_there(self) -> bool:
        """Whether they are in the next batch, to share keys or to be emptied."""
        return self.served or bool(self.regimes)

    @classmethod
    def of(cls, kept: bytes | None) -> SharedKeysKept:
        """
        >>> SharedKeysKept.of(bytes(SharedKeysKept(served=True)))
        SharedKeysKept(regimes=(), served=True)
        """
        if kept is None:
            return cls()
        served, *regimes = json.loads(kept)
        return cls(regimes_in(regimes), bool(served))

    def __bytes__(self) -> bytes:
        return json.dumps([self.served, *regimes_as_json(self.regimes)]).encode()


def require_same_query(
    store: EpochStore, description: Mapping[str, Any], *, begun: bool, name: str
) -> None:
    """DifferentQuery where a query cannot go on from what the journal in this store describes, or where
    there is none although batches are done. `name`: of the store."""
    kept, layout = store.get_many([QUERY, LAYOUT_KEY])
    require_journal_layout(layout)
    if kept is not None:
        _require_alone(kept)
        change_of(kept, description)
    elif begun:
        raise refused(f"by a query that is not elastic, or has another store: there is no state in {name}")


def require_sharing(store: EpochStore, description: Mapping[str, Any], *, shares: bool) -> None:
    """The same before the first batch."""
    kept, shared = store.get_many([QUERY, SHARED])
    if kept is not None and shared is not None:
        with reading("the journal of epochs"):
            regimes = SharedKeysKept.of(shared).regimes
        _require_sharing(regimes, change_of(kept, description), shares=shares)


def _require_sharing(regimes: tuple[Regime, ...], change: Change | None, *, shares: bool) -> None:
    if regimes and not shares:
        raise refused(
            "by a query that shares look-backs of hot keys just now, which elastic= and online= exclude; "
            f"{_BACK}"
        )
    if regimes and change is not None:
        raise refused(
            f"by a query with other aggregates, and shares look-backs of hot keys just now; {_BACK}"
        )


def lost(what: str, epoch: int) -> StoreError:
    """Of what the store had after an epoch, and has no more."""
    return StoreError(
        f"{what} is not in the store any more, where micro-batch {epoch} has left it: a Redis server must "
        "keep all keys (maxmemory-policy noeviction, appendonly yes); restore it from a backup that has "
        "this micro-batch, or start the query with a new checkpoint"
    )


def require_journal_layout(kept: bytes | None) -> None:
    """StoreError unless this version reads what is beside it."""
    found = "1" if kept is None else kept.decode(errors="replace")
    if found != str(WITH_SHARED_KEYS):
        require_layout("the journal of epochs", int(found) if found.isdecimal() else found, LAYOUT)


def _require_alone(kept: bytes) -> None:
    with reading("the journal of epochs"):
        several = QUERIES in json.loads(kept)
    if several:
        raise refused("by sash.together(…)")
