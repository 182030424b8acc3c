"""Spark Connect: static and streaming DataFrames of a remote session, with the answers of any other."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults.victim import Victim
from tests.runtimes import run_on_connect
from tests.runtimes.micro_batches import write_batches

pytestmark = pytest.mark.spark

OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """One a second, of three keys, one of them null."""
    columns = {
        "ts": pa.array([OPENING + dt.timedelta(seconds=n) for n in range(90)], pa.timestamp("us", "UTC")),
        "k": pa.array([["a", "b", None][n % 3] for n in range(90)], pa.string()),
        "n": pa.array(range(90), pa.int64()),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def printed(events: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the queries of the program wrote, in a folder; a server of its own is started and ended."""
    files, home = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("printed")
    write_batches(files, [events.slice(lo, hi - lo) for lo, hi in pairwise((0, 40, 90))])
    with Victim(Path(run_on_connect.__file__), files, home, log=home / "log") as program:
        program.finish()
    return home


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def test_differential_a_static_dataframe_of_connect_is_answered_as_an_arrow_table(
    printed: Path, events: pa.Table
) -> None:
    expected = run_on_connect.fine(events).collect()
    assert pq.read_table(printed / "batch.parquet").to_pylist() == expected.to_pylist()
    assert expected.num_rows > 30


@pytest.mark.parametrize("source", ["fine", "files"])
def test_differential_a_stream_of_connect_says_what_the_batch_says(
    printed: Path, events: pa.Table, source: str
) -> None:
    assert rows(pq.read_table(printed / source)) == rows(run_on_connect.fine(events).collect())


def test_windows_of_windows_find_the_watermark_of_the_first_in_the_servers_plan(printed: Path) -> None:
    # ten-second windows end at 10, 20, … 80; the watermark is 84, so that those of twenty end by 80
    totals = {row["window"]["start"]: row["total"] for row in pq.read_table(printed / "coarse").to_pylist()}
    assert totals == {
        OPENING + dt.timedelta(seconds=start): 10 if start == 0 else 20 for start in (0, 20, 40, 60)
    }


def test_rows_are_counted_while_others_are_still_computed(printed: Path) -> None:
    table, half = pq.read_table(printed / "counted.parquet"), run_on_connect.HALF
    assert table["id"].to_pylist() == list(range(2 * half))
    assert table["counted"].slice(half).to_pylist() == [True] * half


def test_an_answer_without_rows_has_its_columns(printed: Path) -> None:
    empty = pq.read_table(printed / "empty.parquet")
    assert empty == pq.read_table(printed / "expected.parquet")
    assert (empty.column_names, empty.num_rows) == (["ts", "k", "n"], 0)
