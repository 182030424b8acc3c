"""A batch is in a sink once and as a whole, whatever an earlier execution of it has left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.errors import ArgumentError, CorruptValue, DifferentQuery, MissingDependency, UnknownColumn
from sash.runtimes.spark.compat import Database
from sash.runtimes.spark.packing.blocks import OUTPUT
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.sinks import folder, jdbc
from sash.runtimes.spark.sinks.console_and_noop import MemorySink
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.jdbc import JdbcSink
from sash.runtimes.spark.sinks.manifests import Manifests
from sash.runtimes.spark.sinks.sink_of_argument import sink_for, sinks_for
from sash.runtimes.spark.sinks.tables import TableSink
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def numbers(rows: DataFrame) -> list[int]:
    return sorted(row["id"] for row in rows.collect())


def deliver(sink: Any, rows: DataFrame, batch: int) -> None:
    """As a query does it."""
    emitted = rows.selectExpr("*", f"0 AS {OUTPUT}")
    Delivery((REPORTS,), lambda df, _: df.drop(OUTPUT), {REPORTS: sink})(emitted, batch)


def test_a_batch_that_is_published_is_left_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    sink = FolderSink(str(tmp_path))
    deliver(sink, spark.range(3), 7)
    deliver(sink, spark.range(5), 7)
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1, 2]
    assert [row["batch"] for row in sash.published(tmp_path, spark=spark).collect()] == [7, 7, 7]


def test_a_batch_whose_manifest_is_missing_is_written_again_as_a_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What a crash leaves on an object store: files of the batch under their final names, no manifest."""
    sink = FolderSink(str(tmp_path))
    deliver(sink, spark.range(2), 6)
    spark.range(100, 103).write.parquet(str(tmp_path / "batch=7"))
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1]
    deliver(sink, spark.range(5, 7), 7)
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1, 5, 6]
    # Also for those who do not know manifests: nothing of the failed execution is left.
    assert numbers(spark.read.parquet(str(tmp_path))) == [0, 1, 5, 6]


@pytest.mark.parametrize(("cut", "checksum"), [(0, False), (1, False), (40, False), (40, True)])
def test_a_manifest_that_was_cut_short_is_none(
    spark: SparkSession, tmp_path: Path, cut: int, checksum: bool
) -> None:
    sink = FolderSink(str(tmp_path))
    deliver(sink, spark.range(3), 0)
    manifest = tmp_path / "_sash" / "0"
    manifest.write_bytes(manifest.read_bytes()[:cut])
    if not checksum:
        (tmp_path / "_sash" / ".0.crc").unlink(missing_ok=True)
    assert not sink.has(spark, 0)
    deliver(sink, spark.range(3), 0)
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1, 2]


def test_a_manifest_that_is_damaged_and_not_the_newest_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A crash cuts short only the newest; without the others rows would be missing silently."""
    sink = FolderSink(str(tmp_path))
    for batch in range(2):
        deliver(sink, spark.range(3), batch)
    manifest = tmp_path / "_sash" / "0"
    manifest.write_bytes(manifest.read_bytes()[:-3])
    (tmp_path / "_sash" / ".0.crc").unlink(missing_ok=True)
    with pytest.raises(CorruptValue):
        sash.published(tmp_path, spark=spark)


def test_an_old_driver_that_goes_on_changes_nothing_of_what_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It has begun the batch before another one executed and published it."""
    old, new = FolderSink(str(tmp_path)), FolderSink(str(tmp_path))
    assert not old.has(spark, 7)
    deliver(new, spark.range(3), 7)
    published = sorted((tmp_path / "batch=7").rglob("*.parquet"))
    old.write(spark.range(3), 7)
    assert sorted((tmp_path / "batch=7").rglob("*.parquet")) == published
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1, 2]


