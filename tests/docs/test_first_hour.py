"""What a newcomer wants in the first hour, with the words of the documentation: at most ten lines each.

A `solve_…` function is the user's code, on Spark and in process alike. The tests compare its answers with
those of pandas, or with ones that can be counted by hand.
"""
# ruff: noqa: N805  (the functions of a monoid have no self)

from __future__ import annotations

import datetime as dt
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import sash
from sash.cli.main import app

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
PAYMENTS = pd.DataFrame(
    {
        "ts": [NOON + dt.timedelta(seconds=s) for s in (0, 50, 60, 200, 310, 350, 360, 3000, 3700, 9000)],
        "card": ["a", "b", "a", "a", "b", "a", "a", "b", "a", "b"],
        "amount": [10.0, 250.0, 30.0, 120.0, 5.0, 101.0, 7.0, 99.0, 300.0, 1.0],
        "merchant": ["x", "y", "y", "z", "x", "x", "w", "y", "z", "y"],
    }
)


@sash.monoid(commutative=True)
class Vwap:
    def identity() -> Any:
        return (0.0, 0.0)

    def lift(price: Any, size: Any) -> Any:
        return (price * size, size)

    def combine(a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] + b[1])

    def lower(s: Any) -> Any: return s[0] / s[1]  # fmt: skip


def solve_fraud_features(payments: Any) -> Any:
    stream = sash.stream(payments, time="ts", key="card")
    look_back = stream.rolling("5 minutes", "1 hour", "24 hours")
    return look_back.agg(n=sash.count(), mean=sash.mean("amount"), top=sash.max("amount"))


def solve_current_row(payments: Any) -> Any:
    stream = sash.stream(payments, time="ts", key="card")
    return stream.latest("5 minutes", "24 hours").agg(n=sash.count(), spent=sash.sum("amount"))


def solve_conditions(payments: Any) -> Any:
    return (
        sash.stream(payments, time="ts", key="card")
        .rolling(sash.lifetime())
        .agg(
            large=sash.count(where="amount > 100"),
            merchants=sash.last("merchant", 3),
            smooth=sash.ewm("amount", alpha=0.3),
        )
    )


def solve_sessions(payments: Any, out: Path, late: Path, checkpoint: Path) -> None:
    stream = sash.stream(payments, time="ts", key="card")
    sessions = stream.window(sash.session("10 minutes")).agg(n=sash.count(), spent=sash.sum("amount"))
    running = sessions.flat().start(out, late=late, checkpoint=checkpoint, trigger="available now")
    running.awaitTermination()


def solve_vwap(trades: Any, out: Path, checkpoint: Path, **more: Any) -> None:
    query = (
        sash.stream(trades, time="ts", key="symbol")
        .window(sash.rows(100, every=10))
        .agg(vwap=Vwap("price", "size"), **more)
    )
    query.start(out, checkpoint=checkpoint, trigger="available now").awaitTermination()


def solve_as_of(trades: Any, quotes: Any) -> Any:
    trade, quote = (sash.stream(data, time="t", key="symbol") for data in (trades, quotes))
    return trade.join_asof(quote, tolerance=15)


def solve_unpaid(orders: Any, payments: Any) -> Any:
    order, payment = (sash.stream(data, time="t", key="id") for data in (orders, payments))
    return order.join(payment, within=10, how="left")


def test_no_solution_has_more_than_ten_lines() -> None:
    solutions = [one for name, one in globals().items() if name.startswith("solve_")]
    assert len(solutions) == 7
    for solution in solutions:
        _, _, body = inspect.getsource(solution).partition(":\n")
        assert len(body.strip().splitlines()) <= 10, solution.__name__


