"""Several queries in one pass, without Spark's engine: each emits what it would emit alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.runtimes.spark.packing.answers import PackedAnswers
from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED_BUCKET, PAYLOAD, SeveralPackers
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.packing.hashed_packer import HashedPacker
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.streaming import panes_before_shuffle
from sash.runtimes.spark.streaming.panes_before_shuffle import PanePacker
from sash.runtimes.spark.streaming.processor_for_driver import LightProcessor
from sash.runtimes.spark.together.processor import TogetherProcessor
from sash.runtimes.spark.together.stage import QueryOfStream, TogetherStage, buckets_of, output_of
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.operators.features import AGGREGATES as FEATURES, any_look_backs, look_backs, ticks
from tests.runtimes.micro_batches import DryStream, MicroBatches, by_output
from tests.runtimes.tables import table_of
from tests.runtimes.test_paned_operator import AGGREGATES as PANED, bind, clock_windows
from tests.runtimes.test_panes_before_shuffle import EAGER
from tests.runtimes.test_spark_streaming_dry import TYPES, bound_query, cut, expected, observed, queries

PARTITIONS = 2
COUNTED = ("events", "late", "reports")


class EagerTogether(TogetherStage):
    """Folds whatever can be folded, also of a few rows."""

    @property
    def packer(self) -> SeveralPackers:
        packers = super().packer.packers
        return SeveralPackers(
            tuple(replace(one, worth=EAGER) if isinstance(one, PanePacker) else one for one in packers)
        )


class DryTogether:
    """Packer, processor and unpacker, one after the other. The queries may change between two batches."""

    def __init__(self, bounds: Mapping[str, BoundQuery], *, forgetful: bool, early: bool = False) -> None:
        self.early = early
        self.engine: Any = None
        self.forgetful = forgetful
        self.newest = self.watermark = 0
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.counts: dict[str, int] = {}
        self.states = 0
        self.queries: dict[str, QueryOfStream] = {}
        self.change(bounds)

    def change(self, bounds: Mapping[str, BoundQuery]) -> None:
        """Stop, and go on with these queries."""
        kept = {name: query for name, query in self.queries.items() if name in bounds}
        for name, bound in bounds.items():
            if name not in kept:
                self.states += 1
                kept[name] = QueryOfStream(name, f"{name} {self.states}", bound, (REPORTS, LATE))
        self.queries = {name: kept[name] for name in bounds}
        self.stage = EagerTogether(
            tuple(self.queries.values()), PARTITIONS, ticks=True, derived=False, early=self.early
        )
        processor = TogetherProcessor(self.stage)
        processor.answers = PackedAnswers(self.stage.schemas)
        light = LightProcessor(processor, named=True)
        if self.engine is None:
            self.engine = MicroBatches(light)
        else:
            light.init(self.engine.handle)
            self.engine.processor = light

    def batch(self, table: pa.Table | None) -> None:
        if self.forgetful:
            OPERATORS.clear()
        self.watermark = max(self.watermark, self.newest)
        payloads: dict[int, list[bytes]] = {}
        packer = HashedPacker(iter, self.stage.shares, self.stage.packer)
        given = [] if table is None else table.select(self.stage.columns).combine_chunks().to_batches()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(panes_before_shuffle, "watermark_of_batch", lambda: self.watermark)
            for packed in packer(given):
                self.newest = max(self.newest, pc.max(packed[NEWEST_AT].cast(pa.int64())).as_py() // 1000)
                for bucket, payload in zip(packed[PACKED_BUCKET], packed[PAYLOAD], strict=True):
                    payloads.setdefault(bucket.as_py(), []).append(payload.as_py())
        answered = self.engine.batch(self.watermark, payloads)
        for output, rows in by_output(self.stage, answered).items():
            self.rows.setdefault(output, []).extend(rows)
        for count in self.stage.counts:
            self.counts[count] = self.counts.get(count, 0) + sum(row[count] for row in answered)

    def run(self, batches: Sequence[pa.Table | None]) -> None:
        for batch in batches:
            self.batch(batch)


def tables(batches: list[list[Arrival]]) -> list[pa.Table | None]:
    return [*(table_of(batch, TYPES) for batch in batches), None]


def require_reference(dry: DryTogether, name: str, query: Query, batches: list[list[Arrival]]) -> None:
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    assert observed(dry.rows[output_of(name, REPORTS)], query) == expected(outcome, query)
    late = sorted((entry.arrival.values["e"], entry.reason, entry.window or "") for entry in outcome.late)
    found = dry.rows[output_of(name, LATE)]
    assert sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in found) == late
    counts = [dry.counts[f"{name} {count}"] for count in COUNTED]
    assert counts == [sum(map(len, batches)), len(outcome.late), len(outcome.reports)]


@settings(max_examples=20, deadline=None)
@given(
    query_list=st.lists(queries(), min_size=1, max_size=3),
    batches=cut(),
    forgetful=st.booleans(),
)
def test_oracle_every_query_has_the_reports_and_late_rows_of_the_reference(
    query_list: list[Query], batches: list[list[Arrival]], forgetful: bool
) -> None:
    named = {f"q{number}": query for number, query in enumerate(query_list)}
    bounds = {name: bound_query(query) for name, query in named.items()}
    dry = DryTogether(bounds, forgetful=forgetful, early=True)
    dry.run(tables(batches))
    for name, query in named.items():
        require_reference(dry, name, query, batches)


@settings(max_examples=20, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=4),
    delays=st.lists(st.sampled_from([0, 4, 30]), min_size=4, max_size=4),
    aggregates=st.lists(
        st.lists(st.sampled_from(list(PANED)), min_size=1, unique=True), min_size=4, max_size=4
    ),
    batches=cut(),
    forgetful=st.booleans(),
)
def test_oracle_queries_that_share_panes_have_the_reports_and_late_rows_of_the_reference(
    window_list: list[Window], delays: list[int], aggregates: list[list[str]], batches: list[list[Arrival]],
    forgetful: bool,
) -> None:  # fmt: skip
    named = {
        f"q{number}": bind(window, delay=delay, aggregates={name: PANED[name] for name in names})
        for number, (window, delay, names) in enumerate(zip(window_list, delays, aggregates, strict=False))
    }
    bounds = {name: replace(one, query=replace(one.query, flush=False)) for name, one in named.items()}
    dry = DryTogether(bounds, forgetful=forgetful, early=True)
    (shared,) = dry.stage.panes.values()
    assert len(shared.panes.bound.aggregates) == len(
        {name for names in aggregates[: len(window_list)] for name in names}
    )
    dry.run(tables(batches))
    for name, bound in bounds.items():
        outcome = evaluate(bound.query, [Batch(tuple(batch)) for batch in batches])
        found = [
            (row["k"], row["window"]["id"], *(row[one] for one in bound.aggregates))
            for row in dry.rows[name]
        ]
        reports = [(r.key, r.id, *r.values.values()) for r in outcome.reports]
        assert sorted(found, key=repr) == sorted(reports, key=repr)
        late = sorted((entry.arrival.values["e"], entry.reason) for entry in outcome.late)
        rows = dry.rows[output_of(name, LATE)]
        assert sorted((row["e"], row["late_reason"]) for row in rows) == late
        counts = [dry.counts[f"{name} {count}"] for count in COUNTED]
        assert counts == [sum(map(len, batches)), len(outcome.late), len(outcome.reports)]


@settings(max_examples=10, deadline=None)
@given(
    query_list=st.lists(queries(), min_size=2, max_size=3),
    batches=cut(),
    forgetful=st.booleans(),
    data=st.data(),
)
def test_oracle_a_query_that_stays_does_not_notice_others_that_come_and_go(
    query_list: list[Query], batches: list[list[Arrival]], forgetful: bool, data: st.DataObject
) -> None:
    bounds = {f"q{number}": bound_query(query) for number, query in enumerate(query_list)}
    dry = DryTogether(bounds, forgetful=forgetful)
    for table in tables(batches):
        others = data.draw(st.sets(st.sampled_from(sorted(bounds)[1:])))
        dry.change({name: bound for name, bound in bounds.items() if name == "q0" or name in others})
        dry.batch(table)
    require_reference(dry, "q0", query_list[0], batches)


@settings(max_examples=10, deadline=None)
@given(
    lengths=any_look_backs, delay=st.integers(0, 10), window=queries(), batches=cut(),
    forgetful=st.booleans(),
)  # fmt: skip
def test_differential_rows_of_look_backs_are_those_of_the_query_alone(
    lengths: list[int], delay: int, window: Query, batches: list[list[Arrival]], forgetful: bool
) -> None:
    """Latest rows, and rows on arrival, beside windows. Alone, Spark's watermark has the delay already."""
    query = Query(look_backs(*lengths), FEATURES, delay=ticks(delay), flush=False)
    schema = table_of([], TYPES).schema
    bounds: dict[str, BoundQuery] = {
        "windows": bound_query(window),
        "latest": BoundLatest(replace(query, emit=Emit(When.CHANGE)), schema, "t", ("k",)),
        "arrival": BoundRolling(replace(query, emit=Emit(When.ARRIVAL)), schema, "t", ("k",)),
    }
    dry = DryTogether(bounds, forgetful=forgetful)
    dry.run(tables(batches))
    for name in ("latest", "arrival"):
        alone = DryStream(bounds[name], forgetful=forgetful)
        rows = [row for table in tables(batches) for row in alone.batch(table)]
        assert sorted(map(repr, dry.rows[output_of(name, REPORTS)])) == sorted(map(repr, rows))


