"""An iterator of tables in this process: the reports and late rows of the reference, table by table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError, Unsupported
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
NUMBERS = {"n": sash.count(), "s": sash.sum("x"), "last": sash.last("e")}


def cut(stream: list[Arrival], each: int) -> list[list[Arrival]]:
    return [stream[at : at + each] for at in range(0, len(stream), each)] or [[]]


def streamed(parts: list[list[Arrival]], delay: int, lateness: int) -> sash.Stream:
    tables = iter([table_of(part, TYPES) for part in parts])
    return sash.stream(tables, time="t", key="k", delay=delay, allowed_lateness=lateness)


@settings(max_examples=150, deadline=None)
@given(
    window=any_window,
    stream=arrivals(),
    each=st.integers(1, 40),
    delay=st.integers(0, 10),
    lateness=st.integers(0, 5),
)
def test_oracle_each_table_is_answered_as_the_reference_answers_it(
    window: Window, stream: list[Arrival], each: int, delay: int, lateness: int
) -> None:
    parts = cut(stream, each)
    events = streamed(parts, delay, lateness)
    query = events.window(window).agg(**NUMBERS)
    oracle = evaluate(query.bound.query, [Batch(tuple(part)) for part in parts])
    results = list(query.batches())
    assert [result.number for result in results] == list(range(len(parts) + 1))
    reports = pa.concat_tables([result.reports for result in results])
    assert rows_of(reports, NUMBERS) == expected_rows(oracle.reports, NUMBERS, named=False)
    late = [(row["e"], row["late_reason"]) for result in results for row in result.late.to_pylist()]
    assert sorted(late) == sorted((one.arrival.values["e"], one.reason) for one in oracle.late)


@settings(max_examples=100, deadline=None)
@given(
    size=st.integers(1, 12),
    every=st.integers(1, 12),
    stream=arrivals(),
    each=st.integers(1, 10),
    delay=st.integers(0, 6),
    lateness=st.integers(0, 12),
)
def test_oracle_windows_as_flink_with_an_allowed_lateness_are_those_of_the_reference(
    size: int, every: int, stream: list[Arrival], each: int, delay: int, lateness: int
) -> None:
    parts = cut(stream, each)
    events = streamed(parts, delay, lateness)
    query = events.window(sash.sliding(size, every=every)).semantics("pyflink").agg(**NUMBERS)
    oracle = evaluate(query.bound.query, [Batch(tuple(part)) for part in parts])
    results = list(query.batches())
    reports = pa.concat_tables([result.reports for result in results])
    assert rows_of(reports, NUMBERS) == expected_rows(oracle.reports, NUMBERS, named=False)
    late = [(row["e"], row["late_reason"]) for result in results for row in result.late.to_pylist()]
    assert sorted(late) == sorted((one.arrival.values["e"], one.reason) for one in oracle.late)


def test_as_flink_a_window_is_reported_again_with_each_event_within_the_allowed_lateness() -> None:
    # [0, 10) is kept until the watermark is 15:   1   12 (reported)   3 (again)   16   4 (late)
    parts = [table(time) for time in (1, 12, 3, 16, 4)]
    events = sash.stream(iter(parts), time="t", key="k", allowed_lateness=5)
    query = events.window(sash.tumbling(10)).semantics("pyflink").agg(total=sash.sum("x"))
    *results, _ = query.batches()
    reports = [[(row["total"], row["revision"]) for row in each.reports.to_pylist()] for each in results]
    assert reports == [[], [(1, 0)], [(4, 1)], [], []]
    assert [each.late.num_rows for each in results] == [0, 0, 0, 0, 1]


def test_lateness_of_sessions_and_of_engines_that_have_none_is_refused() -> None:
    events = sash.stream(table(1), time="t", key="k", allowed_lateness=5)
    with pytest.raises(Unsupported, match=r"allowed_lateness must be zero with semantics\('pyflink'\)"):
        events.window(sash.session(3)).semantics("pyflink")
    with pytest.raises(Unsupported, match=r"allowed_lateness must be zero with semantics\('bytewax'\)"):
        events.window(sash.tumbling(3)).semantics("bytewax")


def table(*times: int) -> pa.Table:
    return pa.table({"t": times, "k": ["a"] * len(times), "x": times})


def totals(data: Any) -> sash.WindowQuery:
    return sash.stream(data, time="t", key="k").window(sash.tumbling(10)).agg(total=sash.sum("x"))


def test_tables_are_read_when_they_are_due_and_a_window_comes_with_the_table_that_closes_it() -> None:
    read: list[int] = []

    def arriving() -> Iterator[pa.Table]:
        for number, times in enumerate([(1, 2), (5, 11), (3, 21)]):
            read.append(number)
            yield table(*times)

    results = totals(arriving()).batches()
    assert read == [0]
    assert next(results).reports.num_rows == 0
    second = next(results)
    assert read == [0, 1]
    assert (second.reports["total"].to_pylist(), second.watermark) == ([8], 11)
    third = next(results)
    assert third.reports["total"].to_pylist() == [11]
    assert third.late.select(["t", "x"]).to_pylist() == [{"t": 3, "x": 3}]
    end = next(results)
    assert (end.number, end.reports["total"].to_pylist()) == (3, [21])
    assert list(results) == []


def test_one_table_is_answered_as_the_table_itself() -> None:
    whole = table(1, 5, 12, 3, 40)
    assert totals([whole]).collect().equals(totals(whole).collect())


def test_look_backs_and_current_rows_come_table_by_table() -> None:
    stream = sash.stream(iter([table(1, 2), table(4), table(9)]), time="t", key="k")
    rolled = [
        row for one in stream.rolling(3).agg(n=sash.count()).batches() for row in one.reports.to_pylist()
    ]
    assert [(row["t"], row["n_3"]) for row in rolled] == [(1, 1), (2, 2), (4, 2), (9, 1)]
    stream = sash.stream([table(1, 2), table(4), table(9)], time="t", key="k")
    latest = [one.reports.to_pylist() for one in stream.latest(3).agg(n=sash.count()).batches()]
    assert [[row["n_3"] for row in rows] for rows in latest][:3] == [
        [2],
        [],
        [1],
    ]  # at 4 the row is as it was


def test_frames_in_frames_out_flat_and_with_a_watermark_of_their_type() -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2026-01-01 00:00:01", "2026-01-01 00:01:05"], utc=True)
    frame = pandas.DataFrame({"t": times, "k": ["a", "a"], "x": [1, 2]})
    windows = sash.stream([frame], time="t", key="k").window(sash.tumbling("1 minute"))
    first, end = windows.agg(n=sash.count()).flat().batches()
    assert list(first.reports["window_id"]) == list(end.reports["window_id"] - 1)
    assert first.watermark == times[1].to_pydatetime()


def test_a_stream_is_enriched_table_by_table() -> None:
    names = pa.table({"k": ["a"], "name": ["Ada"]})
    stream = sash.stream(iter([table(1), table(12)]), time="t", key="k").join(names, on="k")
    reports = stream.window(sash.tumbling(10)).agg(who=sash.last("name")).collect()
    assert reports["who"].to_pylist() == ["Ada", "Ada"]
    cities = pa.table({"k": ["a"], "city": ["Umeå"]})
    twice = sash.stream([table(1)], time="t", key="k").join(names, on="k").join(cities, on="k")
    row = twice.window(sash.tumbling(10)).agg(who=sash.last("name"), where=sash.last("city")).collect()
    assert row.select(["who", "where"]).to_pylist() == [{"who": "Ada", "where": "Umeå"}]


def test_many_batches_leave_no_more_than_what_is_alive() -> None:
    from sash.runtimes.local.local_stream import StreamRun

    run = StreamRun(totals([table(1)]).bound)
    sizes = []
    for number in range(600):
        run.take(table(*range(number * 10, number * 10 + 10)))
        sizes.append(sum(map(len, run._chunks.values())))
    assert max(sizes[300:]) <= max(sizes[:300])


def test_late_rows_of_all_results_have_the_same_columns() -> None:
    tables = [pa.table({"t": [t], "shop": ["x"], "x": [1.0]}) for t in (200, 0)]
    results = sash.stream(tables, time="t").window(sash.tumbling(100)).agg(s=sash.sum("x")).batches()
    late = pa.concat_tables([result.late for result in results])
    assert late["shop"].to_pylist() == ["x"]


def test_what_does_not_work_is_refused_in_one_sentence() -> None:
    with pytest.raises(ArgumentError, match="data, table 0 must be an Arrow table, or a pandas or polars"):
        sash.stream([1, 2], time="t")
    with pytest.raises(ArgumentError, match="data must be tables, the first with the schema"):
        sash.stream(iter([]), time="t")
    with pytest.raises(ArgumentError, match="data, table 1 must be with the columns"):
        totals([table(1), pa.table({"t": [1]})]).collect()
    with pytest.raises(ArgumentError, match="data, table 1 must be of the first table's types"):
        totals([table(1), table(2).set_column(2, "x", pa.array(["one"]))]).collect()
    query = totals(iter([table(1), table(2)]))
    query.collect()
    with pytest.raises(ArgumentError, match="an iterator that has been read"):
        query.batches()
    with pytest.raises(Unsupported, match="runs in this process"):
        query.start(print, checkpoint="nowhere")
    with pytest.raises(Unsupported, match=r"batches\(\) returns those"):
        query.late()
    with pytest.raises(Unsupported, match="collect\\(\\) computes what has an end"):
        totals(table(1)).batches()
    with pytest.raises(Unsupported, match="One process keeps its windows"):
        query.parallel(2)
    with pytest.raises(Unsupported, match="an iterator of tables"):
        sash.stream([table(1)], time="t").join(sash.stream([table(1)], time="t"), within=1)
    with pytest.raises(Unsupported, match="over an iterator"):
        sash.together(one=totals([table(1)]))
    with pytest.raises(Unsupported, match=r"got 'an iterator of tables'\. Make one table"):
        sash.stream([table(1)], time="t").rolling(5).agg(n=sash.count()).publish("nowhere")
    assert "each table is a micro-batch" in query.explain("plan")


def test_a_stream_of_tables_is_explained_as_the_operator_that_runs() -> None:
    """Not as the plan of a bounded input, of which nothing is kept."""
    stream = sash.stream([table(1)], time="t", key="k")
    panes = stream.window(sash.sliding(3600, every=60)).agg(total=sash.sum("x")).explain()
    assert "O(log n) combines of panes per window" in panes
    assert "per key: at most 61 panes of 60" in panes
    assert "in this process, table after table" in panes
    events = stream.rolling(5, 60, 20).agg(n=sash.count()).explain()
    assert "per key: the events of the last 60 (times and inputs)" in events
    running = stream.window(sash.session(5)).agg(n=sash.count()).explain()
    assert "per key: the running aggregate of its open window" in running
    whole = stream.window(sash.rows(3)).apply(len, schema="n bigint").explain()
    assert "per key: the last 3 events (whole rows)" in whole
    for text in (panes, events, running, whole):
        assert "two stacks" not in text
        assert "10,000,000" not in text


def test_latest_over_a_stream_of_tables_is_emitted_when_it_changes() -> None:
    text = sash.stream([table(1)], time="t", key="k").latest(5).agg(n=sash.count()).explain()
    assert "when the row of a key changes" in text
