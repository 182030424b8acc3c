"""Sash as an engine, in process and batch after batch: just what the simulator returns, for every key."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import DataError
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.kinds.as_engine_ranges import on_columns
from sash.semantics.query import Query
from sash.semantics.secret import Origin, Profile, Scope, profile
from tests.runtimes.operator_runtime import elements_of
from tests.runtimes.run_as_cases import SCHEMA, Question, Shown, published, questions, shown
from tests.semantics.test_secret_model import LENGTHS, inputs, profiles

RANDOM = questions(250, inputs=8, seed=7)
"""2,000 cases: 250 queries over eight inputs each."""


def in_process(question: Question) -> dict[str, list[Shown]]:
    windowed = sash.stream(question.table, time="t", key="k").window(question.declared)
    return shown(windowed.semantics(question.engine).agg(held=sash.collect("e")).collect().to_pylist())


def in_batches(question: Question, rng: random.Random) -> dict[str, list[Shown]]:
    """Through the streaming operator, which is saved after each batch, and often loaded again."""
    query = Query((question.window,), {"held": built_in.collect("e")}, flush=False)
    bound = BoundQuery(query, SCHEMA, "t", ("k",))
    operator, chunks, rows = WindowOperator.load(bound, None, {}), {}, []
    watermark = -(2**60)
    for batch in question.batches(rng):
        operator.insert(batch, np.arange(batch.num_rows))
        watermark = max([watermark, *batch["t"].to_pylist()])
        rows += operator.advance(watermark).reports.to_pylist()
        saved = operator.save()
        chunks = {number: data for number, data in chunks.items() if number not in saved.dropped}
        chunks |= saved.written
        if rng.random() < 0.5:
            operator = WindowOperator.load(bound, saved.header, chunks)
        else:
            operator.resume(saved.header, chunks)
    return shown(rows)


def test_there_are_two_thousand_cases_of_every_engine_and_kind() -> None:
    assert sum(len(question.inputs) for question in RANDOM) == 2000
    assert {question.engine for question in RANDOM} == set(sash.secret.names()) - {"azure"}
    counted = {question.engine for question in RANDOM if question.kind == "count"}
    assert counted == {name for name in sash.secret.names() if profile(name).scope.count}


def test_oracle_two_thousand_random_cases_are_reported_as_the_simulator_says() -> None:
    for question in RANDOM:
        assert in_process(question) == question.expected(ended=True), question


def test_oracle_two_thousand_random_cases_in_micro_batches_are_reported_as_the_simulator_says() -> None:
    rng = random.Random(11)
    for question in RANDOM:
        assert in_batches(question, rng) == question.expected(ended=False), question


def test_oracle_the_published_experiments_come_out_in_process_and_in_micro_batches() -> None:
    rng = random.Random(13)
    for question in published():
        assert in_process(question) == question.expected(ended=True), question
        assert in_batches(question, rng) == question.expected(ended=False), question


@settings(max_examples=200, deadline=None)
@given(
    engine=profiles(), first=inputs(batched=False), second=inputs(batched=False), size=LENGTHS,
    slide=LENGTHS, kind=st.sampled_from(["time", "count"]), rng=st.randoms(use_true_random=False),
)  # fmt: skip
def test_oracle_any_profile_of_ones_own_is_run_as_the_simulator_says(
    engine: Profile, first: Any, second: Any, size: int, slide: int, kind: Any, rng: random.Random
) -> None:
    question = Question(engine, size, slide, kind, {"a": tuple(first[0]), "b": tuple(second[0])})
    assert in_process(question) == question.expected(ended=True)
    assert in_batches(question, rng) == question.expected(ended=False)


def test_an_origin_of_ones_own_is_computed_for_every_key() -> None:
    origin = Origin("ts1 − 1", lambda ts1, size, slide: ts1 - 1)
    mine = replace(profile("flink"), scope=Scope(time=origin))
    question = Question(mine, 2, 2, "time", {"a": (10, 11, 12, 14), "b": (11, 12, 13, 15)})
    #   a   10 11 | 12 .  | 14            b   11 12 | 13 .  | 15
    assert [report[-1] for report in in_process(question)["a"]] == [(0, 1), (2,)]
    assert [report[-1] for report in in_process(question)["b"]] == [(0, 1), (2,)]


def test_the_order_of_reports_is_that_of_identifiers_and_revisions() -> None:
    #   kafka_streams, ω = β = 3: every update of [9, 12) and [12, 15)
    question = Question("kafka_streams", 3, 3, "time", {"a": (10, 11, 12, 13)})
    table = sash.stream(question.table, time="t", key="k").window(question.declared)
    rows = table.semantics("kafka_streams").agg(held=sash.collect("e")).collect().to_pylist()
    assert [(row["window"]["start"], row["revision"], row["held"]) for row in rows] == [
        (9, 0, [0]),
        (9, 1, [0, 1]),
        (12, 0, [2]),
    ]


def test_a_revision_is_only_told_where_a_window_can_be_reported_again() -> None:
    def columns(engine: str) -> list[str]:
        windowed = sash.stream(SCHEMA.empty_table(), time="t", key="k").window(sash.tumbling(3))
        return list(windowed.semantics(engine).agg(n=sash.count()).collect().column_names)

    assert columns("flink") == ["k", "window", "n"]
    assert columns("coral8") == ["k", "window", "n", "revision"]


def test_an_origin_that_was_asked_for_shifts_time() -> None:
    times = (10, 11, 12, 13, 14, 15, 16)
    table = pa.table({"t": [time + 1 for time in times], "e": range(7)})
    windowed = sash.stream(table, time="t").window(sash.tumbling(3, origin=1)).semantics("storm")
    rows = windowed.agg(held=sash.collect("e")).collect().to_pylist()
    assert [row["held"] for row in rows] == sash.secret.simulate("storm", times, 3, 3)
    assert [(row["window"]["start"], row["window"]["end"]) for row in rows] == [(11, 14), (14, 17)]


def test_several_windows_and_other_aggregates_are_reported_as_the_engine_does() -> None:
    table = pa.table({"t": range(10, 20), "e": range(10)})
    windowed = sash.stream(table, time="t").window(
        sash.tumbling(3).named("time"), sash.rows(3, every=2).named("count")
    )
    rows = windowed.semantics("flink").agg(s=sash.sum("e"), n=sash.count()).collect().to_pylist()
    by_time = [(row["s"], row["n"]) for row in rows if row["window"]["name"] == "time"]
    by_count = [(row["s"], row["n"]) for row in rows if row["window"]["name"] == "count"]
    # time: 10 11 | 12 13 14 | 15 16 17; count: t1t2 | t2t3t4 | t4t5t6 | t6t7t8
    assert by_time == [(1, 2), (9, 3), (18, 3)]
    assert by_count == [(1, 2), (6, 3), (12, 3), (18, 3)]


def test_semantics_after_agg_and_whole_windows_are_the_same_query() -> None:
    table = pa.table({"t": range(10, 20), "e": range(10)})
    windowed = sash.stream(table, time="t").window(sash.tumbling(3))
    before = windowed.semantics("flink").agg(n=sash.count()).collect()
    assert windowed.agg(n=sash.count()).semantics("flink").collect() == before
    whole = windowed.apply(lambda events: {"n": events.num_rows}, schema="n bigint")
    assert whole.semantics("flink").collect() == before


def test_events_out_of_order_are_the_engines_stream_once_they_are_in_order() -> None:
    table = pa.table({"t": [12, 10, 15, 11], "e": [2, 0, 3, 1]})
    rows = sash.stream(table, time="t").window(sash.tumbling(3)).semantics("flink").agg(e=sash.collect("e"))
    assert rows.collect()["e"].to_pylist() == [[0, 1], [2]]


@pytest.mark.parametrize(
    ("engine", "kind", "by_event"),
    [("flink", "time", False), ("stream", "count", False), ("coral8", "time", True)],
)
def test_explain_says_whether_reports_are_found_on_columns_or_event_by_event(
    engine: str, kind: Any, by_event: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    question = Question(engine, 3, 2, kind, {})
    windowed = sash.stream(question.table, time="t", key="k").window(question.declared)
    text = windowed.semantics(engine).agg(n=sash.count()).explain("plan")
    assert f"as {engine}" in text
    assert str(profile(engine)) in text
    assert ("event by event" in text) is by_event
    assert on_columns(question.window) is not by_event


def test_profiles_that_report_since_time_0_refuse_to_fill_the_memory() -> None:
    year = [1_700_000_000_000_000, 1_700_000_001_000_000]
    table = pa.table({"t": pa.array(year, pa.timestamp("us"))})
    windowed = sash.stream(table, time="t").window(sash.tumbling("1 second"))
    with pytest.raises(DataError, match=r"1,700,000,001 reports or more at a time"):
        windowed.semantics("spark_dstream").agg(n=sash.count()).collect()


@pytest.mark.parametrize("engine", ["flink", "oracle_cep", "kafka_streams", "coral8", "stream"])
@pytest.mark.parametrize("kind", ["time", "count"])
def test_what_is_held_of_a_key_is_what_a_window_can_still_show(engine: str, kind: Any) -> None:
    if profile(engine).scope.origin(sash.secret.Axis(kind)) is None:
        kind = "time"
    question = Question(engine, 6, 2, kind, {})
    query = Query((question.window,), {"n": built_in.count()}, flush=False)
    operator = WindowOperator.load(BoundQuery(query, SCHEMA, "t", ("k",)), None, {})
    sizes = []
    for time in accumulate([1] * 60):
        row = pa.Table.from_pylist([{"k": "a", "t": time, "e": time}], schema=SCHEMA)
        operator.insert(row.select(operator.bound.columns), np.arange(1))
        operator.advance(time)
        assert operator.pending is not None
        sizes.append(elements_of(operator) + len(operator.pending))
    assert max(sizes) <= 6 + 2
