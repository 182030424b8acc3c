"""An elastic query in process: any stream, any number of tasks for each epoch, any failed tries before."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.errors import DifferentQuery, EpochError, StoreError
from sash.operators.engine import WindowOperator
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.epochs.store_of_state import OPEN, StateLocation
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from tests.aggregation.conftest import RedisServer
from tests.conformance.stanza import Stanza
from tests.conformance.streamed import (
    batches_of,
    bound_query as bound_stanza,
    expected_missed,
    expected_reports,
    missed_of,
    reports_in,
    streamed_stanzas,
)
from tests.runtimes.elastic_batches import DryElastic, Try
from tests.runtimes.naive_operator import NaiveOperator
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import (
    AGGREGATES,
    TYPES,
    bound_query,
    cut,
    expected,
    observed,
    queries,
)

degrees = st.lists(st.integers(1, 7), min_size=8, max_size=8)
tries = st.lists(
    st.lists(st.builds(Try, st.integers(1, 7), st.integers(0, 7)), max_size=2), min_size=8, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(
    query=queries(),
    batches=cut(),
    degrees=degrees,
    tries=tries,
    operator=st.sampled_from([NaiveOperator, WindowOperator, None]),
    forgetful=st.booleans(),
)
def test_oracle_reports_and_late_rows_are_those_of_the_reference_whatever_degrees_and_failed_tries(
    query: Query,
    batches: list[list[Arrival]],
    degrees: list[int],
    tries: list[list[Try]],
    operator: type[StreamOperator] | None,
    forgetful: bool,
) -> None:
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    with tempfile.TemporaryDirectory() as folder:
        dry = DryElastic(
            bound_query(query), Path(folder), degrees=degrees.__getitem__, operator=operator,
            outputs=(REPORTS, LATE), forgetful=forgetful,
        )  # fmt: skip
        rows = dry.run([table_of(batch, TYPES) for batch in batches], tries=tries)
    assert observed(rows, query) == expected(outcome, query)
    late = sorted((entry.arrival.values["e"], entry.reason, entry.window or "") for entry in outcome.late)
    assert sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in dry.late) == late


@pytest.mark.parametrize("stanza", streamed_stanzas(), ids=str)
def test_epochs_with_changing_degrees_give_what_the_transcript_says(stanza: Stanza, tmp_path: Path) -> None:
    bound, batches = bound_stanza(stanza), batches_of(stanza)
    dry = DryElastic(bound, tmp_path, degrees=lambda epoch: 1 + epoch % 3, outputs=(REPORTS, LATE))
    assert reports_in(stanza, dry.run(batches)) == expected_reports(stanza)
    assert missed_of(stanza, dry.late) == expected_missed(stanza)


@pytest.mark.parametrize("stanza", streamed_stanzas()[::6], ids=str)
def test_state_in_files_gives_what_the_transcript_says_also_after_failed_tries(
    stanza: Stanza, tmp_path: Path
) -> None:
    dry = DryElastic(
        bound_stanza(stanza), tmp_path, degrees=lambda epoch: 1 + epoch % 3, outputs=(REPORTS, LATE),
        files=True, forgetful=True,
    )  # fmt: skip
    batches = batches_of(stanza)
    rows = dry.run(batches, tries=[[Try(3, 2), Try(2, 2)] for _ in batches])
    assert reports_in(stanza, rows) == expected_reports(stanza)
    assert missed_of(stanza, dry.late) == expected_missed(stanza)


TUMBLING = Query((windows.tumbling(10),), AGGREGATES, delay=Duration(0, Unit.TICKS), flush=False)


def events(*times: int) -> pa.Table:
    return table_of([Arrival(time, "a", {"e": number, "x": 1}) for number, time in enumerate(times)], TYPES)


def test_what_a_batch_closes_is_reported_with_it_and_needs_no_further_batch(tmp_path: Path) -> None:
    # t   0 . . . . . . . . . 10 . . .      the event at 12 moves the watermark to 12
    #     [  window 0        )
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    assert [row["window"]["id"] for row in dry.run([events(3, 12)])] == [0]


def test_a_bucket_without_rows_reports_what_the_watermark_of_the_others_closes(tmp_path: Path) -> None:
    first = table_of([Arrival(3, key, {"e": 0, "x": 1}) for key in "abcdefgh"], TYPES)
    dry = DryElastic(bound_query(TUMBLING), tmp_path, degrees=lambda epoch: 1 + epoch)
    assert dry.run([first, events(12)]) != []
    # All eight keys, in as many buckets as there are, although only 'a' has come again.
    with tempfile.TemporaryDirectory() as folder:
        rows = DryElastic(bound_query(TUMBLING), Path(folder)).run([first, events(12)])
    assert Counter(row["k"] for row in rows) == Counter("abcdefgh")


def test_a_batch_without_any_row_is_an_epoch_like_any_other(tmp_path: Path) -> None:
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    rows = dry.run([events(3), events(), events(4), events(12)])
    assert [(row["window"]["id"], row["n"]) for row in rows] == [(0, 2)]


def test_a_sleeping_bucket_is_neither_read_nor_written(tmp_path: Path) -> None:
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    dry.run([events(3)])
    dry.execute(events(), 1, tasks=1)
    assert not any(dry.reports.value[1, 0].counts.values())


@pytest.mark.parametrize("rest", ["whole", "only begun"])
def test_a_task_that_was_given_up_and_goes_on_changes_nothing(tmp_path: Path, rest: str) -> None:
    """The state would go back to an epoch that Spark has long done."""
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    dry.run([events(3)])
    left = dry.begun(events(4), 1)  # and then its driver gives it up, and begins again
    assert dry.execute(events(4), 1, tasks=1) == []
    with pytest.raises(EpochError, match="newer attempt has taken over"):
        list(left) if rest == "whole" else next(left)
    rows = dry.execute(events(12), 2, tasks=1)
    assert [(row["window"]["id"], row["n"]) for row in rows] == [(0, 2)]


def test_an_earlier_attempt_of_the_same_task_changes_nothing(tmp_path: Path) -> None:
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    dry.run([events(3)])
    left = dry.begun(events(4), 1, attempts=(7, 8))
    with pytest.raises(EpochError, match="newer attempt has taken over"):
        list(left)
    rows = dry.execute(events(12), 2, tasks=1)
    assert [(row["window"]["id"], row["n"]) for row in rows] == [(0, 2)]


def test_an_epoch_that_was_left_out_is_refused(tmp_path: Path) -> None:
    dry = DryElastic(bound_query(TUMBLING), tmp_path)
    dry.run([events(3)])
    with pytest.raises(EpochError, match="checkpoint is at micro-batch 5 and the state at 0"):
        dry.execute(events(12), 5, tasks=1)


def test_state_that_another_query_made_is_refused_and_the_difference_named(tmp_path: Path) -> None:
    DryElastic(bound_query(TUMBLING), tmp_path).run([events(3)])
    other = replace(TUMBLING, windows=(windows.tumbling(20),))
    with pytest.raises(DifferentQuery, match="windows"):
        DryElastic(bound_query(other), tmp_path).execute(events(12), 1, tasks=1)


def test_a_worker_keeps_the_stores_of_a_few_queries_open_only(tmp_path: Path) -> None:
    for number in range(OPEN.limit + 3):
        DryElastic(bound_query(TUMBLING), tmp_path / str(number)).run([events(3, 12)])
    assert len(OPEN._homes) <= OPEN.limit


@pytest.mark.redis
@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("bucket-0}:live:token", "the state of bucket 0 is not in the store any more, where micro-batch 1"),
        ("journal}:live:newest", "the newest event time is not in the store any more"),
        ("journal}:live:query", "the journal is not in the store any more"),
    ],
)
def test_a_server_that_forgets_a_key_stops_the_query(tmp_path: Path, key: str, words: str) -> None:
    """An open window would vanish, or old events would be on time again, without a word."""
    server = RedisServer(tmp_path)
    try:
        dry = DryElastic(bound_query(TUMBLING), tmp_path)
        dry.home = StateLocation(server.url, "q.")
        batches = [
            table_of([Arrival(time, key, {"e": time, "x": 1}) for key in "abcdefgh"], TYPES)
            for time in (3, 4, 5)
        ]
        dry.run(batches[:2])
        assert server.client().delete(f"sash:{{q.{key}".encode()) == 1
        with pytest.raises(StoreError, match=words):
            dry.execute(batches[2], 2, tasks=2)
    finally:
        server.kill()
