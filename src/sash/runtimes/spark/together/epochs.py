"""Several queries over one stream in epochs: their states in the store of a bucket, in one job per batch.

    bucket-7    "bars 5d2… token", "bars 5d2… chunk 0", …, "alerts 9c1… token", …
    journal     the queries, what the state of each is called, and how far time has come

The calls that an operator sees are those of a query alone. A query that is added begins without state, one
that was removed leaves with the next batch: both are part of the batch, so that one that is executed again
finds the queries of the batch before. Buckets of keys that no query has any more go one batch later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.files import Files
from sash.aggregation.stores.values import reading
from sash.operators.engine import Change
from sash.runtimes.spark.epochs.epoch_journal import (
    LAYOUT_KEY,
    QUERIES,
    QUERY,
    EpochJournal,
    require_journal_layout,
)
from sash.runtimes.spark.epochs.epoch_run import ElasticRun
from sash.runtimes.spark.epochs.epoch_step import SAVED, EpochStep, SavedCounts
from sash.runtimes.spark.epochs.operator_in_store import HeldBucket
from sash.runtimes.spark.state.checkpoint_compatibility import change_of, refused
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT, canonical, without_buckets
from sash.runtimes.spark.streaming.bucket_call import BucketCall, PackedInput
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoads
from sash.runtimes.spark.together.shared_rows import SharedRows
from sash.runtimes.spark.together.stage import QueryOfStream, TogetherStage, output_of


class NamedStore:
    """The values of one query in the store of a bucket: what `HeldBucket` uses of a store."""

    def __init__(self, store: EpochStore, state: str) -> None:
        self._store, self._prefix = store, f"{state} ".encode()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._store.get_many([self._prefix + key for key in keys])

    def put_many(self, items: Mapping[bytes, bytes]) -> None:
        self._store.put_many({self._prefix + key: value for key, value in items.items()})

    def delete_many(self, keys: Iterable[bytes]) -> None:
        self._store.delete_many(self._prefix + key for key in keys)

    def keys(self, *, prefix: bytes = b"") -> Iterator[bytes]:
        every = self._store.keys(prefix=self._prefix + prefix)
        return (key.removeprefix(self._prefix) for key in every)


@dataclass(frozen=True)
class TogetherStep(EpochStep):
    """The step of all queries."""

    changes: Mapping[str, Change] = field(default_factory=dict)
    """Of the aggregates of queries since the batch before."""
    gone: tuple[str, ...] = ()
    """The states of queries that were removed."""
    served: frozenset[tuple[str, ...]] = frozenset()
    """The keys that had queries in the epoch before: buckets of others begin now."""

    def _go_back(self, bucket: int, store: EpochStore) -> None:
        stage = cast(TogetherStage, self.stage)
        (group,) = (group for group in stage.groups if bucket in group.buckets)
        if group.keys in self.served:
            store.replace_after(self.epoch - 1)
        else:
            assert isinstance(store, Files)
            store.restart(self.epoch - 1)

    def _serve(
        self, stage: Any, bucket: int, blocks: list[PackedInput], store: EpochStore, newest: list[int],
        held: SavedCounts, key_loads: list[KeyLoads],
    ) -> tuple[dict[str, pa.Table], dict[str, int]]:  # fmt: skip
        stage = cast(TogetherStage, stage)
        before, after = self.clock.milliseconds(self.newest), self.clock.milliseconds(newest)
        kept: dict[str, HeldBucket] = {}
        for query in stage.of_bucket(bucket):
            own = stage.stages[query.name]
            mine = HeldBucket(own, bucket, cast(EpochStore, NamedStore(store, query.state)))
            changes = query.name in self.changes and not mine.is_new
            if blocks or changes or not mine.sleeps(own.clock.watermark(after)):
                kept[query.name] = mine
        loaded = {name: mine.load(self.changes.get(name)) for name, mine in kept.items()}
        calls = {name: stage.stages[name].call(stage.stages[name], one) for name, one in loaded.items()}
        if blocks:
            self._reach(stage, calls, before)
            arrived = SharedRows.of(stage, bucket, (payload for payload, _ in blocks), before)
            for name, call in calls.items():
                arrived.into(name, call)
            self._reach(stage, calls, before)
        counts: dict[str, int] = {SAVED: max((call.saved for call in calls.values()), default=0)}
        tables: dict[str, pa.Table] = {}
        for name, call in calls.items():
            call.advance(stage.stages[name].clock.watermark(after))
            saved = kept[name].save(loaded[name])
            held[bucket, name] = saved.keys, saved.size
            answer, counted = call.answer()
            tables |= {output_of(name, output): table for output, table in answer.items()}
            counts |= {f"{name} {count}": value for count, value in counted.items()}
        for state in self.gone:
            NamedStore(store, state).delete_many(list(NamedStore(store, state).keys()))
        return tables, counts

    @staticmethod
    def _reach(stage: TogetherStage, calls: Mapping[str, BucketCall], milliseconds: int) -> None:
        for name, call in calls.items():
            call.reach(stage.stages[name].clock.watermark(milliseconds))


@dataclass(frozen=True)
class KeptQueries:
    """What a journal has of the queries of a stream."""

    queries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By name: what its state is called, and its description."""

    @classmethod
    def of(cls, kept: bytes | None) -> KeptQueries:
        """DifferentQuery where one query was started alone."""
        if kept is None:
            return cls()
        with reading("the journal of epochs"):
            found = json.loads(kept)
            if QUERIES not in found:
                raise refused("by a query that was started alone")
            return cls({name: dict(own) for name, own in found[QUERIES].items()})

    def states(self, names: Iterable[str]) -> dict[str, str]:
        """A query that was not there begins with a state of its own."""
        return {
            name: self.queries[name]["state"] if name in self.queries else f"{name} {uuid4().hex[:8]}"
            for name in names
        }

    def changes(self, descriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, Change]:
        """DifferentQuery where one of them cannot go on from its state."""
        found = {
            name: change_of(canonical(self.queries[name]["query"]), description)
            for name, description in descriptions.items()
            if name in self.queries
        }
        return {name: change for name, change in found.items() if change is not None}