@pytest.mark.spark
def test_fraud_features_are_those_of_pandas_in_batch_and_the_same_on_a_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    computed = solve_fraud_features(PAYMENTS).collect().to_pandas()
    by_time = PAYMENTS.set_index("ts").groupby("card")["amount"]
    for label, span in (("5_minutes", "5min"), ("1_hour", "1h"), ("24_hours", "24h")):
        rolled = by_time.rolling(span).agg(["count", "mean", "max"])
        for mine, theirs in (("n", "count"), ("mean", "mean"), ("top", "max")):
            assert computed[f"{mine}_{label}"].tolist() == pytest.approx(rolled[theirs].tolist())
    live = solve_fraud_features(streamed(spark, tmp_path / "in", PAYMENTS[:5], PAYMENTS[5:]))
    live.start(tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now").awaitTermination()
    emitted = sash.published(tmp_path / "out").drop("batch").toPandas()
    emitted["ts"] = emitted["ts"].dt.tz_localize("UTC")
    both = [frame.sort_values(["card", "ts"]).reset_index(drop=True) for frame in (emitted, computed)]
    # The newest payment waits for the watermark to pass it.
    pd.testing.assert_frame_equal(both[0], both[1][: len(both[0])], check_dtype=False)
    assert len(both[0]) >= len(PAYMENTS) - 1


def test_one_current_row_per_card() -> None:
    rows = {row["card"]: row for row in solve_current_row(PAYMENTS).collect().to_pylist()}
    assert rows.keys() == {"a", "b"}
    assert (rows["a"]["n_5_minutes"], rows["a"]["n_24_hours"], rows["a"]["spent_24_hours"]) == (0, 6, 568.0)
    assert (rows["b"]["n_5_minutes"], rows["b"]["spent_5_minutes"]) == (1, 1.0)


def test_a_conditional_count_the_last_three_merchants_and_an_ewm() -> None:
    computed = solve_conditions(PAYMENTS).collect().to_pandas().set_index("card")
    for card, own in PAYMENTS.groupby("card"):
        mine = computed.loc[[card]]
        assert mine["large_lifetime"].tolist() == (own["amount"] > 100).cumsum().tolist()
        assert mine["smooth_lifetime"].tolist() == pytest.approx(
            own["amount"].ewm(alpha=0.3).mean().tolist()
        )
        assert list(mine["merchants_lifetime"].iloc[-1]) == own["merchant"].tolist()[-3:]


@pytest.mark.spark
def test_sessions_and_their_late_rows_go_to_folders_in_one_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    too_late = PAYMENTS[:1].assign(amount=999.0)
    rows = streamed(spark, tmp_path / "in", PAYMENTS, too_late, too_late)
    solve_sessions(rows, tmp_path / "sessions", tmp_path / "late", tmp_path / "c")
    sessions = sash.published(tmp_path / "sessions").orderBy("card", "window_start").collect()
    assert [(row.card, row.n, row.spent) for row in sessions] == [
        ("a", 5, 268.0), ("a", 1, 300.0), ("b", 2, 255.0), ("b", 1, 99.0),
    ]  # fmt: skip
    late = sash.published(tmp_path / "late").collect()
    assert {(row.amount, row.late_reason) for row in late} == {(999.0, "behind the watermark")}


@pytest.mark.spark
def test_the_last_hundred_trades_every_ten_restarted_changed_and_with_an_aggregate_added(
    spark: SparkSession, tmp_path: Path
) -> None:
    ticks = pd.DataFrame({"ts": pd.date_range(NOON, periods=300, freq="s"), "symbol": "S"})
    ticks["price"], ticks["size"] = 100.0 + ticks.index % 7, 1.0 + ticks.index % 3
    place, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "c"
    solve_vwap(streamed(spark, place, ticks[:150]), out, checkpoint)
    solve_vwap(streamed(spark, place, ticks[150:200], first=1), out, checkpoint)
    more = streamed(spark, place, ticks[200:], first=2)
    solve_vwap(more, out, checkpoint, high=sash.max("price"))
    rows = sash.published(out).select("window.id", "vwap", "high").orderBy("id").collect()
    assert len(rows) >= 20
    for row in rows:
        held = ticks[10 * row.id : 10 * row.id + 100]
        assert row.vwap == pytest.approx((held["price"] * held["size"]).sum() / held["size"].sum())
    assert rows[-1].high == 106.0
    changed = sash.stream(more, time="ts").window(sash.rows(100, every=10)).agg(vwap=Vwap("price", "size"))
    with pytest.raises(sash.errors.DifferentQuery, match="made by a different query"):
        changed.start(out, checkpoint=checkpoint, trigger="available now")


def test_as_of_and_left_outer_joins() -> None:
    trades = pd.DataFrame({"t": [10, 20, 31], "symbol": ["A", "A", "B"], "size": [1, 2, 3]})
    quotes = pd.DataFrame({"t": [4, 12, 33], "symbol": ["A", "A", "B"], "bid": [1.0, 1.1, 7.0]})
    expected = pd.merge_asof(trades, quotes, on="t", by="symbol", tolerance=15)
    assert solve_as_of(trades, quotes).collect()["bid"].to_pylist()[:2] == expected["bid"].tolist()[:2]
    orders = pa.table({"t": [1, 5, 30], "id": [7, 8, 9]})
    paid = pa.table({"t": [4], "id": [7], "paid": [10]})
    found = solve_unpaid(orders, paid).collect().to_pylist()
    assert {row["id"]: row["paid"] for row in found} == {7: 10, 8: None, 9: None}


PIPELINE = """\
[source]
format = "csv"
path = "in"
schema = "ts timestamp, card string, amount double"
options = { header = true }

[stream]
time = "ts"
key = "card"

[query]
windows = "tumbling 1 hour"

[aggregates]
n = "count()"
spent = "sum(amount)"

[sink]
format = "parquet"
path = "out"

[run]
trigger = "available now"
checkpoint = "checkpoint"
"""
MISTAKES = {
    'windows = "tumbling 1 hour"': 'windows = "tumbeling 1 hour"',
    'spent = "sum(amount)"': 'spent = "sum(amout)"',
    'format = "csv"': 'format = "cvs"',
    'key = "card"': 'kye = "card"',
    'path = "out"': 'path = "out',
}
HINTS = {
    "tumbeling": "'tumbling", "amout": "'amount'", "cvs": "csv", "kye": "key", '"out': "quote",
}  # fmt: skip


@pytest.mark.spark
def test_a_pipeline_file_with_five_mistakes_is_repaired_line_by_line_and_then_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    PAYMENTS.drop(columns="merchant").to_csv(tmp_path / "in" / "0.csv", index=False)
    file = tmp_path / "pipeline.toml"
    for right, wrong in MISTAKES.items():
        broken = PIPELINE.replace(right, wrong)
        file.write_text(broken)
        failed = command("check", file)
        line = 1 + broken[: broken.index(wrong)].count("\n")
        assert failed.exit_code == 2
        assert f"line {line}" in failed.output, failed.output
        assert next(hint for slip, hint in HINTS.items() if slip in wrong) in failed.output, failed.output
    file.write_text(PIPELINE)
    ran = command("run", file)
    assert ran.exit_code == 0, ran.output
    written = [pq.read_table(one) for one in (tmp_path / "out").rglob("*.parquet")]
    assert sum(table.num_rows for table in written) >= 3


def streamed(spark: SparkSession, place: Path, *batches: pd.DataFrame, first: int = 0) -> DataFrame:
    """A stream of files, a micro-batch each; Spark takes them in the order of their last change."""
    place.mkdir(exist_ok=True)
    for number, batch in enumerate(batches, start=first):
        file = place / f"{number}.parquet"
        batch.astype({"ts": "datetime64[us, UTC]"}).to_parquet(file, index=False)
        os.utime(file, (number + 1, number + 1))
    schema = spark.read.parquet(str(place)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place))


def command(word: str, file: Path) -> Result:
    return CliRunner().invoke(app, [word, str(file)])
