"""Queries that have left something on a Redis server, and which of them can never go on.

LMDB lies in the checkpoint and goes with it. What is on a server stays when a checkpoint is deleted, since
nobody is there to know: the state of elastic queries, and features that were published. So both name their
checkpoint and the host that made it.

A checkpoint that was moved looks as if it were deleted until its query has committed a batch from there. So
nothing is taken for a leftover that has been used within the last hour. Each batch of a query puts up a
fence before all else, which nobody else reads; features are read by whoever serves them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from sash.aggregation.stores.one_state import read_one_state
from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.errors import SashError, StoreUnavailable
from sash.runtimes.spark.epochs.epoch_journal import CHECKPOINT
from sash.runtimes.spark.epochs.store_of_state import BUCKET, JOURNAL
from sash.runtimes.spark.state.checkpoint_label import CheckpointLabel, CheckpointState
from sash.serving.feature_stores import FEATURES
from sash.serving.store_names import DESCRIPTION, LABEL

IDLE = 3_600.0
"""Seconds in which nobody has used what is left over."""
_OF_QUERY = re.compile(rf"(?P<query>.+)\.({JOURNAL}|{BUCKET}\d+)")


@dataclass(frozen=True)
class ServedQuery:
    """A query that has something on a server."""

    what: Literal["state", "features"]
    query: str
    """Spark's identifier; empty if it is not known."""
    checkpoint: str
    """Empty if it is not known."""
    state: CheckpointState
    """Whether its checkpoint is there; unknown if that cannot be found out from here."""
    why: str
    """It is unknown; empty if it is not."""
    idle: int | None
    """Seconds since this was used, if the server tells."""
    namespaces: tuple[str, ...]
    """Of state; or the name that features are published under."""


def served_queries(url: str, *, least: float = IDLE) -> Iterator[ServedQuery]:
    """All elastic queries, by identifier; deleted ones have not been used for `least` seconds."""
    with closing(RedisNamespaces(url)) as server:
        own: dict[str, list[str]] = {}
        for name in server.names():
            if found := _OF_QUERY.fullmatch(name):
                own.setdefault(found["query"], []).append(name)
        for query, names in own.items():
            yield _query(server, query, tuple(names), least)


def served_features(url: str, *, least: float = IDLE) -> Iterator[ServedQuery]:
    """All features that were published, by name."""
    with closing(RedisNamespaces(url, first=FEATURES)) as server:
        for name in server.names(having=DESCRIPTION):
            yield _features(server, name, least)


def remove(url: str, found: Iterable[ServedQuery], *, least: float = IDLE) -> dict[ServedQuery, int]:
    """Delete those whose checkpoints are deleted; the number of keys of each. They are looked at once more:
    who has been used since then stays."""
    with (
        closing(RedisNamespaces(url)) as states,
        closing(RedisNamespaces(url, first=FEATURES)) as features,
    ):
        removed = {}
        for each in found:
            if each.what == "state":
                server, again = states, _query(states, each.query, each.namespaces, least)
            else:
                server, again = features, _features(features, each.namespaces[0], least)
            used = (again.idle or 0) < (each.idle or 0)
            if each.state == again.state == "deleted" and not used:
                removed[each] = server.remove(each.namespaces)
        return removed


def _query(server: RedisNamespaces, query: str, names: tuple[str, ...], least: float) -> ServedQuery:
    journal = f"{query}.{JOURNAL}"

    def label() -> CheckpointLabel:
        (saved,) = read_one_state(
            journal,
            lambda: Redis(server.url, namespace=journal),
            lambda store: store.get_many([CHECKPOINT]),
        )
        # A query that has died in its first batch has committed no journal.
        return CheckpointLabel.of(saved or server.label(journal))

    fences = [server.key(name, b"fence") for name in names]
    found, state, why, idle = _judged(label, query, lambda: server.idle(fences), least)
    return ServedQuery("state", query, found.checkpoint, state, why, idle, names)


def _features(server: RedisNamespaces, name: str, least: float) -> ServedQuery:
    def idle() -> int | None:
        own = server.key(name, LABEL)
        return server.idle([key for key in server.keys(name) if key != own])

    found, state, why, seconds = _judged(lambda: CheckpointLabel.of(server.label(name)), None, idle, least)
    return ServedQuery("features", found.query, found.checkpoint, state, why, seconds, (name,))


def _judged(
    labelled: Callable[[], CheckpointLabel], query: str | None, idle: Callable[[], int | None], least: float
) -> tuple[CheckpointLabel, CheckpointState, str, int | None]:
    """The label, what became of its checkpoint, why that is unknown, and for how long nobody has used it.
    What is damaged, or of another version, is unknown too: it must not be in the way of others."""
    label = CheckpointLabel()
    try:
        label = labelled()
        state, why = label.judged(label.query if query is None else query)
    except StoreUnavailable:
        raise
    except SashError as error:
        return label, "unknown", str(error), None
    if state != "deleted":
        return label, state, why, None
    seconds = idle()
    if least and seconds is None:
        state = "unknown"
        why = "the server does not tell when it was used last (--idle 0 does not ask)"
    elif seconds is not None and seconds < least:
        state = "unknown"
        why = f"its checkpoint is not there, but it was used {seconds} seconds ago, less than {least:g}"
    return label, state, why, seconds
