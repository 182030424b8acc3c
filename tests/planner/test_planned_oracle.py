"""Whatever the planner chooses runs, and answers as the reference does."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.operators.bounded_input import answer
from sash.planner.costs.constants import DEFAULTS, ProcessCosts
from sash.planner.facts import Facts
from sash.planner.plans.function_trial import TriedFirst
from sash.planner.sampling import counted
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
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
    facts = Facts.of(bound, counted(bound, table, sash.Auto()), where="process", cores=2)
    free_processes = replace(DEFAULTS, process=ProcessCosts(start=1.0, handing=1.0))
    tried = TriedFirst(facts, free_processes, trial=trial, clock=Ticks())
    assert answer(bound, table, evaluate=tried).reports.equals(answer(bound, table).reports)


def test_a_function_that_cannot_travel_is_computed_here() -> None:
    lock = Lock()

    def guarded(events: pa.Table) -> dict[str, int]:
        with lock:
            return {"n": events.num_rows}

    table, bound = whole(100, guarded)
    facts = Facts.of(bound, counted(bound, table, sash.Auto()), where="process", cores=2)
    free_processes = replace(DEFAULTS, process=ProcessCosts(start=1.0, handing=1.0))
    tried = TriedFirst(facts, free_processes, trial=1.5, clock=Ticks())
    assert answer(bound, table, evaluate=tried).reports.num_rows == 50


def test_a_slow_function_goes_to_worker_processes_once_it_is_known_to_be_slow() -> None:
    def slowly(events: pa.Table) -> dict[str, int]:
        time.sleep(0.05)
        return {"n": os.getpid()}

    table, bound = whole(120, slowly)
    facts = Facts.of(bound, counted(bound, table, sash.Auto()), where="process", cores=2)
    reports = answer(bound, table, evaluate=TriedFirst(facts, DEFAULTS, trial=0.1)).reports
    pids = reports["n"].to_pylist()
    assert pids[0] == os.getpid()
    assert len({*pids} - {os.getpid()}) == 2
    assert pids.count(os.getpid()) < len(pids) / 2


@pytest.mark.spark
def test_to_plan_a_spark_query_runs_no_job(spark: SparkSession) -> None:
    df = spark.range(10).selectExpr("id AS t", "raise_error('this row was read') AS k")
    query = sash.stream(df, time="t", key="k").window(sash.tumbling(5)).agg(n=sash.count())
    query.explain("json")
    assert query.dataframe().columns == ["k", "window", "n"]