def test_what_is_left_of_another_execution_goes_with_the_next_look(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A crash after the manifest and before the rest was removed."""
    sink = FolderSink(str(tmp_path))
    deliver(sink, spark.range(3), 7)
    spark.range(100, 103).write.parquet(str(tmp_path / "batch=7" / "other"))
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 1, 2]
    assert sink.has(spark, 7)
    assert numbers(spark.read.parquet(str(tmp_path))) == [0, 1, 2]


def test_a_query_that_starts_again_does_not_list_its_batches(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(FolderSink(str(tmp_path)), spark.range(3), 7)
    (tmp_path / "_sash" / "writer").write_bytes(b"cut")
    deliver(FolderSink(str(tmp_path)), spark.range(3), 8)

    def listed(manifests: Manifests) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(Manifests, "newest", listed)
    deliver(FolderSink(str(tmp_path)), spark.range(3, 4), 9)
    assert numbers(sash.published(tmp_path, spark=spark)) == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("harm", ["missing", "longer"])
def test_files_that_are_not_as_they_were_published_are_refused(
    spark: SparkSession, tmp_path: Path, harm: str
) -> None:
    deliver(FolderSink(str(tmp_path)), spark.range(3).repartition(1), 7)
    (file,) = (tmp_path / "batch=7").rglob("*.parquet")
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(CorruptValue, match=r"batch 7 .* is not as it was published"):
        sash.published(tmp_path, spark=spark)


def test_a_folder_belongs_to_one_query(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(FolderSink(str(tmp_path)), spark.range(3), 7)
    monkeypatch.setattr(folder, "writer_of", lambda spark: "another")
    with pytest.raises(DifferentQuery, match="has batches of another query"):
        deliver(FolderSink(str(tmp_path)), spark.range(3), 0)
    FolderSink(str(tmp_path)).write(spark.range(3), 0)
    with pytest.raises(DifferentQuery, match="has batches of another query"):
        sash.published(tmp_path, spark=spark)


def test_a_batch_without_rows_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    deliver(FolderSink(str(tmp_path)), spark.range(0), 3)
    assert Manifests(spark, str(tmp_path)).published() == []
    assert not (tmp_path / "batch=3").exists()
    with pytest.raises(ArgumentError, match="has published rows"):
        sash.published(tmp_path, spark=spark)


def test_spark_writes_times_as_tasks_do(spark: SparkSession, tmp_path: Path) -> None:
    """Batches of one folder are written by either: a reader that is not Spark sees one type."""
    rows = spark.newSession().range(1).coalesce(1).selectExpr("id", "timestamp'2026-11-19 12:00:00' AS at")
    deliver(FolderSink(str(tmp_path)), rows, 7)
    [file] = tmp_path.rglob("*.parquet")
    assert pq.read_schema(file).field("at").type == pa.timestamp("us", "UTC")


def test_each_output_goes_to_its_own_sink_and_the_rows_are_computed_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    computed = spark.sparkContext.accumulator(0)

    def touched(batches: Any) -> Any:
        for batch in batches:
            computed.add(batch.num_rows)
            yield batch

    rows = spark.range(10).selectExpr("id", f"cast(id % 3 = 0 as int) AS {OUTPUT}")
    rows = rows.mapInArrow(touched, rows.schema)
    late: list[int] = []
    sinks = {
        REPORTS: sink_for(tmp_path),
        LATE: sink_for(lambda df, batch: late.extend(numbers(df))),
    }
    split = Delivery((REPORTS, LATE), _split, sinks)
    split(rows, 0)
    assert numbers(sash.published(tmp_path, spark=spark)) == [1, 2, 4, 5, 7, 8]
    assert late == [0, 3, 6, 9]
    assert computed.value == 10
    # Again, as after a crash before Spark had noted the batch: the folder has it, the function gets it.
    split(rows, 0)
    assert numbers(sash.published(tmp_path, spark=spark)) == [1, 2, 4, 5, 7, 8]
    assert late == [0, 3, 6, 9] * 2
    assert computed.value == 20


def _split(rows: DataFrame, output: str) -> DataFrame:
    return rows.filter(f"{OUTPUT} = {(REPORTS, LATE).index(output)}").drop(OUTPUT)


def test_a_function_that_looks_at_nothing_has_the_step_run_all_the_same(spark: SparkSession) -> None:
    computed = spark.sparkContext.accumulator(0)

    def touched(batches: Any) -> Any:
        for batch in batches:
            computed.add(batch.num_rows)
            yield batch

    rows = spark.range(10)
    deliver(sink_for(lambda df, batch: None), rows.mapInArrow(touched, rows.schema), 0)
    assert computed.value == 10


@pytest.fixture
def derby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that comes with Spark, in memory."""
    monkeypatch.chdir(tmp_path)
    return f"jdbc:derby:memory:{tmp_path.name};create=true"


def in_table(spark: SparkSession, url: str) -> list[tuple[Any, ...]]:
    read = spark.read.format("jdbc").options(url=url, dbtable="T").load()
    return sorted(map(tuple, read.collect()), key=repr)


def test_a_database_has_a_batch_once_and_the_newest_row_of_a_key(spark: SparkSession, derby: str) -> None:
    sink = JdbcSink(derby, "T", keys=("k", "window_id"))

    def reports(*rows: tuple[int | None, int, int]) -> DataFrame:
        made = spark.createDataFrame(list(rows), "k long, id long, n long")
        return made.selectExpr("k", "struct(id) AS window", "n")

    sink.write(reports((8, 1, 10), (None, 1, 5)), 0)
    sink.write(reports((8, 1, 10), (None, 1, 5)), 0)
    assert in_table(spark, derby) == [(8, 1, 10, 0), (None, 1, 5, 0)]
    sink.write(reports((8, 1, 11), (8, 2, 1)), 1)
    assert in_table(spark, derby) == [(8, 1, 11, 1), (8, 2, 1, 1), (None, 1, 5, 0)]


def test_keys_that_are_text_can_be_compared(spark: SparkSession, derby: str) -> None:
    """Derby's texts are CLOBs by default, which it refuses to compare."""
    sink = JdbcSink(derby, "T", keys=("card",))
    sink.write(spark.createDataFrame([("a", 1), ("b", 1)], "card string, n int"), 0)
    sink.write(spark.createDataFrame([("a", 2)], "card string, n int"), 1)
    assert in_table(spark, derby) == [("a", 2, 1), ("b", 1, 0)]


def test_a_database_without_keys_has_the_rows_of_each_batch_once(spark: SparkSession, derby: str) -> None:
    sink = JdbcSink(derby, "T")
    for batch, rows in ((0, 3), (1, 2), (1, 2)):
        sink.write(spark.range(rows), batch)
    assert in_table(spark, derby) == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0)]
    with pytest.raises(UnknownColumn, match="keys"):
        JdbcSink(derby, "T", keys=("nobody",)).write(spark.range(1), 2)