def test_queries_of_other_keys_and_delays_share_a_pass() -> None:
    batches = [
        [Arrival(time, key, {"e": number, "x": number}) for number, (time, key) in enumerate(rows)]
        for rows in ([(1, "a"), (12, "b"), (3, "a")], [(2, "b"), (40, "a")], [(9, "a"), (80, "b")])
    ]  # fmt: skip
    by_key = bound_query(Query(bound_query(_tumbling()).query.windows, _tumbling().aggregates, flush=False))
    patient = replace(by_key.query, delay=Duration(30, Unit.TICKS))
    queries_by_name = {
        "by_key": by_key,
        "patient": replace(by_key, query=patient),
        "all": replace(by_key, keys=()),
    }
    dry = DryTogether(queries_by_name, forgetful=True)
    dry.run(tables(batches))
    for name in ("by_key", "patient"):
        require_reference(dry, name, queries_by_name[name].query, batches)
    alone = DryTogether({"all": queries_by_name["all"]}, forgetful=True)
    alone.run(tables(batches))
    assert dry.rows["all"] == alone.rows["all"] != []
    assert len(dry.stage.groups) == 2


def _tumbling() -> Query:
    from sash.semantics import windows
    from tests.runtimes.test_spark_streaming_dry import AGGREGATES

    return Query((windows.tumbling(10),), AGGREGATES, delay=Duration(0, Unit.TICKS), flush=False)


