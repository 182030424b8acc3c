"""Elastic queries on Spark: the rows of a fixed one, whatever the degrees; sinks, restarts, refusals."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, SettingError, Unsupported
from sash.operators.elastic.controller_samples import Sample
from sash.operators.elastic.controllers import predictive
from sash.runtimes.spark.epochs.epoch_metering import BatchMeter, BatchMetrics, behind, metrics_of
from sash.runtimes.spark.epochs.epoch_step import TaskReport
from sash.runtimes.spark.epochs.store_of_state import require_reachable
from tests.aggregation.conftest import RedisServer
from tests.runtimes.micro_batches import read_batches, stream_batches, write_batches
from tests.runtimes.test_spark_streaming import (
    DELAY,
    SCHEMA,
    by_minute,
    closed,
    cut,
    disordered,
    several,
    trades,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCRIPT = (1, 2, 4, 1, 3)


def scripted(samples: Sequence[Sample]) -> int:
    return SCRIPT[len(samples) % len(SCRIPT)]


ELASTIC = sash.Elastic(max=4, controller=scripted, buckets=8)


class Sunk:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}

    def __call__(self, reports: DataFrame, batch: int) -> None:
        self.tables[batch] = reports.toArrow()

    @property
    def rows(self) -> list[str]:
        return sorted(str(row) for table in self.tables.values() for row in table.to_pylist())


def run(query: Any, sink: Any, checkpoint: Path, *, elastic: sash.Elastic | None = ELASTIC) -> Any:
    handle = query.start(sink, checkpoint=checkpoint, elastic=elastic, trigger="available now")
    handle.awaitTermination()
    return handle


def in_folder(spark: SparkSession, sink: Path) -> list[str]:
    return sorted(map(str, spark.read.parquet(str(sink)).drop("batch").toArrow().to_pylist()))


def in_process(rows: list[dict[str, Any]]) -> list[str]:
    """What `by_minute` reports for the rows when they are all there at once."""
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    windows = sash.stream(table, time="ts", key="symbol", delay=DELAY).window(
        sash.tumbling("1 minute"), flush=False
    )
    return closed(windows.agg(n=sash.count()))


@pytest.mark.quick
def test_differential_an_elastic_query_says_what_the_bounded_one_does_at_every_degree(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows, sink = disordered(trades()), Sunk()
    batches = cut(rows, 4)
    handle = run(several(stream_batches(spark, batches)), sink, tmp_path / "checkpoint")
    assert sink.rows == closed(several(pa.Table.from_pylist(rows, schema=SCHEMA)))
    # One epoch a file, the one without rows included: a new degree costs no micro-batch of its own.
    assert handle.degrees == dict(enumerate(SCRIPT[: len(batches)]))
    assert sum(batch.events for batch in handle.metrics) == len(rows)
    assert handle.degree == handle.samples[-1].degree == SCRIPT[len(batches) - 1]


def test_a_restart_goes_on_from_the_checkpoint_with_any_other_degrees(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = disordered(trades())
    batches = cut(rows, 4)
    (tmp_path / "input").mkdir()
    for first, some in ((0, batches[:3]), (3, batches[3:])):
        write_batches(tmp_path / "input", some, first=first)
        source = read_batches(spark, tmp_path / "input", SCHEMA)
        run(by_minute(source), tmp_path / "sink", tmp_path / "checkpoint")
    assert in_folder(spark, tmp_path / "sink") == in_process(rows)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.kill()


@pytest.mark.redis
def test_differential_state_in_redis_and_files_read_by_python_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, redis_url: str
) -> None:
    (tmp_path / "input").mkdir()
    rows = disordered(trades(150))
    write_batches(tmp_path / "input", cut(rows, 2))
    files = sash.read_stream_parquet(tmp_path / "input", spark=spark, maxFilesPerTrigger=1)
    sink, elastic = Sunk(), sash.Elastic(max=2, controller=scripted, store=redis_url, buckets=4)
    run(by_minute(files), sink, tmp_path / "checkpoint", elastic=elastic)
    assert sink.rows == in_process(rows) != []


@pytest.mark.parametrize(
    "elastic", [None, ELASTIC, replace(ELASTIC, store="files")], ids=["fixed", "elastic", "in files"]
)
def test_one_pass_writes_reports_and_late_rows_each_to_its_own_sink(
    spark: SparkSession, tmp_path: Path, elastic: sash.Elastic | None
) -> None:
    rows = trades(200)
    batches = [pa.Table.from_pylist(part, schema=SCHEMA) for part in (rows[100:], rows[:20])]
    query, late = by_minute(stream_batches(spark, batches)), Sunk()
    started = query.start(
        tmp_path / "sink", late=late, checkpoint=tmp_path / "checkpoint", elastic=elastic,
        trigger="available now",
    )  # fmt: skip
    started.awaitTermination()
    assert in_folder(spark, tmp_path / "sink") == in_process(rows[100:])
    assert len(late.rows) == 20
    assert all("behind the watermark" in row for row in late.rows)
    assert list(late.tables) == [1]


def test_a_fixed_query_starts_with_a_folder_or_a_function_too(spark: SparkSession, tmp_path: Path) -> None:
    batches, sink = cut(trades(120), 1), Sunk()
    for name, to in (("folder", tmp_path / "sink"), ("function", sink)):
        run(by_minute(stream_batches(spark, batches)), to, tmp_path / name, elastic=None)
    assert in_folder(spark, tmp_path / "sink") == sink.rows != []


def test_a_sink_that_fails_is_told_the_same_batch_again(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    (tmp_path / "input").mkdir()
    write_batches(tmp_path / "input", cut(trades(240), 1))
    written: list[tuple[int, list[str]]] = []

    def fail_once(reports: DataFrame, batch: int) -> None:
        written.append((batch, sorted(map(str, reports.toArrow().to_pylist()))))
        if len(written) == 1:
            raise ConnectionError("the sink is away")

    def begin() -> None:
        run(by_minute(read_batches(spark, tmp_path / "input", SCHEMA)), fail_once, tmp_path / "checkpoint")

    with pytest.raises(StreamingQueryException, match="the sink is away"):
        begin()
    begin()
    assert len(written) == 2
    assert written[0] == written[1]


# What is refused, before anything runs


def test_starting_a_bounded_query_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"start\(\) needs a streaming DataFrame"):
        by_minute(SCHEMA.empty_table()).start("sink", checkpoint="checkpoint")


def test_an_elastic_query_over_a_stream_with_a_watermark_is_refused(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    counts = sash.stream(rate.withWatermark("timestamp", "1 minute"), time="timestamp").window(
        sash.tumbling("1 minute")
    )
    with pytest.raises(Unsupported, match=r"delay=… instead of withWatermark|delay=…"):
        counts.agg(n=sash.count()).start("sink", checkpoint="checkpoint", elastic=ELASTIC)


@pytest.mark.parametrize(
    ("argument", "wrong"), [("sink", {"sink": 3}), ("elastic", {"elastic": 4}), ("trigger", {"trigger": 5})]
)
def test_arguments_that_cannot_be_are_refused_by_name(
    spark: SparkSession, tmp_path: Path, argument: str, wrong: dict[str, Any]
) -> None:
    rate = spark.readStream.format("rate").load()
    query = sash.stream(rate, time="timestamp").window(sash.tumbling("1 minute")).agg(n=sash.count())
    given = {"sink": "sink", "checkpoint": tmp_path, "elastic": ELASTIC} | wrong
    with pytest.raises(ArgumentError, match=f"^{argument} must be"):
        query.start(given.pop("sink"), **given)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"speculation": True, "store": "redis"}, SettingError),
        ({"master": "spark://host:7077"}, Unsupported),
        ({"checkpoint": "s3://bucket/c"}, Unsupported),
    ],
)
def test_where_state_could_be_lost_an_elastic_query_is_refused(
    wrong: dict[str, Any], error: type[Exception]
) -> None:
    fine = {"store": "lmdb", "checkpoint": "file:/c", "master": "local[2]", "speculation": False}
    require_reachable(**fine)
    with pytest.raises(error):
        require_reachable(**(fine | wrong))
    require_reachable(**(fine | {"store": "redis", "master": "yarn", "checkpoint": "s3://bucket/c"}))


# What a controller sees


def batch(number: int, *, waited: float, busy: float, began: float = 0.0) -> BatchMetrics:
    """Three seconds with two instances, a third of it in the step."""
    counts = {"late": 0, "reports": 0, "forgotten": 0, "restored": 0, "read": 0, "written": 0}
    times = {"began": began, "waited": waited, "seconds": 3.0, "step": 1.0, "busy": busy}
    return BatchMetrics(batch=number, degree=2, events=100, watermark=0, **counts, **times)


def test_utilisation_counts_the_time_that_instances_have_and_not_that_of_the_driver() -> None:
    # batch 0 [ pack | step 1 s | sink ] books [ pack | step 1 s | sink ] books … waits 4 s … [ … ]
    #         0                      3  3.1                         6.1  6.2            10.2
    meter = BatchMeter()
    meter.add(batch(0, waited=0.0, busy=1.9), pending=0, bookkeeping=0.0)
    meter.add(batch(1, waited=0.1, busy=1.9), pending=0, bookkeeping=0.1)
    meter.add(batch(2, waited=4.1, busy=1.0), pending=7, bookkeeping=0.1)
    first, back_to_back, last = meter.samples
    assert first.seconds == pytest.approx(3.0)
    assert back_to_back.utilisation == pytest.approx(0.95)
    assert back_to_back.rate == pytest.approx(100.0)
    assert last.seconds == pytest.approx(1.0 + 4.0)
    assert last.utilisation == pytest.approx(1.0 / (2 * 5.0))
    assert last.work == pytest.approx(1.0)
    assert last.pending == 7


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_jumps_changes_nothing_of_what_a_controller_sees(jump: float) -> None:
    steady, jumping = BatchMeter(), BatchMeter()
    for number in range(6):
        began = 4.0 * number + (jump if number >= 3 else 0.0)
        for meter, at in ((steady, 4.0 * number), (jumping, began)):
            meter.add(batch(number, waited=1.0, busy=1.5, began=at), pending=0, bookkeeping=0.1)
    assert list(steady.samples) == list(jumping.samples)
    times = [sample.time for sample in steady.samples]
    assert times == sorted(times)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_step_in_which_a_clock_jumps_took_no_longer_than_the_driver_waited(jump: float) -> None:
    tasks = [TaskReport(100.0 + n * jump, 1.0, 0.5, [0], {}, {}, 1) for n in range(2)]
    found = metrics_of(tasks, within=2.5)
    assert 1.0 <= found["step"] <= 2.5
    assert (found["degree"], found["busy"]) == (2, 1.0)


@pytest.mark.parametrize("jump", [-3600.0, pytest.param(3600.0, marks=pytest.mark.soak)])
def test_a_clock_that_jumps_while_an_elastic_query_runs_changes_neither_answers_nor_degrees(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    real, calls = time.time, itertools.count()
    monkeypatch.setattr(time, "time", lambda: real() + jump * (next(calls) // 2 % 2))
    rows, sink = trades(240), Sunk()
    elastic = replace(ELASTIC, controller=predictive(window=60.0))
    running = run(by_minute(stream_batches(spark, cut(rows, 6))), sink, tmp_path / "c", elastic=elastic)
    assert sink.rows == in_process(rows) != []
    assert all(0 <= sample.seconds < 600 for sample in running.samples)
    times = [sample.time for sample in running.samples]
    assert times == sorted(times)
    assert times[-1] < 600


def test_what_waits_in_a_source_is_known_where_the_source_says_it() -> None:
    kafka = '{"t":{"0":5,"1":9}}', '{"t":{"0":8,"1":9,"2":4}}'
    files, broken = ('{"logOffset":3}', None), ("<offset>", "12")
    assert behind([kafka, files, broken]) == 3
    assert behind([]) == 0
