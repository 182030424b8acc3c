"""The planner's rules: what is chosen from which facts, never what is forbidden, always the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError
from sash.operators.bound_query import BoundQuery
from sash.operators.patterns.allowed import refusal
from sash.planner.auto_declaration import AUTO, Auto
from sash.planner.costs.constants import DEFAULTS, Costs, ProcessCosts
from sash.planner.costs.spark_batch import bucket_tasks
from sash.planner.costs.step import total
from sash.planner.facts import EventFacts, Facts, RuntimeName, cut_of
from sash.planner.plans.candidates import candidates, named, never
from sash.planner.plans.cheapest_pattern import (
    SMALL,
    TIE,
    Plan,
    by_key,
    cheapest,
    is_small,
    make_plan,
    steps_of,
)
from sash.planner.plans.degrees import degrees, of_all_degrees
from sash.runtimes.spark.patterns.static_plan import impossible, not_planned
from sash.runtimes.spark.patterns.stream_plan import impossible_on_streams, not_planned_on_streams
from tests.runtimes.strategies import any_window

SCHEMA = pa.schema(
    [("t", pa.int64()), ("k", pa.int64()), ("x", pa.float64()), ("i", pa.int64()), ("s", "str")]
)
MILLION = EventFacts(rows=1_000_000, keys=100, hottest=0.01, span=1_000_000, known="counted")
ONE_KEY = replace(MILLION, keys=1, hottest=1.0)
HOT = replace(MILLION, hottest=0.99)

HEAVY = {f"r{n}": sash.correlation("x", "i") for n in range(8)}
LIGHT = {"n": sash.count()}
ORDERED = {"f": sash.first("x")}
OBJECTS = {"c": sash.distinct("i")}


def query(window: Any, aggregates: dict[str, Any], **options: Any) -> BoundQuery:
    stream = sash.stream(SCHEMA.empty_table(), time="t", key="k")
    return stream.window(window, **options).agg(**aggregates).bound


def rolling(aggregates: dict[str, Any]) -> BoundQuery:
    stream = sash.stream(SCHEMA.empty_table(), time="t", key="k")
    return stream.rolling(1_000).agg(**aggregates).bound


def whole(window: Any) -> BoundQuery:
    stream = sash.stream(SCHEMA.empty_table(), time="t", key="k")
    return stream.window(window).apply(len, schema="n bigint").bound


def plan_of(
    bound: BoundQuery,
    events: EventFacts,
    *,
    where: Any = "process",
    cores: int = 4,
    parallelism: Any = AUTO,
    function: float | None = None,
    costs: Costs = DEFAULTS,
    only_raced: bool = False,
) -> Plan:
    facts = Facts.of(bound, events, where=where, cores=cores, function=function)
    refuse = {"spark batch": not_planned, "spark streaming": not_planned_on_streams}.get(where, never)
    return make_plan(bound, facts, costs, parallelism=parallelism, refuse=refuse, only_raced=only_raced)


@pytest.mark.parametrize(
    ("bound", "events", "how", "chosen"),
    [
        (query(sash.tumbling(100), LIGHT), MILLION, {}, "KeyFarm(4)"),
        (query(sash.sliding(9_000, every=90), HEAVY), MILLION, {}, "KeyFarm(4)"),
        # One key, or a hot one: its panes or its windows are shared out.
        (query(sash.rows(1_000, every=10), HEAVY), ONE_KEY, {}, "PaneFarm(plq=4, wlq=4)"),
        (query(sash.rows(1_000, every=10), HEAVY), HOT, {}, "PaneFarm(plq=4, wlq=4)"),
        (
            query(sash.rows(1_000, every=7), HEAVY),
            replace(HOT, rows=10**7),
            {},
            "WinFarm(4, model='agnostic')",
        ),
        (query(sash.rows(1_000, every=10), HEAVY), MILLION, {"cores": 1}, "WinSeq()"),
        (query(sash.rows(1_000, every=100), OBJECTS), MILLION, {}, "PaneFarm(plq=1, wlq=1)"),
        (query(sash.rows(1_000, every=7), OBJECTS), MILLION, {}, "WinSeq()"),
        (query(sash.tumbling(100), OBJECTS), MILLION, {}, "WinSeq()"),
        (whole(sash.rows(100, every=10)), MILLION, {"function": 1e-7}, "WinSeq()"),
        (whole(sash.rows(100, every=10)), MILLION, {"function": 1e-2}, "KeyFarm(4)"),
        (whole(sash.rows(100, every=10)), ONE_KEY, {"function": 1e-2}, "WinFarm(4, model='agnostic')"),
        (whole(sash.rows(100, every=10)), HOT, {"function": 1e-2}, "WinFarm(4, model='agnostic')"),
    ],
)
def test_the_choice_in_process_follows_keys_overlap_and_algebra(
    bound: BoundQuery, events: EventFacts, how: dict[str, Any], chosen: str
) -> None:
    assert plan_of(bound, events, **how).chosen.name == chosen


UNKNOWN = EventFacts(rows=10_000_000, keys=1_000, hottest=0.001)
SPARSE = replace(UNKNOWN, span=10_000_000_000, known="sampled")
KEY_BY_KEY = "KeyFarm(PaneFarm(plq=1, wlq=1), replicas=4)"


@pytest.mark.parametrize(
    ("bound", "events", "how", "chosen"),
    [
        # What is folded before the shuffle travels less, and a hot key is small by then.
        (query(sash.tumbling(100), LIGHT), UNKNOWN, {}, KEY_BY_KEY),
        (query(sash.tumbling(100), LIGHT), replace(UNKNOWN, hottest=0.99), {}, KEY_BY_KEY),
        # A pane for each event: there is nothing to fold.
        (query(sash.tumbling(100), LIGHT), SPARSE, {}, "buckets of keys"),
        # Not commutative, or not of numbers: rows are folded after the shuffle, in order.
        (query(sash.tumbling(100), ORDERED), UNKNOWN, {}, "buckets of keys"),
        (query(sash.tumbling(100), OBJECTS), UNKNOWN, {}, "buckets of keys"),
        (query(sash.rows(100), LIGHT), UNKNOWN, {}, "buckets of keys"),
        (query(sash.tumbling(100), ORDERED), replace(UNKNOWN, hottest=0.9), {}, "WinFarm(4)"),
        # Look-backs of a hot key are shared if they cost more than to route rows first.
        (rolling(HEAVY), UNKNOWN, {}, "buckets of keys"),
        (rolling(HEAVY), replace(UNKNOWN, hottest=0.9), {"cores": 8}, "PaneFarm(plq=8, wlq=8)"),
        (
            rolling(LIGHT),
            replace(UNKNOWN, hottest=0.9, rows=10_000, known="given"),
            {},
            "buckets of keys",
        ),
        (rolling(ORDERED), replace(UNKNOWN, hottest=0.9), {}, "buckets of keys"),
        (rolling(OBJECTS), replace(UNKNOWN, hottest=0.9), {}, "buckets of keys"),
        # Rows do not tell which window of rows they are in; whole windows of a hot key can still be spread.
        (
            whole(sash.rows(100, every=10)),
            replace(UNKNOWN, hottest=0.9),
            {},
            "WinFarm(4, model='agnostic')",
        ),
        (whole(sash.rows(100, every=10)), UNKNOWN, {}, "buckets of keys"),
    ],
)
def test_the_choice_on_spark_follows_what_travels_and_where_the_hot_key_is(
    bound: BoundQuery, events: EventFacts, how: dict[str, Any], chosen: str
) -> None:
    assert plan_of(bound, events, where="spark batch", **how).chosen.name == chosen


def test_a_stream_of_which_nothing_is_said_has_one_candidate_and_says_why() -> None:
    plan = plan_of(query(sash.tumbling(100), LIGHT), UNKNOWN, where="spark streaming")
    assert [one.name for one in plan.candidates] == ["buckets of keys"]
    assert "keys are hashed into buckets" in plan.why


GIVEN = replace(UNKNOWN, known="given")


@pytest.mark.parametrize(
    ("bound", "events", "chosen"),
    [
        (whole(sash.rows(100, every=10)), replace(GIVEN, hottest=0.99), "WinFarm(4, model='agnostic')"),
        (whole(sash.rows(100, every=10)), GIVEN, "buckets of keys"),
        # A cheap aggregate of a hot key takes less than another step in every micro-batch.
        (query(sash.tumbling(100), LIGHT), replace(GIVEN, hottest=0.99), "buckets of keys"),
        (query(sash.tumbling(100), LIGHT), GIVEN, "buckets of keys"),
    ],
)
def test_the_choice_on_a_stream_follows_what_is_said_of_its_events(
    bound: BoundQuery, events: EventFacts, chosen: str
) -> None:
    assert plan_of(bound, events, where="spark streaming").chosen.name == chosen


# Panes that are folded before events are arranged


DENSE = EventFacts(rows=10_000_000, keys=10, hottest=0.1, span=1_000_000, known="counted")


def test_early_folding_is_in_the_estimate_of_every_candidate() -> None:
    plan = plan_of(query(sash.sliding(10_000, every=1_000), LIGHT), DENSE)
    assert all(one.steps[0].what == "fold panes as events stand" for one in plan.candidates)
    # What follows is about panes: a thousand of them for each of ten keys, and a part more for each block.
    assert plan.facts.early == pytest.approx(1_000 * 10, rel=0.1)
    assert plan.chosen.name == "WinSeq()"
    unfolded = plan_of(query(sash.sliding(10_000, every=1_000), ORDERED), DENSE)
    assert unfolded.facts.early is None
    assert plan.chosen.seconds < unfolded.chosen.seconds / 3


@pytest.mark.parametrize(
    ("window", "aggregates", "events"),
    [
        (sash.tumbling(1_000), ORDERED, DENSE),
        (sash.rows(1_000), LIGHT, DENSE),
        (sash.tumbling(1_000), LIGHT, replace(DENSE, rows=1_000_000)),  # too few rows to try
        (sash.tumbling(1_000), LIGHT, replace(DENSE, keys=10**6)),  # an event or so a pane
    ],
)
def test_what_will_not_be_folded_early_is_not_estimated_as_if_it_were(
    window: Any, aggregates: dict[str, Any], events: EventFacts
) -> None:
    plan = plan_of(query(window, aggregates), events)
    assert plan.facts.early is None
    assert all(one.steps[0].what == "arrange events" for one in plan.candidates)


def test_a_pattern_that_was_asked_for_is_estimated_with_what_it_does() -> None:
    bound = query(sash.sliding(10_000, every=1_000), LIGHT)
    whole = plan_of(bound, DENSE, parallelism=sash.WinFarm(3, model="agnostic"))
    assert whole.chosen.steps[0].what == "arrange events"
    assert whole.candidates[0].steps[0].what == "fold panes as events stand"
    for pattern in (sash.KeyFarm(3), sash.WinMapReduce(3, 2)):
        dealt = plan_of(bound, DENSE, parallelism=pattern).chosen.steps[0]
        assert (dealt.what, dealt.share) == ("fold panes as events stand", 1 / 3)


def test_what_is_as_good_as_the_best_but_simpler_wins() -> None:
    plan = plan_of(query(sash.rows(1_000, every=100), OBJECTS), MILLION)
    equal = [one.name for one in plan.candidates if one.seconds <= plan.chosen.seconds * (1 + TIE)]
    assert equal[:2] == ["PaneFarm(plq=1, wlq=1)", "PaneFarm(plq=4, wlq=4)"]
    assert plan.chosen.name == equal[0]
    # Simpler is earlier in the list, and the list begins with a single worker.
    assert named(candidates("process", 4)[0]) == "WinSeq()"
    assert candidates("spark batch", 4)[0] is None


WINDOWS = st.one_of(any_window)
EVENTS = st.builds(
    EventFacts,
    rows=st.integers(0, 10**9),
    keys=st.integers(1, 10**6),
    hottest=st.floats(0.001, 1.0),
    span=st.one_of(st.none(), st.integers(0, 10**12)),
    known=st.sampled_from(["assumed", "given", "counted"]),
)
AGGREGATES = st.sampled_from([LIGHT, ORDERED, OBJECTS, LIGHT | ORDERED, {"s": sash.sum("i")}])


@settings(deadline=None)
@given(
    window=WINDOWS, events=EVENTS, aggregates=AGGREGATES, cores=st.integers(1, 64),
    where=st.sampled_from(["process", "spark batch", "spark streaming"]), as_function=st.booleans(),
)  # fmt: skip
def test_what_is_forbidden_is_never_a_candidate_and_equal_facts_give_equal_plans(
    window: Any, events: EventFacts, aggregates: dict[str, Any], cores: int, where: Any, as_function: bool
) -> None:
    schema = SCHEMA.empty_table()
    windowed = sash.stream(schema, time="t", key="k").window(window.named("w"))
    windows = windowed.apply(len, schema="n bigint") if as_function else windowed.agg(**aggregates)
    plan = plan_of(windows.bound, events, where=where, cores=cores)
    assert plan == plan_of(windows.bound, events, where=where, cores=cores)
    small = is_small(plan.facts, DEFAULTS)
    raced = tuple(one for one in plan.candidates if not small or by_key(one.pattern))
    assert plan.chosen == cheapest(raced)
    quickly = plan_of(windows.bound, events, where=where, cores=cores, only_raced=True)
    assert (quickly.chosen, quickly.candidates) == (plan.chosen, raced)
    for one in plan.candidates:
        assert one.seconds >= 0
        if one.pattern is not None:
            assert refusal(one.pattern, windows.bound) is None
            assert where != "spark batch" or impossible(one.pattern, windows.bound) is None
            assert where != "spark streaming" or impossible_on_streams(one.pattern, windows.bound) is None
    assert not {one.pattern for one in plan.forbidden} & {one.name for one in plan.candidates}


def test_a_short_query_shares_out_keys_if_anything_and_says_so() -> None:
    bound = query(sash.rows(50, every=10), HEAVY)
    free = Costs(process=ProcessCosts(job=0.0, call=0.0))
    few, many = (EventFacts(rows, 1, 1.0, rows) for rows in (20_000, 2_000_000))
    plan = plan_of(bound, few, costs=free)
    assert by_key(plan.pattern)
    assert not by_key(cheapest(plan.candidates).pattern)
    assert plan.why.endswith("; of less than 20 ms only keys are shared out")
    assert not by_key(plan_of(bound, many, costs=free).pattern)


def test_what_python_computes_is_not_known_to_be_short() -> None:
    bound, few = query(sash.rows(1_000, every=10), OBJECTS), EventFacts(2_000, 1, 1.0, 2_000)
    plan = plan_of(bound, few)
    assert plan.chosen.seconds < SMALL
    assert plan.chosen == cheapest(plan.candidates)
    assert plan.pattern == sash.PaneFarm(1, 1)


def test_a_forbidden_pattern_is_listed_with_the_reason() -> None:
    plan = plan_of(query(sash.session(5), ORDERED), MILLION)
    reasons = {one.pattern.partition("(")[0]: one.reason for one in plan.forbidden}
    assert set(reasons) == {"PaneFarm", "WinMapReduce"}
    assert "tiled by panes" in reasons["PaneFarm"]
    assert "not declared commutative" in reasons["WinMapReduce"]


def test_a_pattern_that_was_asked_for_is_taken_and_compared_with_the_planners_own() -> None:
    bound = query(sash.tumbling(100), LIGHT)
    plan = plan_of(bound, MILLION, parallelism=sash.WinFarm(3))
    assert plan.forced
    assert plan.pattern == sash.WinFarm(3)
    assert plan.why == "as requested; by itself the planner would choose KeyFarm(4)"
    assert (
        plan_of(bound, MILLION, parallelism=sash.KeyFarm(4)).why
        == "as requested, and as the planner would choose"
    )


def test_a_machine_with_other_constants_gets_another_plan() -> None:
    bound = query(sash.rows(1_000, every=10), HEAVY)
    slow_threads = Costs(process=ProcessCosts(job=1e9), measured=True)
    plan = plan_of(bound, ONE_KEY, costs=slow_threads)
    assert plan.chosen.name == "WinSeq()"
    assert plan.measured


@pytest.mark.parametrize(
    ("window", "overlap", "windows", "panes"),
    [
        (sash.rows(10, every=5), 2.0, 20_050.0, 20_000.0),
        (sash.tumbling(100), 1.0, 100_025.0, 100_000.0),
        (sash.sliding(100, every=50), 2.0, 200_125.0, 200_050.0),
        (sash.sliding(100, every=33), 100 / 33, 303_263.8, 100_000.0),
        (sash.hopping(10, every=100), 0.1, 100_025.0, 100_000.0),
        (sash.cumulate(100, 10), 5.5, 1_000_025.0, 100_000.0),
        (sash.slide_by_tuple(1_000, 2), 5.0, 50_000.0, None),
        (sash.session(10), 1.0, 10_000.0, None),
    ],
    ids=str,
)
def test_windows_and_panes_are_counted_from_rows_keys_and_span(
    window: Any, overlap: float, windows: float, panes: float | None
) -> None:
    cut = cut_of(window, EventFacts(rows=100_000, keys=100, hottest=0.01, span=100_000), SCHEMA)
    assert cut.overlap == pytest.approx(overlap)
    assert cut.windows == pytest.approx(min(windows, 100_000 * max(1.0, overlap)), rel=0.05)
    assert cut.panes == (None if panes is None else pytest.approx(min(panes, 100_000), rel=0.05))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": 0}, "rows must be a positive whole number"),
        ({"keys": 1.5}, "keys must be a positive whole number"),
        ({"cores": True}, "cores must be a positive whole number"),
        ({"hottest": 1.5}, "hottest must be a share of the events"),
    ],
)
def test_what_cannot_be_true_of_the_events_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Auto(**given)


def test_auto_is_the_default_and_takes_what_is_known() -> None:
    windowed = sash.stream(SCHEMA.empty_table(), time="t", key="k").window(sash.tumbling(5))

    def chosen(query: sash.WindowQuery) -> Any:
        return query.source.parallelism

    assert chosen(windowed.agg(**LIGHT)) == chosen(windowed.parallel("auto").agg(**LIGHT)) == sash.Auto()
    assert chosen(windowed.agg(**LIGHT).parallel(sash.Auto(cores=3))) == sash.Auto(cores=3)
    with pytest.raises(ArgumentError, match="'auto', a number of workers, or a pattern"):
        windowed.parallel("fast")


def test_fewer_workers_than_cores_are_chosen_where_handing_out_costs_more() -> None:
    bound, chosen = query(sash.rows(100, every=10), HEAVY), []
    for rows in (200_000, 50_000_000):
        plan = plan_of(bound, replace(MILLION, rows=rows), cores=64)
        farms = (one.pattern for one in plan.candidates if isinstance(one.pattern, sash.KeyFarm))
        chosen.append(next(farms).degree)
    few, many = chosen
    assert 1 < few < many <= 64


def test_more_tasks_than_cores_are_chosen_where_few_keys_are_shared_out_unevenly() -> None:
    bound = query(sash.tumbling(100), ORDERED)
    estimate = {
        keys: plan_of(bound, replace(UNKNOWN, keys=keys, hottest=1 / keys), where="spark batch", cores=4)
        for keys in (40, 1_000_000)
    }
    farms = {
        keys: {
            degree: total(steps_of(sash.KeyFarm(degree), plan.facts, DEFAULTS))
            for degree in degrees("spark batch", 4)
        }
        for keys, plan in estimate.items()
    }
    assert farms[40][16] < 0.95 * farms[40][4]
    assert farms[1_000_000][16] > 0.95 * farms[1_000_000][4]


@pytest.mark.parametrize("where", ["process", "spark batch"])
def test_no_other_degree_of_a_candidate_is_clearly_better(where: RuntimeName) -> None:
    for events in (MILLION, HOT, ONE_KEY, replace(MILLION, rows=3_000)):
        plan = plan_of(query(sash.rows(1_000, every=10), HEAVY), events, where=where, cores=16)
        for one in plan.candidates:
            if one.pattern is None:
                continue
            for other in of_all_degrees(one.pattern, where, 16):
                assert one.seconds <= (1 + TIE) * total(steps_of(other, plan.facts, DEFAULTS))


def test_a_shuffle_by_key_has_fewer_tasks_where_rows_are_known_to_be_few() -> None:
    bound = query(sash.rows(50, every=12), HEAVY)
    tasks = {
        (events.rows, events.known): bucket_tasks(
            Facts.of(bound, events, where="spark batch", cores=2), DEFAULTS.spark, DEFAULTS.process
        )
        for events in (
            replace(MILLION, rows=20_000, known="sampled"),
            replace(MILLION, rows=20_000, known="assumed"),
            replace(MILLION, rows=50_000_000, known="sampled"),
        )
    }
    assert tasks == {(20_000, "sampled"): 2, (20_000, "assumed"): 8, (50_000_000, "sampled"): 8}
