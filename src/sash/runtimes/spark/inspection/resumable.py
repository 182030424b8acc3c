"""Whether a query can go on from what its store has: what its next batch would refuse, only looked for.

    N          the next micro-batch: by Spark's checkpoint, or else the one after the journal's
    journal    is at N−1, or can go back to it
    bucket     the same, of all that N serves; and has state if the journal has it among `buckets`

A crash leaves nothing else: a batch takes back the journal, then its buckets, and commits the buckets, then
the journal. Parts of two backups, deleted folders and keys that a server has evicted do not fit so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping

from sash.aggregation.stores.epoch_store import FRESH, Committed
from sash.aggregation.stores.values import reading
from sash.runtimes.spark.epochs.epoch_journal import BUCKETS, NEWEST, QUERIES, QUERY, SHARED, SharedKeysKept
from sash.runtimes.spark.epochs.store_of_state import JOURNAL, bucket_of
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT
from sash.runtimes.spark.together.stage import numbers_of


def obstacles(
    journal: Mapping[bytes, bytes], committed: Mapping[str, Committed], *, saved: Collection[int],
    due: int | None,
) -> Iterator[str]:  # fmt: skip
    """What keeps the query from going on. `saved`: buckets that have state; `due`: N, if it is known."""
    at = committed.get(JOURNAL, FRESH)
    found = {number: own for name, own in committed.items() if (number := bucket_of(name)) is not None}
    if at == FRESH and _has_followed(JOURNAL in committed, found.values(), due):
        yield "the journal is gone, without which no bucket can be resumed"
        return
    due = at.epoch + 1 if due is None else due
    if not at.has(due - 1):
        yield f"the journal is at micro-batch {at.epoch}, from where {due} cannot be executed"
        return
    lost = [what for key, what in ((QUERY, "query"), (NEWEST, "newest event time")) if key not in journal]
    if due > 0 and lost:
        yield f"the journal has lost its {lost[0]}"
        return
    with reading("the journal of epochs"):
        begun = frozenset(map(int, json.loads(journal.get(BUCKETS, b"[]"))))
        served = _served(journal, shares=due > at.epoch) or begun.union(found)
    for number in sorted(served):
        own = found.get(number, FRESH)
        if own == FRESH and due > 0:
            yield f"bucket {number} is gone"
        elif not own.has(due - 1):
            yield f"bucket {number} is at micro-batch {own.epoch}, from where {due} cannot be executed"
        elif number in begun and number not in saved and own.epoch >= at.epoch:
            yield f"bucket {number} has lost its state"


def _has_followed(begun: bool, buckets: Collection[Committed], due: int | None) -> bool:
    """Whether a batch was done although the journal has none. A first one that dies leaves a journal that
    was begun, and buckets that are one ahead of it."""
    if due is not None:
        return due > 0
    return bool(buckets) and (not begun or any(not own.has(FRESH.epoch) for own in buckets))


def _served(journal: Mapping[bytes, bytes], *, shares: bool) -> Collection[int]:
    """The buckets of a batch after this journal; none where it does not tell. `shares`: whether those that
    share keys may go on: what the journal has of them is of the batch after its own."""
    description = json.loads(journal.get(QUERY, b"{}"))
    count = description.get(BUCKET_COUNT)
    if count is None:
        return ()
    if QUERIES in description:
        groups = {tuple(own["query"]["key"]) for own in description[QUERIES].values()}
        return {number for keys in groups for number in numbers_of(keys, partitions=count)}
    shared = SharedKeysKept.of(journal.get(SHARED))
    return range(count * (2 if shares and shared.served and shared.regimes else 1))
