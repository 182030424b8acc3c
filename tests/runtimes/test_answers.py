"""An answer comes out of the stateful step as it went in, whichever way it takes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyspark.sql.types import StructField, StructType

import sash
from sash.runtimes.spark.compat import arrow_of
from sash.runtimes.spark.packing.answers import PackedAnswers, PlainAnswers, answers_with
from sash.runtimes.spark.packing.blocks import COUNTS
from sash.runtimes.spark.packing.outputs import REPORTS
from tests.runtimes.micro_batches import Ran, stream_batches

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

UTC = dt.UTC
INSTANTS = st.datetimes(dt.datetime(1850, 1, 1), dt.datetime(2200, 1, 1))
PLAIN: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.sampled_from([0, -1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.date32(): st.dates(dt.date(1850, 1, 1), dt.date(2200, 1, 1)),
    pa.timestamp("us", "UTC"): INSTANTS.map(lambda at: at.replace(tzinfo=UTC)),
    pa.timestamp("us"): INSTANTS,
    pa.decimal128(20, 3): st.decimals(-(10**15), 10**15, places=3),
}
INNER = pa.struct([("a", pa.int32())])
WINDOW = pa.struct([("id", pa.int64()), ("end", pa.timestamp("us", "UTC")), ("of", INNER)])


def values(type_: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(type_):
        return st.none() | st.fixed_dictionaries({field.name: values(field.type) for field in type_})
    return st.none() | PLAIN[type_]


@st.composite
def answers(draw: st.DrawFn) -> pa.Table:
    types = draw(st.lists(st.sampled_from([*PLAIN, WINDOW]), min_size=1, max_size=5))
    size = draw(st.integers(0, 6))
    columns = [
        pa.array(draw(st.lists(values(type_), min_size=size, max_size=size)), type_) for type_ in types
    ]
    return pa.table(columns, names=[f"column.{number}" for number in range(len(types))])


def emitted(answers: PlainAnswers, table: pa.Table, counts: dict[str, int], *, timezone: str) -> pa.Table:
    """What Spark's worker makes of the frames."""
    frames = answers.outgoing({REPORTS: table} if table.num_rows else {}, counts)
    batches = [_converted(frame, answers.struct, timezone) for frame in frames]
    return pa.concat_tables([pa.Table.from_struct_array(batch.column(0)) for batch in batches])


def _converted(frame: pd.DataFrame, struct: StructType, timezone: str) -> pa.RecordBatch:
    try:
        from pyspark.sql.conversion import PandasToArrowConversion
    except ImportError:  # PySpark 4.1 and 4.2 have it inside of what writes to the JVM
        from pyspark.sql.pandas.serializers import ArrowStreamPandasUDFSerializer

        type_ = pa.struct(list(arrow_of(struct, zone="UTC")))
        return ArrowStreamPandasUDFSerializer(timezone, True, True, arrow_cast=True)._create_batch(
            [(frame, type_)]
        )
    whole = StructType([StructField("_0", struct)])
    return PandasToArrowConversion.convert(
        [frame], whole, timezone=timezone, safecheck=True, arrow_cast=True, assign_cols_by_name=True
    )


def same(one: pa.Table, other: pa.Table) -> bool:
    """To the bit: NaN is NaN, and −0.0 is not 0.0."""
    return repr(one.to_pylist()) == repr(other.to_pylist())


@given(table=answers(), timezone=st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"]))
def test_what_spark_gets_has_every_value_and_the_counts_once(table: pa.Table, timezone: str) -> None:
    counts = {name: number for number, name in enumerate(COUNTS)}
    form = answers_with({REPORTS: table.schema})
    assert isinstance(form, PlainAnswers)
    got = emitted(form, table, counts, timezone=timezone)
    leaves = got.drop_columns(["counts", "output"]).filter(got["counts"].is_null())
    expected = [leaf for column in table.columns for leaf in flat(column.combine_chunks())]
    whole = pa.table(expected, names=leaves.column_names)
    # Spark labels instants with the session's time zone; they stay what they are.
    assert same(leaves.cast(whole.schema), whole)
    assert got["counts"].drop_null().to_pylist() == ["0,1,2,3,4,5,6"]


def flat(column: pa.Array) -> list[pa.Array]:
    if not pa.types.is_struct(column.type):
        return [column]
    return [column.is_valid(), *(leaf for field in column.flatten() for leaf in flat(field))]


@pytest.mark.spark
@settings(max_examples=12)
@given(table=answers())
def test_differential_spark_makes_the_answer_of_it_again(spark: SparkSession, table: pa.Table) -> None:
    form = PlainAnswers({REPORTS: table.schema})
    df = spark.createDataFrame(emitted(form, table, dict.fromkeys(COUNTS, 7), timezone="UTC"), form.struct)
    assert same(form.opened(df).toArrow(), table)
    totals = df.select(*(form.total(count).alias(count) for count in COUNTS)).collect()
    assert totals[0].asDict() == dict.fromkeys(COUNTS, 7)


@pytest.mark.parametrize(
    "type_",
    [pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64()), pa.struct([("a", pa.list_(pa.int8()))])],
    ids=str,
)
def test_lists_and_maps_go_in_blocks(type_: pa.DataType) -> None:
    assert isinstance(answers_with({REPORTS: pa.schema([("x", type_)])}), PackedAnswers)


def test_a_long_answer_is_cut_and_counted_once() -> None:
    table = pa.table({"x": pa.array(range(2**17 + 1)), "k": ["a"] * (2**17 + 1)})
    frames = list(
        PlainAnswers({REPORTS: table.schema}).outgoing({REPORTS: table}, dict.fromkeys(COUNTS, 1))
    )
    assert [len(frame) for frame in frames] == [2**17 + 1, 1]
    assert [frame["counts"].notna().sum() for frame in frames] == [1, 0]


@pytest.mark.spark
def test_differential_both_ways_lead_to_the_same_reports(spark: SparkSession) -> None:
    seconds = [1_767_609_000_000_000 + 1_000_000 * second for second in range(90)]
    times = pa.array(seconds, pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "x": [*range(88), None, None]})

    def windows(data: Any, **more: Any) -> Any:
        stream = sash.stream(data, time="ts").window(sash.tumbling("10 seconds"), flush=False)
        return stream.agg(n=sash.count("x"), high=sash.max("x"), first=sash.argmin("x", "ts"), **more)

    plain = windows(stream_batches(spark, [table.slice(0, 50), table.slice(50)]))
    listed = windows(stream_batches(spark, [table.slice(0, 50), table.slice(50)]), all=sash.collect("x"))
    expected = windows(table).collect()
    assert Ran(plain.dataframe()).table.cast(expected.schema).to_pylist() == expected.to_pylist()
    assert Ran(listed.dataframe()).table.drop_columns("all").cast(expected.schema).to_pylist() == (
        expected.to_pylist()
    )