def test_two_queries_add_to_one_table_without_keys(spark: SparkSession, derby: str, tmp_path: Path) -> None:
    spark.range(1).write.parquet(str(tmp_path / "input"))
    for name, first in (("first", 100), ("second", 200)):
        stream = spark.readStream.schema("id long").parquet(str(tmp_path / "input"))
        writer = stream.selectExpr(f"id + {first} AS id").writeStream.foreachBatch(
            JdbcSink(derby, "T").write
        )
        writer = writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)
        writer.start().awaitTermination()
    rows = in_table(spark, derby)
    assert [row[:2] for row in rows] == [(100, 0), (200, 0)]
    assert rows[0][2] != rows[1][2]


def test_a_database_has_the_last_revision_of_a_window_that_a_batch_reports_twice(
    spark: SparkSession, derby: str
) -> None:
    sink = JdbcSink(derby, "T", keys=("k",))
    rows = [(8, 10, 0), (8, 12, 2), (None, 5, 1), (8, 11, 1), (None, 4, 0)]
    sink.write(spark.createDataFrame(rows, "k long, n long, revision long"), 0)
    assert in_table(spark, derby) == [(8, 12, 2, 0), (None, 5, 1, 0)]


def staging_tables(spark: SparkSession, url: str) -> list[str]:
    names = "(SELECT TABLENAME FROM SYS.SYSTABLES WHERE TABLENAME LIKE '%SASH%') names"
    read = spark.read.format("jdbc").options(url=url, dbtable=names).load()
    return [row[0] for row in read.collect()]


