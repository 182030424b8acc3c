"""What the examples compute is what their first lines say: each against a definition of its own."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from examples import (
    chained_windows,
    clickstream_sessions,
    flights,
    fraud_features,
    hedging,
    scalejoin,
    secret_comparison,
    telemetry,
    wordcount,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = dt.timedelta(minutes=1)


def by_key(rows: list[dict[str, Any]], key: str) -> dict[Any, list[dict[str, Any]]]:
    """The rows of each key in order of time."""
    found: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["time"]):
        found[row[key]].append(row)
    return found


def test_oracle_a_payment_is_told_what_its_card_paid_within_each_look_back() -> None:
    payments = fraud_features.payment_table(400, 5)
    own = by_key(payments.to_pylist(), "card")
    for row in fraud_features.features(payments).collect().to_pylist():
        for name, length in (("5_minutes", 5), ("1_hour", 60), ("24_hours", 24 * 60)):
            begin = row["time"] - length * MINUTE
            cents = [each["cents"] for each in own[row["card"]] if begin < each["time"] <= row["time"]]
            features = [row[f"{feature}_{name}"] for feature in ("n", "spent", "largest")]
            assert features == [len(cents), sum(cents), max(cents)]


@pytest.mark.spark
def test_differential_features_served_from_a_stream_are_those_for_training(spark: SparkSession) -> None:
    payments = fraud_features.payment_table(600, 20)
    training = fraud_features.features(payments).collect()
    serving = fraud_features.served(spark, payments, batches=3)
    newest = max(payments["time"].to_pylist())
    passed = [time for time in payments["time"].to_pylist() if time < newest - MINUTE]
    assert serving.num_rows == len(passed)
    assert serving.column_names == training.column_names
    assert fraud_features.differing(training, serving) == 0


@pytest.mark.parametrize("distance", [None, 1, 3])
def test_oracle_words_and_pairs_are_counted_once_a_tweet_and_window(distance: int | None) -> None:
    tweets = wordcount.tweet_table(120)
    operator = wordcount.wordcount() if distance is None else wordcount.paircount(distance)
    expected: Counter[tuple[dt.datetime, str]] = Counter()
    for tweet in tweets.to_pylist():
        once = list(dict.fromkeys(tweet["words"]))
        keys = set(once)
        if distance is not None:
            near = (pair for pair in combinations(range(len(once)), 2) if pair[1] - pair[0] <= distance)
            keys = {" ".join(sorted((once[i], once[j]))) for i, j in near}
        begin = tweet["time"].replace(minute=tweet["time"].minute // 30 * 30, second=0, microsecond=0)
        expected.update((begin + n * 30 * MINUTE, key) for n in (1, 2) for key in keys)
    found = operator.over(tweets).to_pylist()
    assert {(row["time"], row[operator.key]): row["n"] for row in found} == expected


def test_oracle_the_searched_and_the_compared_join_find_every_pair_of_the_band() -> None:
    r, s = scalejoin.tables(250, rate=20, spread=100)
    expected = Counter(
        (left["time"], left["x"], right["time"], right["a"])
        for left in r.to_pylist()
        for right in s.to_pylist()
        if abs(left["time"] - right["time"]) <= scalejoin.WINDOW
        and abs(left["x"] - right["a"]) <= 10
        and abs(left["y"] - right["b"]) <= 10
    )
    found = scalejoin.searched(r, s).collect().to_pylist()
    assert Counter((row["time_left"], row["x"], row["time_right"], row["a"]) for row in found) == expected
    compared = scalejoin.compared(3).over(r, s).to_pylist()
    names = ("left_time", "left_x", "right_time", "right_a")
    assert Counter(tuple(row[name] for name in names) for row in compared) == expected


def test_oracle_hedges_are_found_once_whatever_the_controller_does() -> None:
    trades = hedging.trade_table(1_200)
    pairs, story = hedging.replay(trades, most=2, speed=1_000)
    rows = trades.to_pylist()
    expected = Counter(
        (left["t"], right["t"])
        for left, right in permutations(rows, 2)
        if abs(left["t"] - right["t"]) <= hedging.WINDOW * 1e6
        and left["symbol"] < right["symbol"]
        and abs(left["move"] + right["move"]) <= 0.00002
    )
    assert Counter(zip(pairs["left_t"].to_pylist(), pairs["right_t"].to_pylist(), strict=True)) == expected
    assert sum(second.trades for second in story) == trades.num_rows
    assert {second.degree for second in story} <= {1, 2}


def test_oracle_the_six_aggregates_of_a_service_are_those_of_its_last_minute() -> None:
    requests = telemetry.request_table(800, 2)
    own = by_key(requests.to_pylist(), "service")
    rows = telemetry.query(requests).collect().to_pylist()
    for row in rows[:: len(rows) // 12]:
        start, end = (row["window"][name] for name in ("start", "end"))
        held = [each for each in own[row["service"]] if start <= each["time"] < end]
        times = [each["ms"] for each in held]
        assert row["requests"] == len(held)
        assert row["mean"] == pytest.approx(np.mean(times))
        assert row["slowest"] == max(held, key=lambda each: each["ms"])["path"]
        assert row["failures"] == pytest.approx(np.mean([each["status"] >= 500 for each in held]))
        if len(held) > 1:
            assert row["spread"] == pytest.approx(np.std(times, ddof=1))
        rank = np.mean(np.array(times) <= row["p95"])
        assert 0.9 <= rank <= 1.0


def test_the_failure_rate_is_a_monoid() -> None:
    sash.testing.laws(telemetry.FailureRate("status"), [(200,), (503,), (404,)])


def visits_by_hand(clicks: pa.Table) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for visitor, rows in by_key(clicks.to_pylist(), "visitor").items():
        pauses = [later["time"] - row["time"] > 30 * MINUTE for row, later in pairwise(rows)]
        cuts = [0, *(n + 1 for n, pause in enumerate(pauses) if pause), len(rows)]
        for lo, hi in pairwise(cuts):
            spent = sum(row["cents"] for row in rows[lo:hi])
            found[visitor, rows[lo]["time"].replace(tzinfo=None), hi - lo, spent] += 1
    return found


def test_oracle_a_visit_ends_where_nothing_happens_for_half_an_hour() -> None:
    clicks = clickstream_sessions.click_table(600, 12)
    found = clickstream_sessions.visits(clicks).collect().to_pylist()
    visits = Counter(
        (row["visitor"], row["window"]["start"].replace(tzinfo=None), row["clicks"], row["spent"])
        for row in found
    )
    assert visits == visits_by_hand(clicks)
    assert all((row["entry"], row["exit"]) == (row["path"][0], row["path"][-1]) for row in found)


@pytest.mark.spark
def test_differential_visits_on_spark_are_those_of_sparks_own_session_windows(spark: SparkSession) -> None:
    clicks = clickstream_sessions.click_table(600, 12)
    ours, theirs = clickstream_sessions.on_spark(spark, clicks)
    assert ours == theirs
    assert ours.total() == visits_by_hand(clicks).total()


@pytest.mark.parametrize("engine", secret_comparison.SHOWN)
def test_differential_a_query_reports_as_the_engine_that_it_was_told_to(engine: str) -> None:
    times = range(10, 30)
    simulated = sash.secret.simulate(engine, times, 5, 2)
    assert secret_comparison.reported_as(engine, times, 5, 2) == simulated


def test_engines_that_answer_alike_are_told_together_and_none_is_left_out() -> None:
    answers = secret_comparison.alike(range(10, 20), 3, 3)
    assert sorted(name for names in answers.values() for name in names) == sorted(sash.secret.names())
    assert "flink" in answers["{t1,t2} {t3,t4,t5} {t6,t7,t8}"]


def test_oracle_the_busiest_minute_is_that_of_the_last_quarter_of_an_hour() -> None:
    trades = chained_windows.trade_table(500, 2)
    volume: Counter[tuple[str, dt.datetime]] = Counter()
    for row in trades.to_pylist():
        volume[row["symbol"], row["time"].replace(second=0, microsecond=0)] += row["size"]
    for row in chained_windows.in_process(trades).to_pylist():
        start, end = (row["window"][name] for name in ("start", "end"))
        held = {
            minute: n for (symbol, minute), n in volume.items()
            if symbol == row["symbol"] and start <= minute < end
        }  # fmt: skip
        assert (row["volume"], row["minutes"]) == (max(held.values()), len(held))
        assert row["at"] == min(minute for minute, n in held.items() if n == row["volume"])


@pytest.mark.spark
def test_differential_chained_windows_on_spark_are_those_in_process(spark: SparkSession) -> None:
    trades = chained_windows.trade_table(500, 2)
    assert (
        chained_windows.on_spark(spark, trades).to_pylist()
        == chained_windows.in_process(trades).to_pylist()
    )


@pytest.fixture(scope="module")
def departures() -> pa.Table:
    return flights.flight_table(1_500)


def test_oracle_flights_are_told_the_delays_of_the_hour_before(departures: pa.Table) -> None:
    own = by_key(departures.to_pylist(), "origin")
    rows = flights.at_the_gate(departures).collect().to_pylist()
    assert len(rows) == departures.num_rows
    for row in rows[::40]:
        begin = row["time"] - 60 * MINUTE
        held = [each["dep_delay"] for each in own[row["origin"]] if begin < each["time"] <= row["time"]]
        flown = [delay for delay in held if delay == delay and delay is not None]
        assert row["flights_1_hour"] == len(held)
        assert row["worst_1_hour"] == max(flown, default=None)
        assert row["delay_1_hour"] == (pytest.approx(np.mean(flown)) if flown else None)


def test_the_days_of_an_airport_hold_every_flight_once(departures: pa.Table) -> None:
    days = flights.days(departures).collect().to_pylist()
    assert sum(day["flights"] for day in days) == departures.num_rows
    assert len(days) >= 3


def test_a_jam_is_a_run_of_flights_that_left_more_than_an_hour_late(departures: pa.Table) -> None:
    flown = [row for row in departures.to_pylist() if row["dep_delay"] is not None]
    late = Counter(row["origin"] for row in flown if row["dep_delay"] > 60)
    flights_in_jams: Counter[str] = Counter()
    for jam in flights.jams(departures).collect().to_pylist():
        flights_in_jams[jam["origin"]] += jam["flights"]
        assert jam["delay"] > 60
    assert flights_in_jams == late
