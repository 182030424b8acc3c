"""`q.explain_window` on tables, frames and static DataFrames."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, UnknownEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def clock(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-05 {text}")


RECORDED = pa.table(
    {
        "ts": [clock(t) for t in ("10:00:30", "10:01:00", "10:03:20", "10:03:00", "10:05:02", "10:01:02")],
        "who": ["a", "b", "a", "a", "b", "a"],
        "x": [1, 2, 3, 4, 5, 6],
    }
)


def query(window: Any, data: Any = RECORDED, **options: Any) -> Any:
    stream = sash.stream(data, time="ts", key="who", delay="10 seconds")
    return stream.window(window, **options).agg(n=sash.count())


def sentences(why: Any) -> list[str]:
    return [line for event in why.events for w in event.windows for held in w.held for line in held.why]


def test_a_waiting_window_says_which_event_closes_it() -> None:
    """A session that ends at the watermark itself waits for more than that."""
    why = query(sash.session("92 seconds")).explain_window(key="a", at="2026-01-05 10:03:20", as_of=6)
    assert sentences(why) == [
        "closes when an event of any key after 10:05:02 arrives: watermark 10:04:52, delay 10 s"
    ]
    assert sentences(why)[0] in str(why)


def test_a_waiting_time_window_names_the_least_time_that_closes_it() -> None:
    why = query(sash.tumbling("5 minutes")).explain_window(key="a", at="2026-01-05 10:03:20", as_of=6)
    assert sentences(why) == [
        "closes when an event of any key at or after 10:05:10 arrives: watermark 10:04:52, delay 10 s"
    ]


def test_a_reported_window_says_which_event_made_it_so() -> None:
    why = query(sash.tumbling("1 minute")).explain_window(key="a", at=clock("10:03:20"), as_of=5)
    assert sentences(why) == [
        "reported when event 5 arrived (watermark 10:04:52): "
        "it closes when the watermark is at or after 10:04:00"
    ]


def test_as_of_is_what_was_known_then() -> None:
    why = query(sash.tumbling("1 minute")).explain_window(key="a", at=clock("10:03:20"), as_of=4)
    assert [held.state for held in why.events[0].windows[0].held] == ["waits"]


def test_a_bounded_input_is_taken_at_once_and_its_end_closes_windows() -> None:
    q = query(sash.tumbling("5 minutes"))
    (event,) = q.explain_window(key="a", at=clock("10:01:02")).events
    assert event.accepted
    (held,) = event.windows[0].held
    assert held.why[0] == "reported when the input ended"
    assert held.why[1].startswith("on a stream it would still wait: closes when an event of any key")
    counts = {(row["who"], row["window"]["id"]): row["n"] for row in q.collect().to_pylist()}
    assert counts["a", held.id] == held.holds[1] - held.holds[0] == 4


def test_a_late_event_says_what_the_watermark_was() -> None:
    why = query(sash.tumbling("5 minutes")).explain_window(key="a", at=clock("10:01:02"), as_of=6)
    (event,) = why.events
    assert event.verdict == "late: when it arrived the watermark was 10:04:52, 3 min 50 s ahead of it"
    assert "late events of key 'a': 2 behind the watermark" in str(why)


def test_all_events_at_one_time_are_told() -> None:
    twice = pa.concat_tables([RECORDED, RECORDED.slice(0, 1)])
    why = query(sash.rows(2), twice).explain_window(key="a", at=clock("10:00:30"))
    assert [event.number for event in why.events] == [1, 7]


def test_an_event_that_a_window_cannot_place_says_why() -> None:
    table = pa.table({"t": [1, 2, 3], "km": [5.0, 1.0, None]})
    q = sash.stream(table, time="t").window(sash.delta("km", 2, 1)).agg(n=sash.count())
    reasons = [q.explain_window(at=at).events[0].windows[0].absence for at in (2, 3)]
    assert reasons == ["has no place: km decreased", "has no place: km is not a number"]


def test_an_event_without_a_time_is_late_for_that_reason() -> None:
    table = pa.table({"t": pa.array([1, None], pa.int64())})
    q = sash.stream(table, time="t").window(sash.rows(2)).agg(n=sash.count())
    assert q.explain_window(at=None).events[0].verdict == "late: its time is null"


def test_a_query_without_a_key_does_not_speak_of_keys() -> None:
    q = sash.stream(pa.table({"t": [1, 2]}), time="t").window(sash.tumbling(5)).agg(n=sash.count())
    why = q.explain_window(at=1, as_of=2)
    assert sentences(why) == ["closes when an event at or after 5 arrives: watermark 2, delay 0"]
    assert "key" not in str(why).replace("events of this key", "")


def test_a_key_of_several_columns_is_a_tuple_or_a_dict() -> None:
    table = RECORDED.append_column("where", pa.array(["x", "x", "y", "x", "x", "x"]))
    q = sash.stream(table, time="ts", key=["who", "where"]).window(sash.rows(9)).agg(n=sash.count())
    by_tuple = q.explain_window(key=("a", "y"), at=clock("10:03:20"))
    assert by_tuple == q.explain_window(key={"where": "y", "who": "a"}, at=clock("10:03:20"))
    with pytest.raises(ArgumentError, match="one value for each of who, where"):
        q.explain_window(key="a", at=clock("10:03:20"))


@pytest.mark.parametrize("engine", ["flink", "storm", "coral8"])
def test_a_query_that_runs_as_an_engine_is_explained_by_its_reports(engine: str) -> None:
    times = [10, 11, 12, 15, 16, 22]
    windowed = sash.stream(pa.table({"t": times}), time="t").window(sash.tumbling(3)).semantics(engine)
    reports = sash.secret.simulate(engine, times, 3, 3)
    for index, time in enumerate(times):
        (event,) = windowed.agg(n=sash.count()).explain_window(at=time, as_of=len(times)).events
        (window,) = event.windows
        shown = [list(range(*held.holds)) for held in window.held if held.reported]
        assert shown == [content for content in reports if index in content]
        assert bool(shown) != (window.absence == "no report has shown it")


def test_rolling_features_can_be_explained_too() -> None:
    q = sash.stream(RECORDED, time="ts", key="who").rolling("3 minutes").agg(n=sash.count())
    held = q.explain_window(key="a", at=clock("10:00:30")).events[0].windows[0].held
    assert [one.id for one in held] == [0, 1, 2, 3]


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_frames_are_explained_as_tables_are(form: str) -> None:
    import polars

    data = RECORDED.to_pandas() if form == "pandas" else polars.from_arrow(RECORDED)
    arguments = {"key": "a", "at": clock("10:03:20"), "as_of": 6}
    shown = query(sash.session("92 seconds"), data).explain_window(**arguments)
    assert str(shown) == str(query(sash.session("92 seconds")).explain_window(**arguments))


def test_times_are_written_in_the_zone_of_their_column() -> None:
    zoned = pa.table({"ts": pa.array([clock("10:00:00")], pa.timestamp("us", "Europe/Madrid"))})
    q = sash.stream(zoned, time="ts").window(sash.tumbling("1 hour")).agg(n=sash.count())
    why = q.explain_window(at="2026-01-05T10:00:00+00:00")
    assert "at 11:00:00" in str(why)
    assert why == q.explain_window(at="2026-01-05 11:00:00")


def test_only_the_engines_that_are_asked_for_are_compared() -> None:
    why = query(sash.rows(2)).explain_window(key="a", at=clock("10:03:20"), engines=["flink", "storm"])
    assert [story.engine for story in why.events[0].windows[0].engines] == ["flink", "storm"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"at": "2026-01-05 10:03:20"}, ArgumentError, "key must be given"),
        ({"at": "yesterday", "key": "a"}, ArgumentError, "at must be an instant"),
        ({"at": 5, "key": "a"}, ArgumentError, "at must be an instant"),
        ({"at": "2026-01-05 10:03:20+01:00", "key": "a"}, ArgumentError, "without a zone"),
        ({"at": "2026-01-05 10:03:21", "key": "a"}, ArgumentError, "nearest are at 10:03:00 and 10:03:20"),
        ({"at": "2026-01-05 10:03:20", "key": "z"}, ArgumentError, "key must be the key of an event"),
        ({"at": "2026-01-05 10:03:20", "key": "a", "as_of": 99}, ArgumentError, "from 1 to 6"),
        ({"at": "2026-01-05 10:03:20", "key": "a", "engines": "flnk"}, UnknownEngine, "Did you mean"),
    ],
)
def test_a_question_that_cannot_be_answered_says_what_would_work(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        query(sash.tumbling("5 minutes")).explain_window(**arguments)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (RECORDED.drop_columns(["who"]), "with the column 'who'"),
        (RECORDED.set_column(0, "ts", RECORDED["ts"].cast(pa.int64())), "timestamp"),
        (RECORDED.set_column(1, "who", pa.array([[1]] * 6)), "of the query's types"),
    ],
)
def test_recorded_events_of_other_columns_are_refused(events: pa.Table, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        query(sash.rows(2)).explain_window(key="a", at=clock("10:03:20"), events=events)


@pytest.mark.spark
def test_a_static_dataframe_is_explained_as_a_table_is(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    df = spark.createDataFrame(RECORDED.to_pandas()).coalesce(1)
    why = query(sash.session("92 seconds"), df).explain_window(key="a", at=clock("10:03:20"), as_of=6)
    assert sentences(why) == [
        "closes when an event of any key after 10:05:02 arrives: watermark 10:04:52, delay 10 s"
    ]


@pytest.mark.spark
def test_a_stream_is_explained_from_recorded_events(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'a' AS who", "value AS x")
    zone = spark.conf.get("spark.sql.session.timeZone")
    q = query(sash.tumbling("5 minutes"), df)
    with pytest.raises(ArgumentError, match="recorded events"):
        q.explain_window(key="a", at=clock("10:03:20"))
    stamped = RECORDED.set_column(0, "ts", RECORDED["ts"].cast(pa.timestamp("us", zone)))
    why = q.explain_window(key="a", at=RECORDED["ts"][2].as_py().astimezone(), events=stamped)
    assert [held.state for held in why.events[0].windows[0].held] == ["waits"]
