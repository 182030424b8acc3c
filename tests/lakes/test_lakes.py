"""Delta and Iceberg as source and as sink: appended or merged, and a replayed batch changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, UnknownColumn
from sash.runtimes.spark.compat import snapshot_summaries
from sash.runtimes.spark.sinks import tables
from sash.runtimes.spark.sinks.tables import TableSink
from tests.lakes.lakehouse import (
    CATALOG,
    EVENTS,
    TOO_LATE,
    append,
    commits_of,
    expected,
    expected_latest,
    latest_rows,
    newest,
    query_over,
    table_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
KEYS = ("k", "window.id")


class Flow:
    """From a table of events to a table of windows, a commit of the first for each batch."""

    def __init__(self, spark: SparkSession, folder: Path, format_: str, name: str, **sink: Any) -> None:
        self.spark, self.format, self.checkpoint = spark, format_, folder / "checkpoint"
        self.events = f"{CATALOG[format_]}events_{name}"
        self.windows = f"{CATALOG[format_]}windows_{name}"
        self.options, self.sink = {}, sink

    def start(self) -> Any:
        events = self.spark.readStream.table(self.events)
        sink = sash.sinks.table(self.windows, writer="q", format=self.format, **self.sink)
        return query_over(events).start(
            sink, checkpoint=self.checkpoint, trigger="available now", **self.options
        )

    def run(self, lot: list[tuple[int, str]]) -> None:
        append(self.spark, self.events, self.format, lot)
        self.start().awaitTermination()

    def replay(self) -> None:
        """As if the driver had died after the commit of the table and before that of the checkpoint."""
        commits = self.checkpoint / "commits"
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        self.start().awaitTermination()

    def commits(self) -> int:
        return commits_of(self.spark, self.windows, self.format)

    def rows(self) -> list[Any]:
        return self.spark.table(self.windows).collect()


@pytest.mark.parametrize("keys", [(), KEYS], ids=["appended", "merged"])
@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_windows_with_revisions_from_a_table_to_a_table_and_batches_that_are_replayed(
    lake: SparkSession, tmp_path: Path, format_: str, keys: tuple[str, ...]
) -> None:
    flow = Flow(lake, tmp_path, format_, f"q{len(keys)}", keys=keys)
    for number, lot in enumerate(EVENTS):
        flow.run(lot)
        if number in (1, 3):  # batches that report windows for the first time
            before = flow.commits(), Counter(flow.rows())
            flow.replay()
            assert (flow.commits(), Counter(flow.rows())) == before
    rows = flow.rows()
    assert newest(rows) == expected()
    assert max(row.revision for row in rows) > 0
    assert (len(rows) == len(expected())) == bool(keys)


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_batches_of_a_new_checkpoint_are_not_taken_for_those_of_the_old(
    lake: SparkSession, tmp_path: Path, format_: str
) -> None:
    """Its batches count from 0 again, and the writer has the same name."""
    flow = Flow(lake, tmp_path, format_, "again")
    for lot in EVENTS:
        flow.run(lot)
    before = len(flow.rows())
    flow.checkpoint = tmp_path / "another"
    flow.start().awaitTermination()
    assert len(flow.rows()) > before


def test_an_elastic_query_merges_too(lake: SparkSession, tmp_path: Path) -> None:
    flow = Flow(lake, tmp_path, "delta", "elastic", keys=KEYS)
    flow.options = {"elastic": sash.Elastic(max=2)}
    for lot in EVENTS:
        flow.run(lot)
    assert newest(flow.rows()) == expected()


PIPELINE = """
[source]
format = "{format}"
table = "{events}"

[stream]
time = "ts"
key = ["k"]
allowed_lateness = "1 minute"

[query]
windows = ["tumbling 10 seconds"]

[aggregates]
n = "count()"
x = "sum(x)"

[sink]
format = "{format}"
table = "{windows}"
keys = ["k", "window.id"]

