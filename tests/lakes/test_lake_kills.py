"""SIGKILL between the commit of a table and that of the checkpoint: the batch is executed again, and the
tables have every row once, and as many commits as there were batches with rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from tests.faults.victim import Victim
from tests.lakes import run_lake
from tests.lakes.lakehouse import (
    EVENTS,
    JARS,
    OPENING,
    SPARK,
    TOO_LATE,
    WINDOW,
    expected,
    expected_latest,
    latest_rows,
    table_of,
)
from tests.runtimes.micro_batches import write_batches

pytestmark = [
    pytest.mark.spark,
    pytest.mark.soak,
    pytest.mark.skipif(
        not pyspark.__version__.startswith(SPARK) or not JARS, reason="needs make lakes and make test-lakes"
    ),
]
LOTS = [*EVENTS[:2], [*EVENTS[2], TOO_LATE], EVENTS[3]]
KILLS = {"windows": [("merged", 1), ("late", 2)], "latest": [("merged", 2)]}
"""After the commit that makes a table; after those of two tables; between them."""
PATIENCE = 600


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    (tmp_path / "in").mkdir()
    write_batches(tmp_path / "in", [table_of(lot) for lot in LOTS])
    return tmp_path


def run(home: Path, format_: str, what: str, table: str, batch: int) -> Victim:
    log = home / f"{table}-{batch}.log"
    return Victim(Path(run_lake.__file__), home, format_, what, table, str(batch), log=log)


def rows_of(home: Path, table: str) -> list[dict[str, Any]]:
    return pq.read_table(home / "rows" / table).to_pylist()


@pytest.mark.parametrize("what", KILLS)
@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_batches_that_a_table_has_and_the_checkpoint_has_not(home: Path, format_: str, what: str) -> None:
    committed = home / "committed"
    for table, batch in KILLS[what]:
        with run(home, format_, what, table, batch) as victim:
            victim.wait_until(committed.exists, seconds=PATIENCE)
            assert victim.kill() > 1
        assert not (home / "checkpoint" / "commits" / str(batch)).exists()
        committed.unlink()
    with run(home, format_, what, "merged", -1) as victim:
        victim.finish(seconds=PATIENCE)
    batches = {table: set((home / f"{table}.batches").read_text().split()) for table in run_lake.TABLES}
    assert batches["merged"] > {"1", "2"} == batches["late"] | {"1"}
    commits = json.loads((home / "commits").read_text())
    assert commits == {table: len(numbers) for table, numbers in batches.items()}
    assert [(row["k"], row["x"]) for row in rows_of(home, "late")] == [TOO_LATE[::-1]]
    rows = rows_of(home, "merged")
    if what == "windows":
        first = int(OPENING.timestamp()) // WINDOW
        found = {(row["k"], row["window"]["id"] - first): (row["n"], row["x"]) for row in rows}
        assert len(rows) == len(found)
        assert found == expected()
    else:
        on_time = pa.concat_tables(table_of(lot) for lot in EVENTS)
        assert latest_rows(rows) == expected_latest(on_time)