def test_queries_that_write_to_one_table_have_staging_tables_of_their_own(
    spark: SparkSession, derby: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is between staging and transaction when the other writes a batch of the same number."""
    spark.range(1).write.parquet(str(tmp_path / "input"))
    seen: list[list[str]] = []

    class Interrupted(Database):
        def __enter__(self) -> Database:
            seen.append(staging_tables(spark, derby))
            if len(seen) == 1:
                run("second", 200)
            return super().__enter__()

    def run(name: str, first: int) -> None:
        sink = JdbcSink(derby, "T", keys=("id",))
        stream = spark.readStream.schema("id long").parquet(str(tmp_path / "input"))
        writer = stream.selectExpr(f"id + {first} AS id").writeStream.foreachBatch(sink.write)
        writer = writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)
        writer.start().awaitTermination()

    monkeypatch.setattr(jdbc, "Database", Interrupted)
    run("first", 100)
    assert in_table(spark, derby) == [(100, 0), (200, 0)]
    assert [len(names) for names in seen] == [1, 2]
    assert staging_tables(spark, derby) == []


@pytest.mark.parametrize("made", [sash.sinks.folder, lambda path: sash.sinks.jdbc(f"jdbc:{path}", "T")])
@pytest.mark.parametrize("elastic", [None, sash.Elastic(min=1, max=2)])
def test_a_column_that_the_sink_would_replace_is_refused(
    spark: SparkSession, tmp_path: Path, made: Any, elastic: sash.Elastic | None
) -> None:
    rate, sink = spark.readStream.format("rate").load(), made(tmp_path / "out")
    events = sash.stream(rate.withColumnRenamed("value", "Batch"), time="timestamp")
    windows = events.window(sash.tumbling("1 minute"))
    later: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "elastic": elastic}
    with pytest.raises(ArgumentError, match="'batch' of the output 'reports' must be renamed before"):
        windows.agg(batch=sash.count()).start(sink, **later)
    with pytest.raises(ArgumentError, match="'Batch' of the output 'late' must be renamed before"):
        windows.agg(n=sash.count()).start(lambda df, batch: None, late=sink, **later)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("elastic", [None, sash.Elastic(min=1, max=2)])
def test_a_list_in_a_place_that_cannot_hold_it_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, elastic: sash.Elastic | None
) -> None:
    rate = spark.readStream.format("rate").load()
    query = sash.stream(rate, time="timestamp").latest("1 hour").agg(shops=sash.last("value", 3))
    csv = sash.sinks.folder(tmp_path / "out", format="csv")
    for sink in (sash.sinks.jdbc("jdbc:derby:x", "T"), csv):
        with pytest.raises(ArgumentError, match=r"the column 'shops\w*' is a list \(.*to_json"):
            query.start(sink, checkpoint=tmp_path / "checkpoint", elastic=elastic)
    assert not (tmp_path / "checkpoint").exists()
    assert not sash.sinks.jdbc("jdbc:postgresql://x/y", "T").holds_no_lists  # type: ignore[attr-defined]


def test_latest_has_one_row_per_key_in_a_table_without_keys(
    spark: SparkSession, derby: str, tmp_path: Path
) -> None:
    events = spark.createDataFrame([(t, k) for t in range(3) for k in "ab"], "t long, k string")
    events.repartition(1).write.parquet(str(tmp_path / "in"))
    read = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    for number in range(2):
        events.repartition(1).write.mode("append").parquet(str(tmp_path / "in"))
        query = sash.stream(read.parquet(str(tmp_path / "in")), time="t", key="k", allowed_lateness=5)
        started = (
            query.latest(10)
            .agg(n=sash.count())
            .start(sash.sinks.jdbc(derby, "T"), checkpoint=tmp_path / "checkpoint", trigger="available now")
        )
        started.awaitTermination()
        table = spark.read.format("jdbc").options(url=derby, dbtable="T").load().collect()
        assert sorted((row["k"], row["n_10"]) for row in table) == [(k, 6 + 3 * number) for k in "ab"]


def test_keys_of_latest_are_those_that_were_given() -> None:
    given = {"out": ("sink", sash.sinks.jdbc("jdbc:x", "T", keys=()))}
    assert sinks_for(given, latest={"out": ("k",)}) == {"out": JdbcSink("jdbc:x", "T", ())}
    redis, delta = sash.sinks.redis("redis://x", "p:"), sash.sinks.table("t", writer="w")
    for sink in (redis, delta):
        (one,) = sinks_for({"out": ("sink", sink)}, latest={"out": ("k",)}).values()
        assert one.keys == ("k",)  # type: ignore[attr-defined]
        (one,) = sinks_for({"out": ("sink", sink)}).values()
        assert not one.keys  # type: ignore[attr-defined]


def test_a_folder_without_published_rows_is_named_for_what_it_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    def why(place: Path) -> str:
        with pytest.raises(ArgumentError, match="in which a query has published rows") as raised:
            sash.published(place, spark=spark)
        return str(raised.value)

    assert "There is no such folder" in why(tmp_path / "nowhere")
    spark.range(3).write.parquet(str(tmp_path / "other"))
    assert "read with spark.read" in why(tmp_path / "other")
    deliver(FolderSink(str(tmp_path / "begun")), spark.range(0), 0)
    assert "no event was late" in why(tmp_path / "begun")


def test_what_the_first_batch_would_find_is_found_by_start(spark: SparkSession, tmp_path: Path) -> None:
    events = spark.createDataFrame([(1, "a"), (2, "b")], "t long, k string")
    events.write.parquet(str(tmp_path / "in"))
    read = spark.readStream.schema(events.schema).parquet(str(tmp_path / "in"))
    query = sash.stream(read, time="t", key="k").latest(10).agg(n=sash.count())

    def start(sink: Any, checkpoint: str | Path) -> None:
        query.start(sink, checkpoint=checkpoint, trigger="available now").awaitTermination()

    for _ in range(2):
        start(tmp_path / "out", tmp_path / "checkpoint")
    with pytest.raises(DifferentQuery, match="has batches of another query, or of this one with another"):
        start(tmp_path / "out", tmp_path / "another")
    assert not (tmp_path / "another").exists()
    with pytest.raises(
        MissingDependency, match=r"delta needs the package io\.delta:.*spark_jars_packages="
    ):
        start(sash.sinks.table("t", writer="w"), tmp_path / "another")
    with pytest.raises(ArgumentError, match="checkpoint must be a folder that can be made and written"):
        start(tmp_path / "new", "/proc/nowhere/checkpoint")


def test_a_folder_has_no_keys() -> None:
    with pytest.raises(ArgumentError, match="keeps the rows of all batches"):
        sash.sinks.folder("out", keys=["card"])  # type: ignore[arg-type]


def test_what_is_no_sink_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"late must be a path, a sash\.sinks"):
        sink_for(7, argument="late")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'delta' or 'iceberg'"):
        TableSink("me", "t", format="paper")
    with pytest.raises(ArgumentError, match="path instead"):
        TableSink("me")


def test_a_view_in_memory_has_the_batches_after_one_without_rows(spark: SparkSession) -> None:
    sink = MemorySink(spark, "sash_test_view")
    for batch, rows in enumerate([spark.range(2), spark.range(0), spark.range(2, 5)]):
        deliver(sink, rows, batch)
    assert numbers(spark.table("sash_test_view")) == [0, 1, 2, 3, 4]
    spark.catalog.dropTempView("sash_test_view")
