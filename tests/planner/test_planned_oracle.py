"""Whatever the planner chooses runs, and answers as the reference does."""

from __future__ import annotations

import os
import time
from ast import literal_eval
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.operators.bound_query import BoundQuery
from sash.operators.bounded_input import answer
from sash.planner.costs.constants import DEFAULTS, ProcessCosts
from sash.planner.facts import Facts
from sash.planner.plans import function_trial
from sash.planner.plans.function_trial import TriedFirst
from sash.planner.plans.interpreted_trial import InterpretedFirst, interpreted_facts
from sash.planner.sampling import facts_of_table
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import ContextFreeWindow, Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"e": pa.int64(), "x": pa.int64()}
AGGREGATES = {
    "n": built_in.count(),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "held": built_in.collect("e"),
    "first": built_in.first("x"),
    "top": built_in.top_k("x", 2),
}
# A failing example is not made smaller here, job by job.
ONCE = [Phase.explicit, Phase.generate]
names = st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, max_size=3, unique=True)


@settings(max_examples=150, deadline=None)
@given(
    window=any_window, stream=arrivals(), chosen=names, pick=st.integers(0, 9), cores=st.integers(1, 5),
    empty=st.booleans(),
)  # fmt: skip
def test_oracle_the_plan_and_every_other_candidate_answer_as_the_reference_does(
    window: Window, stream: list[Arrival], chosen: list[str], pick: int, cores: int, empty: bool
) -> None:
    aggregates = {name: AGGREGATES[name] for name in chosen}
    table = table_of(stream, TYPES)
    query = sash.stream(table, time="t", key="k").window(window, empty=empty).agg(**aggregates)
    plan = query.parallel(sash.Auto(cores=cores)).source.plan(query.bound)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    expected = expected_rows(oracle.reports, chosen, named=False)
    assert rows_of(query.parallel(sash.Auto(cores=cores)).collect(), chosen) == expected
    # With more events, or on another machine, any of the others could be the one.
    other = plan.candidates[pick % len(plan.candidates)].pattern
    assert other is not None
    assert rows_of(query.parallel(other).collect(), chosen) == expected


@pytest.mark.spark
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=ONCE)
@given(
    window=any_window, stream=arrivals(), chosen=names, empty=st.booleans(), flush=st.booleans(),
    hottest=st.sampled_from([None, 0.99]), sample=st.booleans(),
)  # fmt: skip
def test_oracle_the_planned_pattern_on_spark_answers_as_the_reference_does(
    spark: SparkSession,
    window: Window,
    stream: list[Arrival],
    chosen: list[str],
    empty: bool,
    flush: bool,
    hottest: float | None,
    sample: bool,
) -> None:
    aggregates = {name: AGGREGATES[name] for name in chosen}
    df = spark.createDataFrame(table_of(stream, TYPES))
    auto = sash.Auto(hottest=hottest, sample=sample)
    windowed = sash.stream(df, time="t", key="k").window(window, empty=empty, flush=flush)
    query = windowed.parallel(auto).agg(**aggregates)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), chosen) == expected_rows(oracle.reports, chosen, named=False)


@pytest.mark.spark
@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("in_sql", [True, False])
def test_oracle_panes_are_folded_before_the_shuffle_by_default(
    spark: SparkSession, keyed: bool, in_sql: bool
) -> None:
    aggregate = sash.sum("x") if in_sql else sash.skewness("x")
    stream = [Arrival(t, "abc"[t % 3], {"e": t, "x": t % 7}) for t in range(200)]
    key = {"key": "k"} if keyed else {}
    df = spark.createDataFrame(table_of(stream, TYPES))
    query = sash.stream(df, time="t", **key).window(sash.sliding(20, every=5)).agg(s=aggregate)
    plan = query.source.plan(query.bound)
    assert plan.facts.folded_by_spark is in_sql
    assert ("PaneFarm" in plan.chosen.name) is not in_sql
    local = sash.stream(table_of(stream, TYPES), time="t", **key).window(sash.sliding(20, every=5))
    found, expected = query.collect(), local.agg(s=aggregate).collect()
    assert found.drop_columns("s").equals(expected.drop_columns("s"))
    # Another plan adds floats in another order.
    assert found["s"].to_pylist() == [
        value if value is None else pytest.approx(value, abs=1e-12) for value in expected["s"].to_pylist()
    ]


def counts(events: pa.Table) -> dict[str, int]:
    return {"n": events.num_rows}


