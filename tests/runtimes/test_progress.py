"""What can be seen of a long run, and that nothing is seen where nobody looks."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from rich.console import Console

import sash
from sash.errors import ArgumentError
from sash.operators.step_counter import counted, watched
from sash.runtimes import progress_bar
from sash.runtimes.progress_bar import ProgressReading, shown
from sash.runtimes.spark.monitoring.job_progress import OWN_BAR, BatchesSeen, jobs_shown
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOW = """
import time, pyarrow as pa, sash

def slowly(events):
    time.sleep(0.2)
    return {"n": events.num_rows}

table = pa.table({"t": range(32)})
query = sash.stream(table, time="t").window(sash.rows(4)).apply(slowly, schema="n bigint")
print(query.collect().num_rows)
"""


@pytest.fixture
def terminal() -> Console:
    """A terminal whose screen is a string: console.file.getvalue()."""
    return Console(force_terminal=True, file=io.StringIO(), width=120)


def screen(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_levels_of_steps_add_up_to_the_share_that_is_done() -> None:
    with watched() as steps:
        shares = [steps.share for _ in counted("abcd") for _ in counted(range(2))]
        assert steps.share == 0
    assert shares == [0, 1 / 8, 2 / 8, 3 / 8, 4 / 8, 5 / 8, 6 / 8, 7 / 8]


def test_a_run_that_stops_halfway_leaves_no_steps_behind() -> None:
    def work() -> None:
        for _ in counted("ab"):
            for _ in counted("cd"):
                raise ValueError("no")

    with watched() as steps:
        with pytest.raises(ValueError, match="no"):
            work()
        assert steps.levels == []


def test_a_run_that_takes_long_has_a_bar(terminal: Console) -> None:
    with shown("windows", lambda: ProgressReading(0.5, "5 of 10 tasks"), after=0.0, console=terminal):
        time.sleep(0.3)
    assert "windows" in screen(terminal)
    assert "5 of 10 tasks" in screen(terminal)


def test_a_run_that_is_done_at_once_has_none(terminal: Console) -> None:
    with shown("windows", lambda: ProgressReading(0.5), console=terminal):
        pass
    assert screen(terminal) == ""


def test_the_last_reading_stays_when_it_is_to_be_kept(terminal: Console) -> None:
    with shown(
        "stream", lambda: ProgressReading(None, "3 batches"), after=60.0, keep=True, console=terminal
    ):
        pass
    assert "3 batches" in screen(terminal)


def test_a_bar_that_cannot_be_read_does_not_disturb_the_run(terminal: Console) -> None:
    def broken() -> ProgressReading:
        raise RuntimeError("the tracker is gone")

    with shown("windows", broken, after=0.0, console=terminal):
        time.sleep(0.3)


def test_an_error_of_the_run_passes_through(terminal: Console) -> None:
    with (
        pytest.raises(KeyError, match="own"),
        shown("windows", lambda: ProgressReading(None), console=terminal),
    ):
        raise KeyError("the run's own")


def seen_in_a_terminal(script: str, **environment: str) -> str:
    """What a program writes to standard error when that is a real terminal."""
    master, slave = pty.openpty()
    try:
        run = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=slave, text=True,
            env=os.environ | {"TERM": "xterm"} | environment,
        )  # fmt: skip
        os.close(slave)
        seen = b"".join(iter(lambda: _read(master), b""))
        assert run.communicate()[0].strip() == "8"
        assert run.returncode == 0
        return seen.decode()
    finally:
        os.close(master)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 2**16)
    except OSError:  # the other end is closed
        return b""


def test_a_query_in_process_has_a_bar_in_a_terminal() -> None:
    assert "windows" in seen_in_a_terminal(SLOW)


def test_a_query_is_silent_in_a_terminal_when_it_is_told_so() -> None:
    assert seen_in_a_terminal(SLOW, SASH_PROGRESS="0") == ""


def test_a_query_is_silent_without_a_terminal() -> None:
    # FORCE_COLOR makes many programs believe in a terminal, where there is only a log.
    run = subprocess.run(
        [sys.executable, "-c", SLOW], capture_output=True, text=True, check=True,
        env=os.environ | {"FORCE_COLOR": "1"},
    )  # fmt: skip
    assert (run.stdout.strip(), run.stderr) == ("8", "")


def slow_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(1.5)
        yield batch


@pytest.mark.spark
def test_a_job_of_spark_shows_its_tasks(spark: SparkSession, terminal: Console) -> None:
    df = spark.range(4, numPartitions=4).mapInArrow(slow_rows, "id long")
    with jobs_shown(spark, console=terminal):
        assert df.count() == 4
    assert "of 4 tasks" in screen(terminal)


@pytest.mark.spark
def test_where_spark_shows_a_bar_of_its_own_there_is_no_second(
    spark: SparkSession, terminal: Console
) -> None:
    conf = spark.sparkContext._conf
    conf.set(OWN_BAR, "true")
    try:
        with jobs_shown(spark, console=terminal):
            time.sleep(1.3)
    finally:
        conf.set(OWN_BAR, "false")
    assert screen(terminal) == ""


@pytest.mark.spark
def test_a_stream_shows_its_events_reports_and_watermark(
    spark: SparkSession, terminal: Console, tmp_path: Path
) -> None:
    batches = [pa.table({"t": pa.array(times, pa.timestamp("us", "UTC"))}) for times in EVENTS]
    query = started(stream_batches(spark, batches), tmp_path)
    sash.progress(query, console=terminal)
    assert not query.isActive
    assert "6 events" in screen(terminal)
    seen = BatchesSeen(query)
    words = seen.read().words
    assert seen.read().words == words, "a batch must not be counted twice"
    assert "1 late" in words
    assert "2 reports" in words
    assert "watermark 2026-01-05T10:32:00" in words


MINUTE, TEN_THIRTY = 60_000_000, 1_767_609_000_000_000
EVENTS = [
    [TEN_THIRTY, TEN_THIRTY + MINUTE, TEN_THIRTY + 1],
    [TEN_THIRTY + 2 * MINUTE, TEN_THIRTY + 2 * MINUTE],
    [TEN_THIRTY],
]
"""One a list is a micro-batch; the last one is late."""


def started(df: Any, home: Path) -> Any:
    counts = sash.stream(df, time="t").window(sash.tumbling("1 minute")).agg(n=sash.count())
    writing = counts.dataframe().writeStream.format("noop").option("checkpointLocation", str(home / "c"))
    return writing.trigger(availableNow=True).start()


@pytest.mark.spark
def test_a_stream_without_windows_shows_its_rows(
    spark: SparkSession, terminal: Console, tmp_path: Path
) -> None:
    rows = stream_batches(spark, [pa.table({"x": [1, 2, 3]})])
    writing = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    sash.progress(writing.trigger(availableNow=True).start(), console=terminal)
    assert "3 rows" in screen(terminal)


@pytest.mark.spark
def test_a_stream_that_fails_raises_as_waiting_for_it_does(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    def broken(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError("broken on purpose")

    rows = stream_batches(spark, [pa.table({"x": [1]})]).mapInArrow(broken, "x long")
    writing = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(StreamingQueryException, match="broken on purpose"):
        sash.progress(writing.trigger(availableNow=True).start())


def test_what_is_no_query_cannot_be_waited_for() -> None:
    with pytest.raises(ArgumentError, match="query must be a StreamingQuery"):
        sash.progress("stream")  # type: ignore[arg-type]


def test_a_run_of_the_command_line_prints_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_bar, "LINE_EVERY", 0.01)
    monkeypatch.setattr(progress_bar, "_console", lambda: None)
    monkeypatch.delenv("SASH_PROGRESS", raising=False)
    readings = iter([ProgressReading(None), ProgressReading(0.5, "3 batches")])
    read = Event()

    def next_reading() -> ProgressReading:
        reading = next(readings, None)
        if reading is None:
            read.set()
            raise RuntimeError("there are no more")
        return reading

    with shown("clicks", next_reading, lines=True):
        assert read.wait(10)
    assert capsys.readouterr().err == "clicks: no batch yet\nclicks: 50% 3 batches\n"
    monkeypatch.setenv("SASH_PROGRESS", "0")
    with shown("clicks", next_reading, lines=True):
        pass
    assert capsys.readouterr().err == ""
