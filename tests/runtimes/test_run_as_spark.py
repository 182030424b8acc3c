"""Sash as an engine on Spark, static and streaming; and Spark's own windows as one of the engines."""

from __future__ import annotations

import random
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.operators.engine import WindowOperator
from sash.runtimes.spark.state.fingerprint import describe, differences
from tests.runtimes.micro_batches import DryStream, Ran, stream_batches
from tests.runtimes.run_as_cases import (
    ENGINES,
    SCHEMA,
    answers,
    on_one_input,
    one_query,
    published,
    questions,
    shown,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ON_SPARK = on_one_input(questions(16, inputs=13, seed=3))
"""208 cases: 16 windows, every engine among them, over 13 inputs; one query answers them all."""
STREAMED = {"flink", "flink_java", "kafka_streams", "oracle_cep", "spark_dstream", "spark_structured"}


def test_there_are_two_hundred_cases_of_every_engine_and_kind() -> None:
    assert sum(len(question.inputs) for question in ON_SPARK) >= 200
    assert {question.engine for question in ON_SPARK} == set(ENGINES)
    assert {question.kind for question in ON_SPARK} == {"time", "count"}


def test_oracle_two_hundred_random_cases_are_reported_as_the_simulator_says(spark: SparkSession) -> None:
    from sash.runtimes.spark.batch.static_source import SparkSource

    source = SparkSource(spark.createDataFrame(ON_SPARK[0].table))
    reported = answers(source.collect(one_query(ON_SPARK)).to_pylist(), ON_SPARK)
    for question, reports in zip(ON_SPARK, reported, strict=True):
        assert reports == question.expected(ended=True), question


def test_oracle_a_sample_of_them_on_a_stream_is_reported_as_the_simulator_says(spark: SparkSession) -> None:
    from sash.runtimes.spark.streaming.streaming_source import StreamingSource

    # Closed forms of both kinds, the model, and Sash's own windows.
    sample = [question for question in ON_SPARK if question.engine in STREAMED]
    table = ON_SPARK[0].table
    half = table.num_rows // 2
    source = StreamingSource(stream_batches(spark, [table.slice(0, half), table.slice(half)]))
    reported = answers(Ran(source.dataframe(one_query(sample))).rows, sample)
    for question, reports in zip(sample, reported, strict=True):
        assert reports == question.expected(ended=False), question


def test_oracle_packed_micro_batches_are_reported_as_the_simulator_says() -> None:
    rng = random.Random(5)
    for question in [*questions(26, inputs=5, seed=17), *published()]:
        dry = DryStream(one_query([question]), WindowOperator)
        batches = [batch for batch in question.batches(rng) if batch.num_rows]
        assert shown(dry.run(batches)) == question.expected(ended=False), question


def test_a_stream_is_run_as_an_engine_by_the_words_of_the_interface(spark: SparkSession) -> None:
    df = stream_batches(spark, [SCHEMA.empty_table()])
    windowed = sash.stream(df, time="t", key="k").window(sash.tumbling(3)).semantics("coral8")
    assert windowed.agg(n=sash.count()).dataframe().columns == ["k", "window", "n", "revision"]


def test_a_checkpoint_says_as_which_engine_it_was_made() -> None:
    def description(engine: str) -> dict[str, Any]:
        windowed = sash.stream(SCHEMA.empty_table(), time="t").window(sash.tumbling(3).named("w"))
        bound = windowed.semantics(engine).agg(n=sash.count()).bound
        return describe(bound, buckets=1)

    found = list(differences(description("flink"), description("spark_dstream")))
    assert "windows.w.engine was 'flink' and is 'spark_dstream'" in found
    assert any("windows.w.profile.report was ['non-empty', 'window-close']" in line for line in found)


# Spark Structured Streaming: its answer is at hand.

GRID = [
    # size, slide and origin in seconds: tumbling, overlapping, odd sizes, odd and negative origins
    (10, 10, 0), (10, 5, 0), (7, 3, 2), (60, 20, -13), (3, 1, 0.5),
]  # fmt: skip
GAPS = ["5 seconds", "999 milliseconds", "1 microsecond"]
SUMS = {"n": sash.count(), "s": sash.sum("x"), "hi": sash.max("x")}


def milliseconds(seconds: float) -> str:
    return f"{int(seconds * 1000)} milliseconds"


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> DataFrame:
    """Three keys (one null), ties, microseconds, times before 1970, a null time, null values."""
    rng = random.Random(29)
    times = [rng.randrange(-90_000_000, 90_000_000) // rng.choice((1, 1_000_000)) for _ in range(150)]
    times += [second * 1_000_000 for second in range(-30, 31, 5)] * 2
    rows = {
        "ts": pa.array([*times, None], pa.timestamp("us", "UTC")),
        "k": pa.array([rng.choice(["a", "b", None]) for _ in range(len(times) + 1)]),
        "x": pa.array([rng.choice([None, 1, 2, 3, 4]) for _ in range(len(times) + 1)], pa.int64()),
    }
    return spark.createDataFrame(pa.table(rows)).coalesce(1).cache()


def by_spark(data: DataFrame, window: Any) -> DataFrame:
    from pyspark.sql import functions as F

    sums = [F.count("*").alias("n"), F.sum("x").alias("s"), F.max("x").alias("hi")]
    folded = data.groupBy("k", window.alias("w")).agg(*sums)
    return folded.selectExpr("k", "w.start", "w.end", "n", "s", "hi")


def test_differential_a_static_dataframe_as_spark_structured_equals_sparks_own_windows_and_sessions(
    readings: DataFrame,
) -> None:
    from pyspark.sql import functions as F

    windows, native = [], []
    for size, slide, origin in GRID:
        ends = milliseconds(size), milliseconds(slide), milliseconds(origin)
        windows.append(sash.sliding(ends[0], every=ends[1], origin=ends[2]))
        native.append(F.window("ts", *ends))
    for gap in GAPS:
        windows.append(sash.session(gap))
        native.append(F.session_window("ts", gap))
    named = [window.named(str(number)) for number, window in enumerate(windows)]
    stream = sash.stream(readings, time="ts", key="k").window(*named)
    ours = stream.semantics("spark_structured").agg(**SUMS).dataframe()
    theirs = [by_spark(readings, w).withColumn("name", F.lit(str(n))) for n, w in enumerate(native)]
    found = sorted(map(str, ours.selectExpr("k", "window.*", "n", "s", "hi").drop("id").collect()))
    expected = reduce(lambda one, other: one.union(other), theirs)
    columns = ["k", "name", "start", "end", "n", "s", "hi"]
    assert found == sorted(map(str, expected.select(columns).collect()))
    assert len(found) > 300


def test_differential_a_stream_as_spark_structured_equals_sparks_own_windows(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    rng = random.Random(31)
    start = 1_700_000_000_000
    arrived = sorted(range(start, start + 120_000, 700), key=lambda ms: ms + rng.randrange(4_000))
    rows = [{"ts": ms * 1000, "k": rng.choice("ab"), "x": ms % 5} for ms in arrived]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
    half = len(rows) // 2
    batches = [pa.Table.from_pylist(part, schema=schema) for part in (rows[:half], rows[half:])]
    source = stream_batches(spark, batches)
    ours = (
        sash.stream(source, time="ts", key="k", delay="5 seconds")
        .window(sash.sliding("10 seconds", every="4 seconds", origin="1 second"))
        .semantics("spark_structured")
        .agg(**SUMS)
        .dataframe()
        .selectExpr("k", "window.start", "window.end", "n", "s", "hi")
    )
    native = F.window("ts", "10 seconds", "4 seconds", "1 second")
    theirs = by_spark(source.withWatermark("ts", "5 seconds"), native)
    found = sorted(map(str, Ran(ours).rows))
    assert found == sorted(map(str, Ran(theirs).rows))
    assert len(found) > 40


def test_differential_a_stream_as_spark_structured_equals_sparks_own_sessions_with_late_events(
    spark: SparkSession,
) -> None:
    from pyspark.sql import functions as F

    # a: one session that stays open; b: bursts, each a session. The last batch brings events of the first
    # seconds: a's open session does not take them, and no session of b is there for them any more.
    rng, start = random.Random(37), 1_700_000_000_000
    steady = [(ms, "a") for ms in range(start, start + 120_000, 900)]
    bursts = [
        (start + burst + rng.randrange(3_000), "b") for burst in range(0, 120_000, 9_000) for _ in "123"
    ]
    arrived = sorted([*steady, *bursts], key=lambda one: one[0] + rng.randrange(4_000))
    quarter = len(arrived) // 4
    parts = [arrived[at : at + quarter] for at in range(0, 4 * quarter, quarter)]
    parts[3] += [(start + 5_100, "a"), (start + 7_700, "b"), (start + 20_300, "b"), (start + 30_000, "a")]
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
    batches = [
        pa.Table.from_pylist([{"ts": ms * 1000, "k": k, "x": ms % 5} for ms, k in part], schema=schema)
        for part in parts
    ]
    source = stream_batches(spark, batches)
    query = (
        sash.stream(source, time="ts", key="k", delay="5 seconds")
        .window(sash.session("3 seconds"))
        .semantics("spark_structured")
        .agg(**SUMS)
    )
    ours = Ran(query.dataframe().selectExpr("k", "window.start", "window.end", "n", "s", "hi"))
    theirs = by_spark(source.withWatermark("ts", "5 seconds"), F.session_window("ts", "3 seconds"))
    found = sorted(map(str, ours.rows))
    assert found == sorted(map(str, Ran(theirs).rows))
    assert len(found) > 8
    assert ours.counted("late") == 4