class TogetherJournal(EpochJournal):
    """The journal while one batch of several queries is executed."""

    def _compare(self, kept: bytes | None) -> None:
        """`description` has the descriptions by name; what is written has the names of states too."""
        found, descriptions = KeptQueries.of(kept), self._description[QUERIES]
        self.changes, self.states = found.changes(descriptions), found.states(descriptions)
        self.served = frozenset(tuple(own["query"]["key"]) for own in found.queries.values())
        self.gone = tuple(own["state"] for name, own in found.queries.items() if name not in descriptions)
        self._description = {
            **self._description,
            QUERIES: {
                name: {"state": self.states[name], "query": description}
                for name, description in descriptions.items()
            },
        }


@dataclass
class TogetherRun(ElasticRun):
    """The function of `foreachBatch` for all queries of a stream."""

    _removed: bool = field(default=False, init=False)
    """Whether this run has removed the buckets that neither this batch nor the one before serves."""

    @property
    def together(self) -> TogetherStage:
        return cast(TogetherStage, self.stage)

    @property
    def queries(self) -> Sequence[str]:
        return [query.name for query in self.together.queries]

    @property
    def description(self) -> dict[str, Any]:
        stages = self.together.stages.items()
        described = {name: without_buckets(own.description) for name, own in stages}
        return {QUERIES: described, BUCKET_COUNT: self.together.partitions}

    def journal(self, store: EpochStore, epoch: int) -> EpochJournal:
        return TogetherJournal(store, self.description, epoch=epoch, checkpoint=self._label())

    def _require_same(self, store: EpochStore, *, begun: bool) -> None:
        kept, layout = store.get_many([QUERY, LAYOUT_KEY])
        require_journal_layout(layout)
        if kept is None and begun:
            raise refused("by a query that keeps its state elsewhere: there is none in files")
        KeptQueries.of(kept).changes(self.description[QUERIES])

    def _assigned(self, degree: int, *, sharing: bool) -> None:
        """Numbers of buckets are far apart, and those of a group follow each other."""

    def _step(self, journal: EpochJournal, **how: Any) -> EpochStep:
        assert isinstance(journal, TogetherJournal)
        if not self._removed and journal.served <= {group.keys for group in self.together.groups}:
            how["home"].remove_buckets_except(self.together.buckets)
            self._removed = True
        queries = tuple(
            QueryOfStream(query.name, journal.states[query.name], query.bound, query.outputs)
            for query in self.together.queries
        )
        stage = replace(self.together, queries=queries)
        return TogetherStep(
            stage=cast(Any, stage), changes=journal.changes, gone=journal.gone, served=journal.served, **how
        )
