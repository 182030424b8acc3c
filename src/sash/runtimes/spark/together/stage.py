"""Queries over one stream as their executors know them: their buckets, and the columns of a block.

A group is the queries with the same keys. The numbers of its buckets follow from the names of its keys
alone, so that a group that comes or goes moves no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.balanced_bucket_ids import bucket_ids
from sash.runtimes.spark.packing.blocks import COUNTS, Packer, SeveralPackers
from sash.runtimes.spark.packing.bucket_of_key_sql import Share
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL
from sash.runtimes.spark.packing.outputs import REPORTS, Outputs, OutputSchemas
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.streaming.panes_before_shuffle import PanePacker
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage

_SPACING = 2**24
"""Between the least numbers of two groups: far more than partitions."""


@dataclass(frozen=True)
class QueryOfStream:
    """One of the queries."""

    name: str
    state: str
    """What its state is called: another name each time that a query is added."""
    bound: BoundQuery
    outputs: Outputs


@dataclass(frozen=True)
class Group:
    """The queries of the same keys."""

    keys: tuple[str, ...]
    buckets: tuple[int, ...]
    share: str
    """The column that has the places of the rows' buckets."""


def buckets_of(keys: Sequence[str], *, partitions: int) -> tuple[int, ...]:
    """As Spark will spread them: one for each partition, or one in all where there is no key."""
    first = _first(keys)
    return bucket_ids(partitions=partitions, each=1, first=first) if keys else (first,)


def numbers_of(keys: Sequence[str], *, partitions: int) -> tuple[int, ...]:
    """As many, one after the other."""
    first = _first(keys)
    return tuple(range(first, first + partitions)) if keys else (first,)


def _first(keys: Sequence[str]) -> int:
    digest = hashlib.sha256("\0".join(keys).encode()).digest()
    return int.from_bytes(digest[:4], "little") * _SPACING if keys else 0


def output_of(query: str, output: str) -> str:
    """The name of an output among those of all queries."""
    return query if output == REPORTS else f"{query} {output}"


@dataclass(frozen=True)
class TogetherStage:
    """One stateful step for all queries, and what packs rows for it."""

    queries: tuple[QueryOfStream, ...]
    partitions: int
    ticks: bool
    derived: bool
    early: bool = False
    """Whether tasks know the watermark of their batch, and may fold rows before the shuffle."""
    gone: tuple[str, ...] = ()
    """The states of queries that were removed, which leave with the next call of each bucket."""
    stamps: int = 0
    """In epochs: how many tasks behind the shuffle are sent the time of each packer. A group has numbers of
    buckets that follow each other then; 0: they are as Spark spreads them."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        keys = dict.fromkeys(query.bound.keys for query in self.queries)
        numbers = numbers_of if self.stamps else buckets_of
        return tuple(
            Group(each, numbers(each, partitions=self.partitions), f"{BUCKET}_{number}")
            for number, each in enumerate(keys)
        )

    @property
    def clock(self) -> Clock:
        """That of the stream: each query takes off its own delay."""
        return Clock.of(ticks=self.ticks)

    def stage(self, query: QueryOfStream) -> WindowStage:
        """The query as it would be alone. Spark's watermark has no delay: each query takes off its own, so
        that one that comes or goes changes no other's."""
        (group,) = (group for group in self.groups if group.keys == query.bound.keys)
        clock = Clock.of(ticks=self.ticks, delay=query.bound.query.delay.length)
        return WindowStage.of(
            query.bound, query.outputs, buckets=group.buckets, clock=clock, derived=self.derived
        )

    @cached_property
    def stages(self) -> Mapping[str, WindowStage]:
        return {query.name: self.stage(query) for query in self.queries}

    def of_bucket(self, number: int) -> Iterator[QueryOfStream]:
        """The queries that a bucket serves."""
        return (query for query in self.queries if number in self.stages[query.name].buckets)

    @cached_property
    def panes(self) -> Mapping[tuple[int, ...], SharedPanes]:
        """What the queries of a group share, by its buckets, where all of them take panes."""
        found = {}
        for group in self.groups if self.early else ():
            stages = [stage for stage in self.stages.values() if stage.buckets == group.buckets]
            shared = SharedPanes.of([stage.bound for stage in stages], [stage.clock for stage in stages])
            if shared is not None:
                found[group.buckets] = shared
        return found

    def panes_of(self, number: int) -> SharedPanes | None:
        """Of the queries that a bucket serves, in their order."""
        return next((panes for buckets, panes in self.panes.items() if number in buckets), None)

    @cached_property
    def columns(self) -> list[str]:
        """Those that any of the queries reads, in the order of the input."""
        wanted = {name for stage in self.stages.values() for name in stage.columns}
        return [name for name in self._bound.schema.names if name in wanted]

    @property
    def _bound(self) -> BoundQuery:
        return self.queries[0].bound

    @cached_property
    def block(self) -> pa.Schema:
        """Of the rows on their way to a bucket: the columns by position, and the order of arrival."""
        fields = [
            self._bound.schema.field(name).with_name(place)
            for name, place in zip(self.columns, by_position.places(self.columns), strict=True)
        ]
        return pa.schema([*fields, pa.field(ORDINAL, pa.int64())])

    @cached_property
    def schemas(self) -> OutputSchemas:
        """Of all outputs of all queries."""
        return {
            output_of(name, output): schema
            for name, stage in self.stages.items()
            for output, schema in stage.schemas.items()
        }

    @property
    def counts(self) -> tuple[str, ...]:
        """What is counted, query by query."""
        return tuple(f"{query.name} {count}" for query in self.queries for count in COUNTS)

    @property
    def time(self) -> str:
        return self._bound.time

    @property
    def buckets(self) -> tuple[int, ...]:
        return tuple(bucket for group in self.groups for bucket in group.buckets)

    @property
    def spark_delay(self) -> str:
        return Clock.of(ticks=self.ticks).spark_delay(0)

    @property
    def shares(self) -> list[Share]:
        firsts = {query.bound.keys: query.bound for query in self.queries}
        return [Share(group.share, firsts[group.keys], len(group.buckets)) for group in self.groups]

    @property
    def packer(self) -> SeveralPackers | StampedPacker:
        """A row goes to one bucket of each group."""
        packer = SeveralPackers(tuple(map(self._packer, self.groups)))
        return StampedPacker(packer, self.stamps) if self.stamps else packer

    def _packer(self, group: Group) -> Packer | PanePacker:
        packer, panes = self.row_packer(group), self.panes.get(group.buckets)
        return packer if panes is None else PanePacker(packer, panes, tuple(self.columns))

    def row_packer(self, group: Group) -> Packer:
        time = by_position.places(self.columns)[self.columns.index(self._bound.time)]
        return Packer(self.block, time, group.buckets, self.clock, share=group.share)