[run]
checkpoint = "checkpoint"
"""


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_a_pipeline_file_from_table_to_table(lake: SparkSession, tmp_path: Path, format_: str) -> None:
    from typer.testing import CliRunner

    from sash.cli.main import app

    flow = Flow(lake, tmp_path, format_, "file")
    file = tmp_path / "windows.toml"
    file.write_text(PIPELINE.format(format=format_, events=flow.events, windows=flow.windows))
    for lot in EVENTS:
        append(lake, flow.events, format_, lot)
        run = CliRunner().invoke(app, ["run", str(file)])
        assert run.exit_code == 0, run.output
    assert newest(flow.rows()) == expected()


def test_a_table_by_its_path(lake: SparkSession, tmp_path: Path) -> None:
    rows = lake.range(3).selectExpr("id", "id * 2 AS v")
    for keys, count in (((), 6), (("id",), 3)):
        sink = TableSink("q", path=str(tmp_path / f"delta{count}"), keys=keys)
        for batch in (0, 1, 1):
            sink.write(rows, batch)
        assert lake.read.format("delta").load(sink.path).count() == count


def test_keys_that_cannot_be_are_named(lake: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnknownColumn, match="keys"):
        TableSink("q", path=str(tmp_path / "t"), keys=("nothing",)).write(lake.range(1), 0)
    with pytest.raises(ArgumentError, match="MERGE knows Iceberg tables by name"):
        TableSink("q", path="/t", format="iceberg", keys=("id",))


def test_iceberg_is_asked_for_the_newest_batch_of_a_writer_and_for_no_other(
    lake: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many batches there are. One that was rolled back is not in the table."""
    sinks = [TableSink(name, table="lake.db.numbered", format="iceberg", keys=("id",)) for name in "pq"]
    for batch in range(5):
        for sink in sinks:
            sink.write(lake.range(3), batch)
    read = 0

    def counted(*given: Any, **options: Any) -> Iterator[Mapping[str, str]]:
        nonlocal read
        for summary in snapshot_summaries(*given, **options):
            read += 1
            yield summary

    monkeypatch.setattr(tables, "snapshot_summaries", counted)
    assert [[sink.has(lake, batch) for batch in (3, 4, 5)] for sink in sinks] == [[True, True, False]] * 2
    assert read == 3 * 2 + 3 * 1
    oldest_first = lake.table("lake.db.numbered.snapshots").orderBy("committed_at").collect()
    lake.sql(f"CALL lake.system.rollback_to_snapshot('db.numbered', {oldest_first[-3].snapshot_id})")
    assert [sink.has(lake, 4) for sink in sinks] == [False, False]
    assert [sink.has(lake, 3) for sink in sinks] == [True, True]


FEATURES = PIPELINE.replace('windows = ["tumbling 10 seconds"]', 'latest = ["10 seconds", "1 minute"]')


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
def test_a_pipeline_file_of_latest_rows_and_late_rows(
    lake: SparkSession, tmp_path: Path, format_: str
) -> None:
    from typer.testing import CliRunner

    from sash.cli.main import app

    flow = Flow(lake, tmp_path, format_, "latest")
    late = f"{CATALOG[format_]}late_latest"
    text = FEATURES.format(format=format_, events=flow.events, windows=flow.windows)
    text = text.replace(
        'keys = ["k", "window.id"]', f'keys = ["k"]\n\n[late]\nformat = "{format_}"\ntable = "{late}"'
    )
    (tmp_path / "latest.toml").write_text(text)
    for lot in (*EVENTS, [TOO_LATE]):
        append(lake, flow.events, format_, lot)
        run = CliRunner().invoke(app, ["run", str(tmp_path / "latest.toml")])
        assert run.exit_code == 0, run.output
    rows = [row.asDict() for row in flow.rows()]
    assert latest_rows(rows) == expected_latest(pa.concat_tables(table_of(lot) for lot in EVENTS))
    assert [(row.x, row.k) for row in lake.table(late).collect()] == [TOO_LATE]
