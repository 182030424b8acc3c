"""O+ on Spark: the rows of the same operator in process; a tuple goes to a bucket once, not once a key."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, DataError, Unsupported
from sash.operators import Aggregate, ByRow, InBulk, Input, Join, Stateful
from sash.operators.stateful.streaming import BoundOperator
from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED_BUCKET, PAYLOAD, rows_of
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.stateful.key_sets import OfBucket, buckets_of
from sash.runtimes.spark.stateful.operator_stages import OperatorStage, block_schema, packer_of_input
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.semantics.durations import Duration, Unit
from tests.runtimes.micro_batches import (
    MicroBatches,
    Ran,
    by_output,
    read_batches,
    stream_batches,
    write_batches,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TAGS = [f"tag {number}" for number in range(12)]
TWEETS = Input(
    pa.schema([("t", pa.int64()), ("tags", pa.list_(pa.string())), ("size", pa.int64())]), time="t"
)


def tweets(count: int, *, first: int = 0, seed: int = 3) -> pa.Table:
    choice = random.Random(seed + first)
    rows = [
        {"t": first + number // 4, "tags": choice.choices(TAGS, k=choice.randrange(7)), "size": number}
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=TWEETS.schema)


def totals(**changes: Any) -> Aggregate:
    given = {"advance": 10, "size": 20, "inputs": TWEETS, "keys": "tags"} | changes
    return Aggregate(**given, n=sash.count(), total=sash.sum("size"))


def seen(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(str, rows))


def packed(operator: Stateful, table: pa.Table, *, buckets: int) -> list[tuple[int, pa.Table]]:
    """The blocks that leave the packer, opened again."""
    packer = packer_of_input(operator, 0, buckets=tuple(range(buckets)), clock=Clock.of(ticks=True))
    placed = table.rename_columns(places(TWEETS.schema.names)).to_batches()
    return [
        (bucket, rows_of(bucket, [payload], block_schema(TWEETS.schema, originals=True)))
        for batch in packer(placed)
        for bucket, payload in zip(
            batch[PACKED_BUCKET].to_pylist(), batch[PAYLOAD].to_pylist(), strict=True
        )
    ]


@pytest.mark.parametrize("buckets", [1, 3, 64])
def test_a_tuple_goes_once_to_each_bucket_that_owns_a_key_of_it(buckets: int) -> None:
    table = tweets(200)
    keys = [set(row["tags"]) for row in table.to_pylist()]
    bucket = dict(zip(TAGS, buckets_of(pa.array(TAGS), buckets).tolist(), strict=True))
    expected = sum(len({bucket[tag] for tag in tags}) for tags in keys)
    sent = sum(rows.num_rows for _, rows in packed(totals(), table, buckets=buckets))
    assert sent == expected
    once_a_key = sum(len(tags) for tags in keys)
    assert sent <= once_a_key
    if buckets == 1:
        assert sent == sum(bool(tags) for tags in keys) < once_a_key / 2


@pytest.mark.parametrize(
    "keys",
    [
        "tags",
        lambda row: [(tag, len(tag)) for tag in row.tags],
        ByRow(lambda row: row.tags, keys=pa.string()),
        InBulk(lambda rows: (np.arange(rows.num_rows + 1), rows["size"].to_numpy() % 7)),
        None,
    ],
    ids=["list", "row", "typed row", "bulk", "one key"],
)
def test_the_buckets_of_an_operator_share_its_keys(keys: Any) -> None:
    operator = Stateful(advance=10, size=20, inputs=TWEETS, keys=keys)
    table, whole = tweets(60), operator.keys[0]
    offsets, found = whole.sets(table)
    listed = [list(found[lo:hi]) for lo, hi in pairwise(offsets)]
    shared: list[list[Any]] = [[] for _ in listed]
    for bucket in range(5):
        offsets, found = OfBucket(whole, bucket, 5).sets(table)
        assert set(buckets_of(found, 5).tolist()) <= {bucket}
        for row, (lo, hi) in enumerate(pairwise(offsets)):
            shared[row] += list(found[lo:hi])
    assert [sorted(map(str, row)) for row in shared] == [sorted(map(str, row)) for row in listed]


def test_a_key_that_no_two_processes_hash_alike_is_refused() -> None:
    with pytest.raises(DataError, match="a number, a word, null, or a tuple"):
        buckets_of([object()], 4)


@pytest.mark.spark
def test_differential_a_static_dataframe_gives_the_rows_of_the_operator_in_process(
    spark: SparkSession,
) -> None:
    table = tweets(300)
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    on_spark = sash.operate(totals(), spark.createDataFrame(shuffled).repartition(3)).collect()
    assert seen(on_spark.to_pylist()) == seen(sash.operate(totals(), table).collect().to_pylist()) != []


@pytest.mark.spark
def test_differential_two_inputs_with_schemas_of_their_own_meet_in_their_buckets(
    spark: SparkSession,
) -> None:
    users = Input(pa.schema([("at", pa.int64()), ("tag", pa.string())]), time="at")

    def both(windows: Any) -> Any:
        return {"tag": windows.key, "tweets": len(windows[0]), "users": len(windows[1])}

    schema = pa.schema([("tag", pa.string()), ("tweets", pa.int64()), ("users", pa.int64())])
    operator = Stateful(
        advance=10, size=20, inputs=[TWEETS, users], keys=["tags", "tag"], output=both, schema=schema
    )
    signed = pa.Table.from_pylist(
        [{"at": n // 3, "tag": TAGS[n % 12]} for n in range(90)], schema=users.schema
    )
    tables = [tweets(120), signed]
    on_spark = sash.operate(operator, *map(spark.createDataFrame, tables)).dataframe().toArrow().to_pylist()
    assert seen(on_spark) == seen(sash.operate(operator, *tables).collect().to_pylist())


@pytest.mark.spark
def test_differential_a_stream_with_changing_degrees_gives_the_rows_of_the_operator_in_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [tweets(80, first=20 * number) for number in range(4)]
    emitted: list[dict[str, Any]] = []
    degrees = (2, 1, 3, 1)
    elastic = sash.Elastic(max=3, controller=lambda samples: degrees[len(samples)], buckets=6)
    handle = sash.operate(totals(), stream_batches(spark, batches)).start(
        lambda rows, batch: emitted.extend(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, elastic=elastic, trigger="available now",
    )  # fmt: skip
    handle.awaitTermination()
    assert tuple(handle.degrees.values()) == degrees
    # The last tweets are of time 79, which is the watermark: all windows that end until then are emitted.
    whole = [row for row in totals().over(pa.concat_tables(batches)).to_pylist() if row["time"] <= 79]
    assert seen(emitted) == seen(whole) != []
    assert sum(batch.late for batch in handle.metrics) == 0


@pytest.mark.spark
def test_what_cannot_be_operated_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame(tweets(4))
    with pytest.raises(ArgumentError, match="operator must be"):
        sash.operate("totals", df)
    with pytest.raises(ArgumentError, match="one frame for each of 1 inputs"):
        sash.operate(totals(), df, df)
    with pytest.raises(ArgumentError, match=r"data\[0\] must be a DataFrame with the column size: int64"):
        sash.operate(totals(), df.drop("size"))
    with pytest.raises(Unsupported, match=r"start\(\) needs a streaming DataFrame"):
        sash.operate(totals(), df).start("sink", checkpoint="there")
    stream = sash.operate(totals(), stream_batches(spark, [tweets(4)]))
    text = stream.explain()
    assert "keeps    per key: the state of 2 open windows at a time, " in text
    assert "until the watermark passes their ends" in text
    for refused in (stream.collect, stream.head):
        with pytest.raises(Unsupported, match=r"start\(sink, checkpoint=…\)"):
            refused()
    with pytest.raises(ArgumentError, match="elastic must be"):
        stream.start("sink", checkpoint="there", elastic=3)
    with pytest.raises(ArgumentError, match="one delay, or one for each of 1 inputs"):
        sash.operate(totals(), stream_batches(spark, [tweets(4)]), delay=[1, 2])


def newest() -> Stateful:
    """One window per tag, which knows its last size also after that has left it."""

    def keep(windows: Any, tweet: Any) -> None:
        windows[0] = tweet.row.size

    def fade(windows: Any) -> None:
        windows[0] //= 2

    return Stateful(
        advance=10, size=20, inputs=TWEETS, keys="tags", window="single", update=keep, slide=fade,
        state=int, output=lambda windows: {"tag": windows.key, "last": windows[0]},
        schema=pa.schema([("tag", pa.string()), ("last", pa.int64())]),
    )  # fmt: skip


@pytest.mark.parametrize("operator", [totals, newest], ids=["folds of panes", "a single window"])
@pytest.mark.parametrize("forgetful", [True, False])
def test_differential_state_in_sparks_store_gives_the_rows_of_the_operator_in_process(
    operator: Any, forgetful: bool
) -> None:
    batches = [tweets(40, first=10 * number) for number in range(6)]
    clock, buckets = Clock.of(ticks=True), (3, 1, 4)
    bound = BoundOperator.of(operator(), Duration(0, Unit.TICKS))
    stage = OperatorStage(bound, buckets, clock, (REPORTS, LATE))
    engine = MicroBatches(WindowProcessor(stage))  # type: ignore[arg-type]
    packer = packer_of_input(bound.operator, 0, buckets=buckets, clock=clock)
    emitted, watermark, upcoming = [], 0, 0
    for batch in (*batches, None):
        if forgetful:
            OPERATORS.clear()
        payloads: dict[int, list[bytes]] = {}
        rows = [] if batch is None else batch.rename_columns(places(TWEETS.schema.names)).to_batches()
        watermark = upcoming
        for packed in packer(rows):
            upcoming = max(upcoming, *(at // 1000 for at in packed[NEWEST_AT].cast(pa.int64()).to_pylist()))
            for bucket, payload in zip(packed[PACKED_BUCKET], packed[PAYLOAD], strict=True):
                payloads.setdefault(bucket.as_py(), []).append(payload.as_py())
        emitted += by_output(stage, engine.batch(watermark, payloads))[REPORTS]
    whole = [row for row in operator().over(pa.concat_tables(batches)).to_pylist() if row["time"] <= 59]
    assert seen(emitted) == seen(whole) != []


@pytest.mark.spark
@pytest.mark.parametrize("elastic", [None, sash.Elastic(max=2, buckets=4)], ids=["fixed", "elastic"])
def test_differential_single_windows_on_a_stream_survive_a_restart(
    spark: SparkSession, tmp_path: Path, elastic: Any
) -> None:
    batches = [tweets(80, first=20 * number) for number in range(4)]
    emitted: list[dict[str, Any]] = []
    (tmp_path / "in").mkdir()
    for part in (slice(0, 2), slice(2, 4)):
        write_batches(tmp_path / "in", batches[part], first=part.start)
        stream = read_batches(spark, tmp_path / "in", TWEETS.schema)
        sash.operate(newest(), stream).start(
            lambda rows, batch: emitted.extend(rows.toArrow().to_pylist()),
            checkpoint=tmp_path / "checkpoint", elastic=elastic, trigger="available now",
        ).awaitTermination()  # fmt: skip
    whole = [row for row in newest().over(pa.concat_tables(batches)).to_pylist() if row["time"] <= 79]
    assert seen(emitted) == seen(whole) != []


def tops() -> Aggregate:
    """The largest total of all tags, of what `totals` emits."""
    inputs = Input(totals().schema, time="time")
    return Aggregate(advance=20, size=20, inputs=inputs, top=sash.max("total"), n=sash.count())


@pytest.mark.spark
def test_differential_operators_follow_each_other_on_static_and_streaming_frames(
    spark: SparkSession,
) -> None:
    batches = [tweets(80, first=20 * number) for number in range(4)]
    table = pa.concat_tables(batches)
    whole = tops().over(totals().over(table))
    static = sash.operate(tops(), sash.operate(totals(), spark.createDataFrame(table)).dataframe())
    assert seen(static.collect().to_pylist()) == seen(whole.to_pylist())
    ran = Ran(
        sash.operate(tops(), sash.operate(totals(), stream_batches(spark, batches)).dataframe()).dataframe()
    )
    assert seen(ran.rows) == seen([row for row in whole.to_pylist() if row["time"] <= 79]) != []
    windows = sash.stream(sash.operate(totals(), stream_batches(spark, batches)).dataframe(), time="time")
    summed = Ran(windows.window(sash.tumbling(20)).agg(n=sash.count()).dataframe())
    counts = {row["time"]: row["n"] for row in whole.to_pylist()}
    assert {row["window"]["end"]: row["n"] for row in summed.rows}.items() <= counts.items()
    assert summed.rows


@pytest.mark.spark
def test_late_tuples_are_written_once_whatever_the_number_of_their_buckets(
    spark: SparkSession, tmp_path: Path
) -> None:
    # 0 … 19 | 20 … 39 and one of time 3 with all tags: the watermark is 19 then
    old = pa.Table.from_pylist([{"t": 3, "tags": TAGS, "size": 1}, {"t": None, "tags": TAGS, "size": 2}])
    batches = [tweets(80), pa.concat_tables([tweets(80, first=20), old.cast(TWEETS.schema)])]
    late: list[dict[str, Any]] = []
    sash.operate(totals(), stream_batches(spark, batches)).start(
        lambda rows, batch: None, late=lambda rows, batch: late.extend(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, trigger="available now",
    ).awaitTermination()  # fmt: skip
    assert sorted((row["size"], row["late_reason"]) for row in late) == [
        (1, "behind the watermark"), (2, "time is null")
    ]  # fmt: skip


@pytest.mark.spark
def test_differential_a_join_operator_over_frames_gives_the_pairs_in_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    def same() -> Join:
        return Join(within=3, inputs=TWEETS, where=lambda a, b: a.size - b.size == 3)

    batches = [tweets(60, first=15 * number) for number in range(3)]
    table = pa.concat_tables(batches)
    expected = same().over(table).to_pylist()
    assert seen(sash.operate(same(), spark.createDataFrame(table)).collect().to_pylist()) == seen(expected)
    settled = seen([row for row in expected if row["time"] <= 44])
    assert seen(Ran(sash.operate(same(), stream_batches(spark, batches)).dataframe()).rows) == settled
    pairs: list[dict[str, Any]] = []
    sash.operate(same(), stream_batches(spark, batches)).start(
        lambda rows, batch: pairs.extend(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, elastic=sash.Elastic(max=2, buckets=4), trigger="available now",
    ).awaitTermination()  # fmt: skip
    assert seen(pairs) == settled != []


def test_a_delay_of_tables_is_refused_not_ignored() -> None:
    with pytest.raises(ArgumentError, match=r"delay must be left out for tables, which are sorted by time"):
        sash.operate(totals(), tweets(30), delay=5)
    with pytest.raises(ArgumentError, match="one delay, or one for each of 1 inputs"):
        sash.operate(totals(), tweets(30), delay=[5, 5])
    assert sash.operate(totals(), tweets(30), delay=0).collect().equals(totals().over(tweets(30)))


def test_an_operator_is_a_query_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    query = sash.operate(totals(), tweets(30))
    assert isinstance(query, sash.OperatorQuery)
    assert query.collect().equals(totals().over(tweets(30)))
    assert query.head(2).total == query.collect().num_rows
    assert query.dataframe().equals(query.collect())
    frame = tweets(30).to_pandas()
    assert type(sash.operate(totals(), frame).dataframe()) is type(frame)
    text = query.explain()
    assert text == capsys.readouterr().out[:-1]
    assert [line.split()[0] for line in text.splitlines()] == [
        "operator", "windows", "input", "output", "runs", "keeps", "more",
    ]  # fmt: skip
    assert f"output   {', '.join(totals().schema.names)}\n" in text
    assert "keeps    no state; all inputs are in memory while it runs\n" in text
    plan = query.explain("plan")
    assert "stages: in this process\n  1. merge the inputs by time\n  2. run the operator\n" in plan
    assert "more" not in plan
    assert json.loads(query.explain("json"))["semantics"]["output"] == totals().schema.names
    with pytest.raises(ArgumentError, match="one for each of 1 inputs"):
        sash.operate(totals(), tweets(3), tweets(3))
