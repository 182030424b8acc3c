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
from sash.runtimes.spark.packing.blocks import PACKED_BUCKET, PAYLOAD, rows_of
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.stateful.key_sets import OfBucket, buckets_of
from sash.runtimes.spark.stateful.operator_stages import block_schema, packer_of_input
from sash.runtimes.spark.streaming.clock import Clock
from tests.runtimes.micro_batches import stream_batches

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
    packer = packer_of_input(operator, 0, buckets=buckets, clock=Clock.of(ticks=True))
    placed = table.rename_columns(places(TWEETS.schema.names)).to_batches()
    return [
        (bucket, rows_of(bucket, [payload], block_schema(TWEETS.schema)))
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
    said: list[dict[str, Any]] = []
    degrees = (2, 1, 3, 1)
    elastic = sash.Elastic(max=3, controller=lambda samples: degrees[len(samples)], buckets=6)
    handle = sash.operate(totals(), stream_batches(spark, batches)).start(
        lambda rows, batch: said.extend(rows.toArrow().to_pylist()),
        checkpoint=tmp_path, elastic=elastic, trigger="available now",
    )  # fmt: skip
    handle.awaitTermination()
    assert tuple(handle.degrees.values()) == degrees
    # The last tweets are of time 79, which is the watermark: all windows that end until then are told.
    whole = [row for row in totals().over(pa.concat_tables(batches)).to_pylist() if row["time"] <= 79]
    assert seen(said) == seen(whole) != []
    assert sum(batch.late for batch in handle.metrics) == 0


@pytest.mark.spark
def test_what_cannot_be_operated_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame(tweets(4))
    with pytest.raises(ArgumentError, match="operator must be"):
        sash.operate("totals", df)
    with pytest.raises(Unsupported, match=r"\.join\("):
        sash.operate(Join(within=5, inputs=TWEETS, where=lambda a, b: a.size == b.size), df)
    with pytest.raises(ArgumentError, match="one frame for each of 1 inputs"):
        sash.operate(totals(), df, df)
    with pytest.raises(ArgumentError, match=r"data\[0\] must be a DataFrame with the column size: int64"):
        sash.operate(totals(), df.drop("size"))
    with pytest.raises(Unsupported, match="a streaming DataFrame for start"):
        sash.operate(totals(), df).start("sink", checkpoint="there")
    stream = sash.operate(totals(), stream_batches(spark, [tweets(4)]))
    for refused in (stream.collect, stream.head, stream.dataframe):
        with pytest.raises(Unsupported, match=r"start\(sink, checkpoint=…, elastic=sash\.Elastic"):
            refused()
    with pytest.raises(ArgumentError, match="elastic must be"):
        stream.start("sink", checkpoint="there")


def test_an_operator_is_a_query_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    query = sash.operate(totals(), tweets(30))
    assert isinstance(query, sash.OperatorQuery)
    assert query.collect().equals(totals().over(tweets(30)))
    assert query.head(2).total == query.collect().num_rows
    assert query.dataframe().equals(query.collect())
    frame = tweets(30).to_pandas()
    assert type(sash.operate(totals(), frame).dataframe()) is type(frame)
    assert "run the operator" in query.explain() == capsys.readouterr().out[:-1]
    assert json.loads(query.explain("json"))["semantics"]["output"] == totals().schema.names
    with pytest.raises(ArgumentError, match="one for each of 1 inputs"):
        sash.operate(totals(), tweets(3), tweets(3))