class Ticks:
    """A clock that goes on by a second each time somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def whole(rows: int, fn: Any = counts) -> Any:
    table = pa.table({"t": range(rows)})
    return table, sash.stream(table, time="t").window(sash.rows(5, every=2)).apply(
        fn, schema="n bigint"
    ).bound


@pytest.mark.parametrize("trial", [0.0, 1.5, 3.5, 1e9])
def test_differential_windows_that_were_tried_first_are_not_computed_again(trial: float) -> None:
    table, bound = whole(100)
    facts = Facts.of(bound, facts_of_table(bound, table, sash.Auto()), where="process", cores=2)
    free_processes = replace(DEFAULTS, process=ProcessCosts(start=1.0, handing=1.0))
    tried = TriedFirst(lambda: facts, free_processes, trial=trial, clock=Ticks())
    assert answer(bound, table, evaluate=tried).reports.equals(answer(bound, table).reports)


def test_a_function_that_cannot_travel_is_computed_here() -> None:
    lock = Lock()

    def guarded(events: pa.Table) -> dict[str, int]:
        with lock:
            return {"n": events.num_rows}

    table, bound = whole(100, guarded)
    facts = Facts.of(bound, facts_of_table(bound, table, sash.Auto()), where="process", cores=2)
    free_processes = replace(DEFAULTS, process=ProcessCosts(start=1.0, handing=1.0))
    tried = TriedFirst(lambda: facts, free_processes, trial=1.5, clock=Ticks())
    assert answer(bound, table, evaluate=tried).reports.num_rows == 50


def test_a_slow_function_goes_to_worker_processes_once_it_is_known_to_be_slow() -> None:
    def slowly(events: pa.Table) -> dict[str, int]:
        time.sleep(0.05)
        return {"n": os.getpid()}

    table, bound = whole(120, slowly)
    facts = Facts.of(bound, facts_of_table(bound, table, sash.Auto()), where="process", cores=2)
    reports = answer(bound, table, evaluate=TriedFirst(lambda: facts, DEFAULTS, trial=0.1)).reports
    pids = reports["n"].to_pylist()
    assert pids[0] == os.getpid()
    assert len({*pids} - {os.getpid()}) == 2
    assert pids.count(os.getpid()) < len(pids) / 2


def sets(*, work: int = 0) -> Monoid:
    """The values of a window and the processes that have lifted them, after so many additions each."""

    def lift(x: int) -> frozenset[tuple[int, int]]:
        sum(range(work))
        return frozenset([(x, os.getpid())])

    return Monoid(
        "sets", ("x",), frozenset, lift, frozenset.union,
        lambda found: [number for pair in sorted(found) for number in pair],
        commutative=True, result=lambda types: pa.list_(pa.int64()),
        encode=lambda found: repr(sorted(found)).encode(),
        decode=lambda data: frozenset(literal_eval(data.decode())),
    )  # fmt: skip


def interpreted(rows: int, window: Window, **aggregates: Monoid) -> tuple[pa.Table, BoundQuery, Facts]:
    table = pa.table({"t": range(rows), "x": range(rows), "k": [row % 3 for row in range(rows)]})
    bound = sash.stream(table, time="t", key="k").window(window).agg(**aggregates).bound
    facts = Facts.of(bound, facts_of_table(bound, table, sash.Auto()), where="process", cores=2)
    return table, bound, interpreted_facts(facts, bound)


@pytest.mark.parametrize("trial", [0.0, 1.5, 3.5, 1e9])
@pytest.mark.parametrize("pattern", [sash.WinSeq(), sash.KeyFarm(2), sash.PaneFarm(1, 1)], ids=str)
@pytest.mark.parametrize(
    "window", [sash.rows(7, every=3), sash.sliding(12, every=4), sash.session(2)], ids=str
)
def test_differential_aggregates_that_were_tried_first_have_the_same_values(
    trial: float, pattern: Any, window: Window
) -> None:
    chosen = {"n": sash.count(), "top": sash.top_k("x", 2), "s": sash.sum("x"), "kinds": sash.collect("x")}
    table, bound, facts = interpreted(200, window, **chosen)
    if not isinstance(window, ContextFreeWindow):
        pattern = sash.KeyFarm(2)
    free_processes = replace(DEFAULTS, process=ProcessCosts(start=1.0, handing=1.0))
    tried = InterpretedFirst(lambda: facts, free_processes, trial=trial, clock=Ticks(), pattern=pattern)
    assert answer(bound, table, evaluate=tried).reports.equals(answer(bound, table).reports)


def test_aggregates_whose_calls_take_long_go_to_worker_processes_once_that_is_known() -> None:
    window = sash.sliding(6, every=3)
    table, bound, facts = interpreted(900, window, seen=sets(work=300_000), n=sash.count())
    found = (
        answer(bound, table, evaluate=InterpretedFirst(lambda: facts, DEFAULTS)).reports["seen"].to_pylist()
    )
    pids = [pid for values in found for pid in values[1::2]]
    assert pids[0] == os.getpid()
    assert pids.count(os.getpid()) < len(pids) / 2
    _, collected, _ = interpreted(900, window, seen=sash.collect("x"))
    assert [values[::2] for values in found] == answer(collected, table).reports["seen"].to_pylist()


def test_aggregates_of_cheap_calls_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_trial, "idle", lambda: 0)
    table, bound, facts = interpreted(2_000, sash.sliding(60, every=30), seen=sets())
    found = answer(bound, table, evaluate=InterpretedFirst(lambda: facts, DEFAULTS, trial=0.0)).reports[
        "seen"
    ]
    assert {pid for values in found.to_pylist() for pid in values[1::2]} == {os.getpid()}


def test_explain_of_interpreted_aggregates_names_the_trial() -> None:
    table, _, _ = interpreted(10, sash.tumbling(5), top=sash.top_k("x", 2))
    windowed = sash.stream(table, time="t").window(sash.tumbling(5))
    query = windowed.agg(top=sash.top_k("x", 2), n=sash.count()).parallel(sash.Auto(cores=2))
    assert (
        "top, interpreted: the first windows here for 0.1 s, the rest in worker processes"
        in query.explain("plan")
    )


@pytest.mark.spark
def test_to_plan_a_spark_query_runs_no_job(spark: SparkSession) -> None:
    df = spark.range(10).selectExpr("id AS t", "raise_error('this row was read') AS k")
    query = sash.stream(df, time="t", key="k").window(sash.tumbling(5)).agg(n=sash.count())
    query.explain("json")
    assert query.dataframe().columns == ["k", "window", "n"]
