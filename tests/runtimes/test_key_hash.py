"""Keys are hashed in Python as Spark hashes them: otherwise two ways into one checkpoint would disagree."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.errors import Unsupported
from sash.runtimes.spark.packing.bucket_of_key_arrow import buckets, hashes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 300


def values() -> dict[str, tuple[pa.DataType, Any]]:
    """For every type that a key can have: how to draw a value of it."""
    draw = random.Random(7)
    exact = decimal.Context(prec=60)
    return {
        "string": (pa.string(), lambda: "".join(draw.choices("aé€😀 ", k=draw.randrange(12)))),
        "binary": (pa.binary(), lambda: draw.randbytes(draw.randrange(10))),
        "boolean": (pa.bool_(), lambda: draw.random() < 0.5),
        "tinyint": (pa.int8(), lambda: draw.randrange(-(2**7), 2**7)),
        "smallint": (pa.int16(), lambda: draw.randrange(-(2**15), 2**15)),
        "int": (pa.int32(), lambda: draw.randrange(-(2**31), 2**31)),
        "bigint": (pa.int64(), lambda: draw.randrange(-(2**63), 2**63)),
        "float": (pa.float32(), lambda: draw.choice([0.0, -2.25, float("nan"), float("-inf")])),
        "double": (pa.float64(), lambda: draw.choice([0.0, 1.5, float("nan"), draw.random()])),
        "date": (pa.date32(), lambda: dt.date(1950, 1, 1) + dt.timedelta(draw.randrange(90_000))),
        "timestamp": (pa.timestamp("us", "UTC"), lambda: draw.randrange(-(10**15), 10**16)),
        "timestamp_ntz": (pa.timestamp("us"), lambda: draw.randrange(-(10**15), 10**16)),
        "decimal": (pa.decimal128(18, 2), lambda: decimal.Decimal(draw.randrange(-(10**9), 10**9)) / 4),
        "large decimal": (
            pa.decimal128(38, 3),
            lambda: decimal.Decimal(
                draw.choice([draw.randrange(-300, 300), draw.randrange(-(10**37), 10**37)])
            ).scaleb(-3, exact),
        ),
    }


@pytest.mark.spark
def test_differential_every_type_of_key_hashes_as_in_spark(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    nulls = random.Random(8)
    columns = {
        name: pa.array([None if nulls.random() < 0.1 else draw() for _ in range(ROWS)], type_)
        for name, (type_, draw) in values().items()
    }
    names = [f"`{name}`" for name in columns]
    df = spark.createDataFrame(pa.table(columns))
    theirs = df.select(F.hash(*names).alias("all"), *(F.hash(name).alias(name[1:-1]) for name in names))
    expected = theirs.toArrow()
    rows = pa.record_batch(columns)
    for name in columns:
        np.testing.assert_array_equal(hashes(rows, [name]), expected[name].to_numpy(), err_msg=name)
        part = rows.slice(37, 100)
        np.testing.assert_array_equal(hashes(part, [name]), expected[name].to_numpy()[37:137], err_msg=name)
    np.testing.assert_array_equal(hashes(rows, list(columns)), expected["all"].to_numpy())


@settings(deadline=None)  # the first one compiles
@given(keys=st.lists(st.none() | st.text(max_size=9)), count=st.integers(1, 100), cut=st.integers(0, 20))
def test_the_bucket_of_a_key_does_not_depend_on_the_batch_that_it_comes_in(
    keys: list[str | None], count: int, cut: int
) -> None:
    rows = pa.record_batch({"k": pa.array(keys, pa.string())})
    whole = buckets(rows, ["k"], count)
    parts = [buckets(part, ["k"], count) for part in (rows.slice(0, cut), rows.slice(cut))]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert len(set(zip(keys, whole.tolist(), strict=True))) == len(set(keys))
    assert all(0 <= bucket < count for bucket in whole)


def test_zeros_of_either_sign_are_one_key_and_so_is_every_nan() -> None:
    quiet, odd = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    rows = pa.record_batch({"k": pa.array([0.0, -0.0, quiet, odd])})
    zero, negative, nan, other = hashes(rows, ["k"]).tolist()
    assert (zero, nan) == (negative, other)


def test_without_a_key_there_is_one_bucket() -> None:
    assert buckets(pa.record_batch({"x": [1, 2]}), [], 8).tolist() == [0, 0]


def test_a_type_that_cannot_be_a_key_is_named() -> None:
    rows = pa.record_batch({"k": pa.array([[1]], pa.list_(pa.int64()))})
    with pytest.raises(Unsupported, match="k: list<item: int64>"):
        hashes(rows, ["k"])
