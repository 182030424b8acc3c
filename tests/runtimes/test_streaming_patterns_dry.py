"""Patterns on streams, in process: any stream in any micro-batches under any pattern, by the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import DifferentQuery, SashError, Unsupported
from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.engine import PanePartsOperator, WindowOperator, keeps_panes
from sash.operators.folding.whole_windows import Apply
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.operators.saved_operator_contents import inventory
from sash.runtimes.spark.packing.balanced_bucket_ids import partition_of
from sash.runtimes.spark.packing.blocks import COUNTS
from sash.runtimes.spark.patterns.stream_plan import (
    impossible_on_streams,
    require_possible_on_streams,
    worker_buckets,
)
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch, Outcome, evaluate
from sash.semantics.window import Window
from tests.runtimes.dry_farm import DryFarm
from tests.runtimes.object_aggregates import OBJECTS as SOME_OBJECTS
from tests.runtimes.tables import table_of
from tests.runtimes.test_paned_operator import bind, clock_windows
from tests.runtimes.test_spark_streaming_dry import (
    AGGREGATES,
    TYPES,
    bound_query,
    cut,
    expected,
    observed,
    queries,
)

degree = st.integers(1, 6)
small = st.integers(1, 3)
split: st.SearchStrategy[Any] = st.one_of(
    st.builds(PaneFarm, degree, degree), st.builds(WinMapReduce, degree, degree)
)
two_levels: st.SearchStrategy[Pattern] = st.one_of(
    split,
    st.builds(lambda held, n: KeyFarm(held, replicas=n), split, small),
    st.builds(lambda held, n: WinFarm(held, replicas=n), split, small),
)
one_level: st.SearchStrategy[Pattern] = st.one_of(
    st.just(WinSeq()), st.builds(KeyFarm, degree), st.builds(WinFarm, degree)
)
emits = st.sampled_from([Emit(), Emit(When.CHANGE), Emit(When.EVERY, Duration(5, Unit.TICKS))])
OBJECTS = {**SOME_OBJECTS, "even": built_in.top_k("e", 3, where="x > 2")}
no_windows_shared = st.one_of(
    st.just(WinSeq()), st.builds(KeyFarm, degree),
    st.builds(lambda n: WinFarm(n, model="agnostic"), degree),
)  # fmt: skip


def require_late_rows(dry: DryFarm, outcome: Outcome) -> None:
    """Where they are wanted, those of the reference."""
    if dry.late is not None:
        late = [(one.arrival.values["e"], one.reason, one.window or "") for one in outcome.late]
        found = [(row["e"], row["late_reason"], row["late_window"] or "") for row in dry.late]
        assert sorted(found) == sorted(late)


def tables(batches: list[list[Arrival]]) -> list[pa.Table]:
    return [table_of(batch, TYPES) for batch in batches]


@settings(max_examples=80, deadline=None)
@given(
    query=queries(), batches=cut(), chosen=no_windows_shared, forgetful=st.booleans(), late=st.booleans()
)
def test_oracle_any_window_can_be_farmed_out_by_key_or_to_agnostic_workers(
    query: Query, batches: list[list[Arrival]], chosen: Pattern, forgetful: bool, late: bool
) -> None:
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    dry = DryFarm(bound_query(query), chosen, forgetful=forgetful, late=late)
    assert observed(dry.run(tables(batches)), query) == expected(outcome, query)
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))
    require_late_rows(dry, outcome)


@settings(max_examples=150, deadline=None)
@given(
    query=queries(), batches=cut(), chosen=st.one_of(st.builds(WinFarm, degree), two_levels),
    forgetful=st.booleans(), late=st.booleans(), shared=st.booleans(),
)  # fmt: skip
def test_oracle_windows_that_an_owner_finds_are_shared_whole_and_in_parts(
    query: Query, batches: list[list[Arrival]], chosen: Pattern, forgetful: bool, late: bool, shared: bool
) -> None:
    """Sessions and count windows under every pattern that takes them, panes in order, and those that depend
    on later events under map-reduce."""
    if "WinMapReduce" in str(chosen) or shared:
        query = replace(query, aggregates=AGGREGATES | {"held": built_in.top_k("e", 3)})
    bound = bound_query(query)
    assume(refusal(chosen, bound) is None and owner_finds(chosen, bound))
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    dry = DryFarm(bound, chosen, forgetful=forgetful, late=late)
    assert observed(dry.run(tables(batches)), query) == expected(outcome, query)
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))
    require_late_rows(dry, outcome)


@settings(max_examples=80, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=2), batches=cut(), n=degree,
    delay=st.sampled_from([0, 4, 30]), lateness=st.sampled_from([0, 3, 20]),
    emit=emits, empty=st.booleans(), forget=st.sampled_from([0, 21, 30]), forgetful=st.booleans(),
    late=st.booleans(),
)  # fmt: skip
def test_oracle_workers_of_a_window_farm_answer_for_their_own_windows_and_count_each_event_once(
    window_list: list[Window], batches: list[list[Arrival]], n: int, delay: int, lateness: int, emit: Emit,
    empty: bool, forget: int, forgetful: bool, late: bool,
) -> None:  # fmt: skip
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    query = Query(
        named, AGGREGATES, delay=Duration(delay, Unit.TICKS), emit=emit, empty=empty, flush=False,
        allowed_lateness=Duration(lateness, Unit.TICKS), forget_after=Duration(forget, Unit.TICKS),
    )  # fmt: skip
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    dry = DryFarm(bound_query(query), WinFarm(n), forgetful=forgetful, late=late)
    assert dry.steps[-1].stage.operator is WindowOperator
    assert observed(dry.run(tables(batches)), query) == expected(outcome, query)
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))
    require_late_rows(dry, outcome)


@settings(max_examples=100, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=2), batches=cut(),
    delay=st.sampled_from([0, 4, 30]), chosen=st.one_of(one_level, two_levels),
    forgetful=st.booleans(), keyed=st.booleans(),
    late=st.booleans(), lateness=st.sampled_from([0, 0, 3, 20]), emit=emits, empty=st.booleans(),
    objects=st.booleans(), forget=st.sampled_from([0, 0, 21, 30]),
)  # fmt: skip
def test_oracle_panes_under_every_pattern_answer_as_the_reference_does(
    window_list: list[Window], batches: list[list[Arrival]], delay: int, chosen: Pattern, forgetful: bool,
    keyed: bool, late: bool, lateness: int, emit: Emit, empty: bool, objects: bool,
    forget: int,
) -> None:  # fmt: skip
    bound = bind(*window_list, delay=delay, **({"aggregates": OBJECTS} if objects else {}))
    more = {"allowed_lateness": Duration(lateness, Unit.TICKS), "emit": emit, "empty": empty}
    more["forget_after"] = Duration(forget, Unit.TICKS)
    bound = replace(bound, query=replace(bound.query, **more))
    if not keyed:
        bound = replace(bound, keys=())
        batches = [[replace(arrival, key=None) for arrival in batch] for batch in batches]
    outcome = evaluate(replace(bound.query, flush=False), [Batch(tuple(batch)) for batch in batches])
    dry = DryFarm(bound, chosen, forgetful=forgetful, late=late)
    assert keeps_panes(dry.steps[-1].stage.bound) is (not objects and not forget)
    rows = dry.run(tables(batches))
    several = len(bound.query.windows) > 1
    shown = [
        (row.get("k"), row["window"].get("name") if several else "", row["window"]["id"],
         row["window"]["start"], row["window"]["end"], *(row[name] for name in bound.aggregates),
         row.get("revision", 0))
        for row in rows
    ]  # fmt: skip
    emitted = [
        (r.key, r.window if several else "", r.id, r.start, r.end, *r.values.values(), r.revision)
        for r in outcome.reports
    ]
    assert sorted(shown, key=repr) == sorted(emitted, key=repr)
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))
    require_late_rows(dry, outcome)


def one_key(times: range) -> list[pa.Table]:
    events = [Arrival(time, "a", {"e": time, "x": 1}) for time in times]
    return tables([events[start : start + 25] for start in range(0, len(events), 25)])


@pytest.mark.parametrize(
    ("chosen", "used"),
    [
        (WinFarm(4), [4]),
        (PaneFarm(3, 2), [3, 2]),
        (WinMapReduce(3, 2), [3, 2]),
        (KeyFarm(WinMapReduce(2, 2), replicas=3), [2, 2]),
        (WinFarm(PaneFarm(2, 1), replicas=2), [4, 2]),
        (KeyFarm(4), [1]),
    ],
    ids=str,
)
def test_one_key_keeps_all_workers_busy_except_those_of_a_key_farm(
    chosen: Pattern, used: list[int]
) -> None:
    dry = DryFarm(bind(windows.time(10, 5)), chosen)
    dry.run(one_key(range(100)))
    assert [len(step.buckets) for step in dry.steps] == used


def test_windows_that_close_one_by_one_go_to_one_agnostic_worker_after_the_other() -> None:
    schema = pa.schema([("held", pa.list_(pa.int64()))])
    query = Query((windows.tumbling(5),), flush=False)
    bound = BoundWhole(
        query, table_of([], TYPES).schema, "t", ("k",),
        Apply(lambda events: {"held": events["e"].to_pylist()}, schema),
    )  # fmt: skip
    dry = DryFarm(bound, WinFarm(3, model="agnostic"))
    rows = dry.run(tables([[Arrival(time, "a", {"e": time, "x": 1})] for time in range(0, 40, 5)]))
    assert [row["held"] for row in rows] == [[time] for time in range(0, 35, 5)]
    assert dry.used == {0, 1, 2}


@pytest.mark.parametrize(
    ("chosen", "used"),
    [
        (WinFarm(3), {0, 1, 2}),
        (WinMapReduce(4, 1), {0, 1, 2, 3}),
        (PaneFarm(3, 2), {0, 1, 2}),
        (KeyFarm(WinMapReduce(2, 1), replicas=2), {0, 1}),
    ],
    ids=str,
)
def test_one_key_keeps_all_workers_busy_that_an_owner_hands_parts_to(
    chosen: Pattern, used: set[int]
) -> None:
    dry = DryFarm(bind(windows.rows(40, every=10)), chosen)
    rows = dry.run(one_key(range(101)))
    assert [row["n"] for row in rows] == [40] * 7
    assert dry.used == used or {worker - 2 for worker in dry.used} == used  # the second share of the keys


@pytest.mark.parametrize("late", [False, True])
def test_agnostic_workers_hold_the_columns_that_a_query_reads(late: bool) -> None:
    query = Query((windows.tumbling(5),), {"s": built_in.sum("x")}, flush=False)
    dry = DryFarm(bound_query(query), WinFarm(2, model="agnostic"), late=late)
    events = [Arrival(time, "a", {"e": time, "x": 1}) for time in (0, 1, 7, 20, 3)]
    rows = dry.run(tables([events[:4], events[4:]]))
    assert [row["s"] for row in rows] == [2, 1]
    assert dry.late is None or [row["e"] for row in dry.late] == [3]


def test_a_hot_key_is_dealt_out_evenly_before_its_panes_are_folded() -> None:
    dry = DryFarm(bind(windows.tumbling(50)), WinMapReduce(2, 1))
    first = dry.steps[0]
    packed = first.packed(iter, one_key(range(25))[0].select(first.stage.columns).to_batches())
    sizes = {
        bucket.as_py(): len(payload.as_py()) for bucket, payload in zip(*packed[0].columns[:2], strict=True)
    }
    assert len(sizes) == 2
    assert max(sizes.values()) < 1.1 * min(sizes.values())


def test_workers_are_spread_evenly_over_sparks_partitions() -> None:
    for workers in range(1, 9):
        placed = [partition_of(bucket, 4) for bucket in worker_buckets(workers, partitions=4)]
        assert [placed.count(partition) for partition in range(4)] == [
            (workers + 3 - partition) // 4 for partition in range(4)
        ]


def test_parts_of_panes_leave_with_their_batch_and_nothing_of_them_is_kept() -> None:
    #  t        0    5    10        pane = gcd(10, 5)
    #           |1 3 |7   |
    #  parts      ^ 3  ^ 7          each at its newest event, which is on time
    bound = bind(windows.time(10, 5))
    operator = PanePartsOperator.load(bound, None, {})
    rows = table_of([Arrival(time, "a", {"e": 0, "x": 1}) for time in (1, 3, 7)], TYPES)
    operator.advance(2)
    late = operator.insert(rows.select(bound.columns), pa.array([0, 1, 2]).to_numpy())
    assert late["t"].to_pylist() == [1]
    assert operator.advance(2).reports["t"].to_pylist() == [3, 7]
    assert operator.advance(20).reports.num_rows == 0
    assert operator.next_timer() is None
    saved = operator.save()
    assert not saved.written
    assert inventory(saved.header, ()).watermark == 20
    assert PanePartsOperator.load(bound, saved.header, {}).clock.value == 20


# What is refused


ROLLING = BoundRolling(
    Query((windows.slide_by_tuple(5, 1).named("five"),), {"n": built_in.count()}, flush=False),
    table_of([], TYPES).schema, "t", ("k",),
)  # fmt: skip


def late(window: Window, **changes: Any) -> BoundQuery:
    return (
        bind(window) if not changes else replace(bind(window), query=replace(bind(window).query, **changes))
    )


@pytest.mark.parametrize(
    ("chosen", "bound", "message"),
    [
        (WinFarm(2, model="agnostic", chunk=7), late(windows.rows(3)), "chunk must be left out on Spark"),
        (WinFarm(2, model="agnostic"), ROLLING, "for rolling features on Spark"),
        (PaneFarm(2, 1), ROLLING, "shares look-backs of hot keys itself"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_with_the_reason(
    chosen: Pattern, bound: BoundQuery, message: str
) -> None:
    with pytest.raises(SashError, match=message):
        require_possible_on_streams(chosen, bound)
    assert impossible_on_streams(chosen, bound) is not None


def test_an_owner_judges_rows_of_another_stateful_step_where_workers_would_share_a_key() -> None:
    bound = late(windows.tumbling(3))
    for chosen in (WinFarm(2), PaneFarm(1, 1), WinMapReduce(1, 1), KeyFarm(PaneFarm(1, 1), replicas=2)):
        assert owner_finds(chosen, bound, derived=True)
        assert not owner_finds(chosen, bound)
        assert impossible_on_streams(chosen, bound, derived=True) is None
    for own in (WinSeq(), KeyFarm(3)):
        assert not owner_finds(own, bound, derived=True)


def test_a_key_that_workers_cannot_hash_is_refused_before_anything_runs() -> None:
    schema = pa.schema([("t", pa.int64()), ("k", pa.large_string())])
    bound = BoundQuery(
        Query((windows.tumbling(3),), {"n": built_in.count()}, flush=False), schema, "t", ("k",)
    )
    for chosen in (WinFarm(2), WinMapReduce(1, 1)):
        with pytest.raises(Unsupported, match="key must be a column of numbers, words"):
            require_possible_on_streams(chosen, bound)
    require_possible_on_streams(KeyFarm(2), bound)


def test_state_that_another_pattern_left_is_refused_by_name() -> None:
    bound = bind(windows.tumbling(10))
    before, after = (DryFarm(bound, chosen).steps[0] for chosen in (WinFarm(2), KeyFarm(2)))
    given = one_key(range(25))[0].select(before.stage.columns).to_batches()
    before.answered(0, before.packed(iter, given), dict.fromkeys(COUNTS, 0))
    for kind in ("value_states", "map_states"):
        for name, state in getattr(before.engine.handle, kind).items():
            getattr(after.engine.handle, kind)[name].state = state.state
    with pytest.raises(DifferentQuery, match=r"pattern was 'WinFarm\(2\)' and is 'KeyFarm\(2\)'"):
        after.answered(0, after.packed(iter, given), dict.fromkeys(COUNTS, 0))


def test_what_the_algebra_forbids_is_forbidden_on_streams_too() -> None:
    bound = bound_query(Query((windows.slide_by_tuple(3, 1),), AGGREGATES, flush=False))
    reason = refusal(sash.WinFarm(2), bound)
    assert reason is not None
    assert "'agnostic'" in str(reason)
