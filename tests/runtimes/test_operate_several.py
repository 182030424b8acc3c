"""O+ over several streaming DataFrames: the rows of the same operator in process, up to the watermark."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError, DifferentQuery, Unsupported
from sash.operators import Input, Join, Stateful
from sash.operators.stateful.streaming import BoundOperator
from sash.runtimes.spark.streaming.watermark_units import TICKS_SHIFT
from sash.semantics.durations import Duration, Unit
from tests.operators.several_inputs import INPUTS, Arrived, OnTime, batches, diary, seen, table
from tests.runtimes.elastic_batches import DryOperator, Try
from tests.runtimes.micro_batches import read_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ticks(length: int) -> Duration:
    return Duration(length, Unit.TICKS)


def tables(batch: Arrived) -> list[pa.Table]:
    return [table(number, tuples) for number, tuples in enumerate(batch)]


def tuples(number: int, *times: int) -> list[dict[str, Any]]:
    own = INPUTS[number]
    key = {"tags": ["red"]} if "tags" in own.schema.names else {"tag": "red"}
    return [{own.time: time, **key, "number": time} for time in times]


# Without Spark's engine


@settings(max_examples=60, deadline=None)
@given(
    batches=st.integers(2, 3).flatmap(lambda inputs: batches(inputs=inputs)),
    delay=st.lists(st.sampled_from([0, 4, 9]), min_size=3, max_size=3),
    degrees=st.lists(st.integers(1, 6), min_size=6, max_size=6),
    tries=st.lists(
        st.lists(st.builds(Try, st.integers(1, 6), st.integers(0, 6)), max_size=1), min_size=6, max_size=6
    ),
    forgetful=st.booleans(),
)
def test_differential_any_batches_degrees_and_failed_tries_give_the_rows_of_the_operator_in_process(
    batches: list[Arrived], delay: list[int], degrees: list[int], tries: list[list[Try]], forgetful: bool
) -> None:
    operator, delay = diary(INPUTS[: len(batches[0])]), delay[: len(batches[0])]
    with tempfile.TemporaryDirectory() as folder:
        dry = DryOperator(
            BoundOperator(operator, tuple(map(ticks, delay))), Path(folder), degrees=degrees.__getitem__,
            forgetful=forgetful,
        )  # fmt: skip
        rows = dry.run([tables(batch) for batch in batches], tries=tries)
    on_time = OnTime.of(batches, delay=delay)
    assert seen(rows) == on_time.expected(operator)
    # A tuple goes to several buckets, and is late once.
    assert len(dry.late) == on_time.late


def test_an_input_that_has_brought_nothing_yet_holds_back_the_others(tmp_path: Path) -> None:
    # orders   3        12       30                      the watermark is the lesser of the newest
    # visits                              7      21      of both, once both are known
    # told                                5   10, 15, 20
    dry = DryOperator(
        BoundOperator.of(diary(INPUTS[:2]), ticks(0)), tmp_path, degrees=lambda epoch: 1 + epoch
    )
    orders = [[tuples(0, time), []] for time in (3, 12, 30)]
    visits = [[[], tuples(1, time)] for time in (7, 21)]
    expected = [
        [row["time"] for row in dry.execute(tables(batch), epoch, tasks=1 + epoch % 3)]
        for epoch, batch in enumerate([*orders, *visits])
    ]
    assert expected == [[], [], [], [5], [10, 15, 20]]


@pytest.mark.parametrize("inputs", [1, 2])
def test_the_journal_tells_the_newest_of_each_input_and_of_a_single_one_as_ever(
    tmp_path: Path, inputs: int
) -> None:
    dry = DryOperator(BoundOperator.of(diary(INPUTS[:inputs]), ticks(0)), tmp_path)
    dry.run([tables([tuples(number, 4 + number) for number in range(inputs)])])
    assert ("time" in dry.stage.description) == (inputs > 1)
    keys = [b"newest", b"newest 1"][:inputs]
    with dry.home.journal() as store:
        assert sorted(store.keys()) == sorted([b"buckets", b"checkpoint", b"layout", b"query", *keys])
        newest = [json.loads(value) for value in store.get_many(keys)]
    assert newest == [(TICKS_SHIFT + 4 + number) * 1000 for number in range(inputs)]


def test_a_checkpoint_belongs_to_the_inputs_that_made_it(tmp_path: Path) -> None:
    schema = pa.schema([("t", pa.int64()), ("at", pa.int64()), ("tag", pa.string())])
    for epoch, time in enumerate(("t", "at")):
        two = [Input(schema, time=time), INPUTS[1]]
        operator = Stateful(advance=5, size=10, inputs=two, keys="tag")
        dry = DryOperator(BoundOperator.of(operator, ticks(0)), tmp_path)
        nothing = [own.schema.empty_table() for own in two]
        if not epoch:
            dry.execute(nothing, epoch, tasks=1)
            continue
        with pytest.raises(DifferentQuery, match=r"time\[0\] was 't' and is 'at'"):
            dry.execute(nothing, epoch, tasks=1)


# On Spark

UTC = pa.timestamp("us", "UTC")
QUOTES = Input(pa.schema([("ts", UTC), ("symbol", pa.string()), ("bid", pa.float64())]), time="ts")
NEWS = Input(pa.schema([("symbols", pa.list_(pa.string())), ("at", UTC), ("id", pa.int64())]), time="at")
SYMBOLS = ["ash", "beech", "elm", "fir", "oak", "yew"]


def at(seconds: int) -> dt.datetime:
    return dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)


def quotes(first: int) -> pa.Table:
    rows = [
        {"ts": at(first + n // 3), "symbol": SYMBOLS[n * n % 6], "bid": float(first + n)} for n in range(90)
    ]
    return pa.Table.from_pylist(rows, schema=QUOTES.schema)


def news(first: int) -> pa.Table:
    rows = [
        {"symbols": SYMBOLS[n % 5 : n % 5 + 2], "at": at(first + 2 * n), "id": first + n} for n in range(15)
    ]
    return pa.Table.from_pylist(rows, schema=NEWS.schema)


def stories() -> Stateful:
    """What was quoted and reported of a symbol, in the order of time, quotes first."""

    def write(windows: Any, tuple_: Any) -> None:
        windows[0].append(f"{tuple_.row.id}" if tuple_.input else f"{tuple_.row.bid:.2f}")

    return Stateful(
        advance="10 seconds", size="20 seconds", inputs=[QUOTES, NEWS], keys=["symbol", "symbols"],
        update=write, output=lambda windows: {"symbol": windows.key, "story": " ".join(windows[0])},
        schema=pa.schema([("symbol", pa.string()), ("story", pa.string())]),
    )  # fmt: skip


@pytest.mark.spark
def test_differential_two_streams_with_changing_degrees_and_a_restart_give_the_rows_in_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    # quotes   0–29   30–59 │ 60–89             the first run ends before there is any news
    # news                  │ 0–28   30–58      at last 58 − 5 seconds is the watermark
    inputs = {"quotes": list(map(quotes, (0, 30, 60))), "news": list(map(news, (0, 30)))}
    emitted: list[dict[str, Any]] = []
    served: list[int] = []
    for quoted, published in ((slice(0, 2), slice(0, 0)), (slice(2, 3), slice(0, 2))):
        streams = []
        for name, own, chosen in (("quotes", QUOTES, quoted), ("news", NEWS, published)):
            (tmp_path / name).mkdir(exist_ok=True)
            write_batches(tmp_path / name, inputs[name][chosen], first=chosen.start)
            streams.append(read_batches(spark, tmp_path / name, own.schema))
        elastic = sash.Elastic(max=3, controller=lambda samples: 3 - len(samples), buckets=6)
        handle = sash.operate(stories(), *streams, delay="5 seconds").start(
            lambda rows, batch: emitted.extend(rows.toArrow().to_pylist()),
            checkpoint=tmp_path / "checkpoint", elastic=elastic, trigger="available now",
        )  # fmt: skip
        handle.awaitTermination()
        assert bool(emitted) == bool(served)
        served += handle.degrees.values()
        assert sum(batch.late for batch in handle.metrics) == 0
    assert served == [3, 2, 3, 2]
    whole = stories().over(*map(pa.concat_tables, inputs.values())).to_pylist()
    assert seen(emitted) == seen(row for row in whole if row["time"] <= at(58 - 5)) != []


OFFERS = Input(pa.schema([("t", pa.int64()), ("price", pa.int64())]), time="t")
BIDS = Input(pa.schema([("amount", pa.int64()), ("at", pa.int64()), ("who", pa.string())]), time="at")


def offers_and_bids() -> Join:
    return Join(within=4, inputs=[OFFERS, BIDS], where=lambda offer, bid: offer.price <= bid.amount)


@pytest.mark.spark
@pytest.mark.parametrize("elastic", [None, sash.Elastic(max=2, buckets=4)], ids=["plain", "elastic"])
def test_differential_a_join_of_two_schemas_with_a_delay_for_each_gives_the_pairs_in_process(
    spark: SparkSession, tmp_path: Path, elastic: sash.Elastic | None
) -> None:
    # Offers come up to 2 behind the newest, bids up to 6; the bids are behind, and decide: 44 − 6.
    times = {"offers": [[3, 1, 8, 12], [10, 20, 31], [29, 48]], "bids": [[6, 0, 9], [14, 8, 33], [27, 44]]}
    inputs = {
        "offers": [
            pa.table({"t": each, "price": [time * 7 % 10 for time in each]}, schema=OFFERS.schema)
            for each in times["offers"]
        ],
        "bids": [
            pa.table(
                {"amount": [time * 3 % 10 for time in each], "at": each, "who": ["ash"] * len(each)},
                schema=BIDS.schema,
            )
            for each in times["bids"]
        ],
    }
    streams = []
    for name, own in (("offers", OFFERS), ("bids", BIDS)):
        (tmp_path / name).mkdir()
        write_batches(tmp_path / name, inputs[name], first=0)
        streams.append(read_batches(spark, tmp_path / name, own.schema))
    emitted: list[dict[str, Any]] = []
    handle = sash.operate(offers_and_bids(), *streams, delay=[2, 6]).start(
        lambda rows, batch: emitted.extend(rows.toArrow().to_pylist()), checkpoint=tmp_path / "checkpoint",
        elastic=elastic, trigger="available now",
    )  # fmt: skip
    handle.awaitTermination()
    if elastic is not None:  # others count nothing
        assert sum(batch.late for batch in handle.metrics) == 0
    whole = [
        pa.concat_tables(inputs[name]).sort_by(own.time)
        for name, own in (("offers", OFFERS), ("bids", BIDS))
    ]
    expected = offers_and_bids().over(*whole).to_pylist()
    assert seen(emitted) == seen(row for row in expected if row["time"] <= 44 - 6) != []


@pytest.mark.spark
def test_what_cannot_be_operated_together_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    static = spark.createDataFrame(quotes(0))
    stream = read_batches(spark, tmp_path, NEWS.schema)
    with pytest.raises(ArgumentError, match="all streaming DataFrames, or all static ones"):
        sash.operate(stories(), static, stream)
    with pytest.raises(ArgumentError, match="all DataFrames, or all tables"):
        sash.operate(stories(), quotes(0), stream)
    with pytest.raises(ArgumentError, match="one frame for each of 2 inputs"):
        sash.operate(stories(), stream)
    with pytest.raises(ArgumentError, match=r"data\[0\] must be a DataFrame with the column ts"):
        sash.operate(stories(), stream, stream)
    window = {"advance": "1 second", "size": "5 seconds", "inputs": [NEWS, NEWS]}
    operated = sash.operate(Stateful(**window), stream, stream.withWatermark("at", "1 minute"))
    with pytest.raises(Unsupported, match="a stream with a watermark on at"):
        operated.start("sink", checkpoint=tmp_path / "checkpoint", elastic=sash.Elastic(max=1))
