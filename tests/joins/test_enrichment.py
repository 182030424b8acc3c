"""A stream with the columns of a static table."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pandas
import polars
import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, UnknownColumn, Unsupported
from tests.runtimes.micro_batches import Ran, stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = pa.table({"t": [3, 1, 2, 4], "shop": ["b", "a", None, "c"], "n": [1, 2, 3, 4]})
SHOPS = pa.table({"shop": ["a", "b", "a", None], "city": ["Bern", "Rome", "Basel", "?"], "n": [7, 8, 9, 0]})


def stream(data: Any = EVENTS) -> sash.Stream:
    return sash.stream(data, time="t", key="shop")


def test_every_event_gets_the_columns_of_the_table_and_keeps_its_place() -> None:
    # Null is a key; the shop a is there twice; c is not there.
    left = stream().join(SHOPS, on="shop", how="left").source.rows(["t", "shop", "n", "city", "n_right"])
    assert [tuple(row.values()) for row in left.to_pylist()] == [
        (3, "b", 1, "Rome", 8), (1, "a", 2, "Bern", 7), (1, "a", 2, "Basel", 9),
        (2, None, 3, "?", 0), (4, "c", 4, None, None),
    ]  # fmt: skip
    inner = stream().join(SHOPS, on="shop").source.rows(["n"])
    assert inner["n"].to_pylist() == [1, 2, 2, 3]


def test_an_enriched_stream_is_a_stream() -> None:
    query = stream().join(SHOPS, on=["shop"], how="left").window(sash.tumbling(10)).agg(
        cities=sash.collect("city")
    )  # fmt: skip
    found = {row["shop"]: sorted(map(str, row["cities"])) for row in query.collect().to_pylist()}
    assert found["a"] == ["Basel", "Bern"]
    assert found["b"] == ["Rome"]


def test_differential_the_rows_are_those_of_polars_and_the_form_stays() -> None:
    rng = random.Random(7)
    events = polars.DataFrame({"t": range(300), "k": [rng.randrange(20) for _ in range(300)]})
    table = polars.DataFrame({"id": [rng.randrange(25) for _ in range(30)], "v": range(30)})
    for how in ("inner", "left"):
        for given in (table, table.to_pandas(), table.to_arrow()):
            enriched = sash.stream(events, time="t").join(given, on={"k": "id"}, how=how)  # type: ignore[call-overload]
            ours = enriched.source.frame(enriched.source.table)
            theirs = events.join(table, left_on="k", right_on="id", how=how, maintain_order="left_right")
            assert ours.equals(theirs)


def test_words_of_pandas_and_polars_are_the_same() -> None:
    table = pandas.DataFrame({"shop": ["a", "b"], "city": ["Bern", "Rome"]})
    enriched = stream(polars.from_arrow(EVENTS)).join(table, on="shop", how="left")
    assert enriched.source.rows(["city"])["city"].to_pylist() == ["Rome", "Bern", None, None]


@pytest.mark.parametrize(
    ("other", "arguments", "error", "words"),
    [
        (SHOPS, {"on": "town"}, UnknownColumn, "on of the stream"),
        (SHOPS, {"on": {"shop": "town"}}, UnknownColumn, "on of the table"),
        (SHOPS, {"on": {"n": "city"}}, ArgumentError, "columns of one type for n = city"),
        (SHOPS, {"on": "shop", "how": "full"}, ArgumentError, "'inner' or 'left' for a join with a table"),
        (SHOPS, {"on": []}, ArgumentError, "at least one column"),
        (SHOPS, {"on": "shop", "suffixes": ("", "")}, ArgumentError, "'n' names one column only"),
        (SHOPS, {"on": "shop", "within": 5}, ArgumentError, "without within and where"),
        (SHOPS, {"on": "shop", "suffixes": ("_2",)}, ArgumentError, "two texts"),
        (SHOPS, {"within": 5}, ArgumentError, "A static table is joined with on="),
        (SHOPS, {}, ArgumentError, "on=… with a static table"),
        (7, {"on": "shop"}, ArgumentError, "a PySpark DataFrame"),
        (stream(), {"on": "shop"}, ArgumentError, "given with a static table"),
    ],
)
def test_what_cannot_be_meant_is_refused(other: Any, arguments: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        stream().join(other, **arguments)


@pytest.mark.spark
@pytest.mark.parametrize("local", [True, False])
def test_differential_frames_of_spark_get_the_columns_of_the_process(
    spark: SparkSession, local: bool
) -> None:
    table = SHOPS if local else spark.createDataFrame(SHOPS)

    def counted(data: Any, shops: Any) -> Any:
        enriched = sash.stream(data, time="t", key="shop").join(shops, on="shop", how="left")
        return enriched.window(sash.rows(1)).agg(city=sash.last("city"), n=sash.sum("n_right"))

    def rows(found: pa.Table) -> list[str]:
        return sorted(str((row["shop"], row["city"], row["n"])) for row in found.to_pylist())

    expected = rows(counted(EVENTS, SHOPS).collect())
    assert len(expected) == 5
    assert rows(counted(spark.createDataFrame(EVENTS), table).collect()) == expected
    newer = pa.table({"t": [99], "shop": ["z"], "n": [0]})
    streamed = counted(stream_batches(spark, [EVENTS, newer]), table)
    assert rows(Ran(streamed.dataframe()).table) == sorted([*expected, "('z', None, None)"])


@pytest.mark.spark
def test_a_stream_as_the_table_and_a_frame_of_spark_in_process_are_refused(spark: SparkSession) -> None:
    with pytest.raises(Unsupported, match="Two streams are joined by time"):
        stream(spark.createDataFrame(EVENTS)).join(stream_batches(spark, [SHOPS]), on="shop")
    with pytest.raises(Unsupported, match="an Arrow table, or a pandas or polars frame"):
        stream().join(spark.createDataFrame(SHOPS), on="shop")