def test_a_block_has_each_column_once_and_only_those_that_are_read() -> None:
    bound = bound_query(_tumbling())
    made = [
        QueryOfStream(
            name, name, replace(bound, query=replace(bound.query, aggregates=aggregates)), (REPORTS,)
        )
        for name, aggregates in (("n", {}), ("all", bound.query.aggregates))
    ]
    stage = TogetherStage(tuple(made), PARTITIONS, ticks=True, derived=False)
    assert len(stage.block) - 1 == len(stage.columns) == len(set(stage.columns))
    assert set(stage.columns) == {"t", "k", *bound.columns}
    assert stage.block.names[:-1] == places(stage.columns)


def test_the_buckets_of_a_group_follow_from_its_keys_alone() -> None:
    assert buckets_of(("k",), partitions=3) == buckets_of(("k",), partitions=3)
    every = [buckets_of(keys, partitions=3) for keys in ((), ("k",), ("k", "e"), ("e", "k"))]
    assert len({bucket for group in every for bucket in group}) == 1 + 3 * 3


@pytest.mark.parametrize("forgetful", [False, True])
def test_a_query_that_comes_back_begins_anew(forgetful: bool) -> None:
    bound = bound_query(_tumbling())
    one, two = {"stays": bound}, {"stays": bound, "back": bound}
    dry = DryTogether(two, forgetful=forgetful)
    for queries_, time in ((two, 1), (one, 2), (two, 3), (two, 15)):
        dry.change(queries_)
        dry.batch(table_of([Arrival(time, "a", {"e": time, "x": 1})], TYPES))
    dry.batch(None)
    assert [row["n"] for row in dry.rows["stays"]] == [3]
    assert [row["n"] for row in dry.rows["back"]] == [1]
