"""What `explain()` tells people, and `explain("json")` machines."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError
from sash.planner.explain.explanation_text import WIDTH, named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = pa.table({"t": range(1_000), "k": [n % 10 for n in range(1_000)], "x": [0.5] * 1_000})
KEYS = {
    "version", "runtime", "order", "time", "keys", "windows", "rows", "reported", "whole", "aggregates",
    "events", "cores", "algorithm", "pattern", "stages", "state", "state_bytes", "advice",
}  # fmt: skip


WORDS = TABLE.append_column("w", pa.array([str(n) for n in range(1_000)]))
MINE = replace(sash.collect("k"), name="mine", made_by=None)
"""As a user defines one."""


def over(data: Any = TABLE, *, time: str = "t", key: str | None = "k", **options: Any) -> Any:
    return sash.stream(data, time=time, key=key, **options)


def explained(query: Any) -> dict[str, Any]:
    explanation: dict[str, Any] = json.loads(query.explain("json"))
    assert explanation.keys() == KEYS
    return explanation


def test_explain_says_meaning_algorithm_pattern_stages_and_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = over().window(sash.sliding(100, every=30)).agg(n=sash.count(), f=sash.first("x"))
    text = query.parallel(sash.Auto(cores=4)).explain("plan")
    assert capsys.readouterr().out == text + "\n"
    for line in (
        "sliding(100, every=30)\n",
        "where windows begin and end is known before any event (context-free)",
        "E(w) = { τ : w·(30) ≤ τ < w·(30) + 100 }",
        "3.33 windows per event",
        "n: count(), commutative",
        "f: first(x), ordered",
        "one pass over events: compiled; ",
        "two combines per event and one per window, whatever its length",
        "WinSeq(): 1 worker",
        "candidates for 4 cores; counted: 1,000 events of 10 keys, the hottest with 10%; ",
        "✗ WinMapReduce(map=4, reduce=4): ",
        "first is not declared commutative",
        "1. group by key and sort",
        "in memory while it runs: the columns that it reads of 1,000 events, about 48 kB",
        "reported once: the input is complete, so no window waits for later events",
    ):
        assert line in text, line
    # The candidates stand in the order of their costs, the chosen one is marked.
    costs = [line for line in text.splitlines() if "mostly" in line]
    assert len(costs) >= 6
    assert [line.strip()[:1] for line in costs].count("→") == 1


def test_the_short_form_has_meaning_cost_and_state_in_ten_lines() -> None:
    query = over().window(sash.sliding(100, every=30)).agg(n=sash.count(), f=sash.first("x"))
    lines = query.explain().splitlines()
    assert len(lines) <= 10
    names = [line.split()[0] for line in lines]
    assert names == ["window", "formula", "values", "events", "report", "cost", "runs", "keeps", "more"]
    assert lines[0].endswith(": 100 long, every 30, [start, end); 3.33 windows per event")
    assert lines[0].startswith("window   sliding(100, every=30): ")
    assert lines[2] == "values   n = count(), f = first(x)"
    many = over().rolling(5).agg(**{f"a{number}": sash.sum("x") for number in range(20)})
    assert "a7 = sum(x), and 12 more" in " ".join(many.explain().split())


TIMED = TABLE.set_column(0, "t", TABLE["t"].cast(pa.timestamp("s")))


@pytest.mark.parametrize("flush", [True, False], ids=["with an end", "without"])
@pytest.mark.parametrize(
    "window",
    [
        sash.tumbling("1 minute"),
        sash.sliding("1 hour", every="1 minute"),
        sash.cumulate("1 hour", "20 minutes"),
        sash.rows(100, every=10),
        sash.slide_by_tuple("90 minutes", 10),
        sash.slide_by_time(100, "5 minutes"),
        sash.delta("x", 20_000, 5_000),
        sash.session("30 minutes"),
        sash.threshold(lambda row: row.x > 1),
        sash.punctuated(lambda row: row.x > 1),
        ("rolling", "1 hour", "7 days", "90 days"),
        ("latest", "1 hour", "7 days", "90 days"),
    ],
    ids=lambda window: window[0] if isinstance(window, tuple) else type(window).__name__,
)
def test_a_stream_of_each_kind_is_explained_in_ten_lines_of_the_width(window: Any, flush: bool) -> None:
    stream = over(iter([TIMED]), delay="10 minutes")
    if isinstance(window, tuple):
        windowed = getattr(stream, window[0])(*window[1:])
    else:
        windowed = stream.window(window, flush=flush)
    lines = windowed.agg(n=sash.count(), s=sash.sum("x")).explain().splitlines()
    assert [line for line in lines if line.startswith(" ")] == []
    assert max(map(len, lines)) <= WIDTH
    assert [line.split()[0] for line in lines[2:]] == [
        "values", "events", "report", "cost", "runs", "keeps", "grows", "more",
    ]  # fmt: skip


def test_what_a_row_window_keeps_has_a_total_per_key_also_where_events_wait() -> None:
    def kept(**options: Any) -> str:
        query = over(iter([TABLE]), **options).window(sash.rows(100, every=10)).agg(s=sash.sum("x"))
        return next(line for line in query.explain().splitlines() if line.startswith("keeps"))

    assert kept() == "keeps    per key: the last 100 events (times and inputs), about 3 kB"
    waiting = "the last 100 events and 5 more (times and inputs), 3 kB and 30 bytes per waiting event"
    assert kept(delay=5) == f"keeps    per key: {waiting}"


@pytest.mark.parametrize(
    ("aggregates", "beside", "grows"),
    [
        ({"n": sash.count()}, "", ""),
        (
            {"n": sash.count(), "all": sash.collect("x")},
            "every collected value of all in its open window",
            " and of the values that all has to hold",
        ),
        (
            {"own": MINE, "q": sash.quantile("x", 0.5), "d": sash.distinct("x")},
            "the encoded element of own in its open window and the summaries of q, d, of bounded size",
            " and of the values that own has to hold",
        ),
    ],
)
def test_a_session_keeps_the_values_of_aggregates_that_hold_them(
    aggregates: dict[str, Any], beside: str, grows: str
) -> None:
    query = over(iter([TABLE])).window(sash.session(5)).agg(**aggregates)
    text = " ".join(query.explain().split())
    assert ("bytes" + (f", plus {beside}" if beside else "") + " grows") in text
    assert f"with the number of keys{grows}; a key is dropped" in text
    state = json.loads(query.explain("json"))
    assert (state["state_bytes"] is None) == bool(beside)
    assert state["state"]["beside"] == beside


def test_rows_of_look_backs_are_explained_as_rows_and_not_as_windows() -> None:
    lines = over(delay=5).rolling(60, 300).agg(n=sash.count()).explain().splitlines()
    assert lines[0] == "rows     one row per event: the last 60, the last 300, up to it"
    assert lines[1] == "formula  E(r, W) = { τ : τ_r − W < τ ≤ τ_r } for each event r and look-back W"
    assert "report   once: the input is complete, so no event waits for later events" in lines[4]
    assert "in this process; one worker is enough: " in lines[6]
    cost = "compiled; two combines per event and one per look-back of a row, whatever its length"
    assert lines[5] == f"cost     {cost}"
    latest = over().latest(60).agg(n=sash.count()).explain()
    assert cost in latest
    assert latest.startswith("rows     one row per key: the last 60, up to now")
    assert "one row per event, emitted once" in over().rolling(60).agg(n=sash.count()).explain("plan")


@pytest.mark.parametrize(
    ("window", "meaning"),
    [
        (sash.tumbling("1 minute"), "1 minute long, one after the other, [start, end)"),
        (sash.cumulate(60, 20), "starts every 60, grows by 20, [start, end)"),
        (sash.rows(1, every=1), "1 event, a new window with every event"),
        (sash.slide_by_tuple(60, 10), "the last 60, up to every 10th event"),
        (sash.slide_by_tuple("1 hour", 1), "the last hour, up to each event"),
        (sash.slide_by_time(100, 5), "the last 100 events, every 5"),
        (sash.delta("x", 20_000, 5_000), "the last 20,000 of x, whenever it has grown by more than 5,000"),
        (sash.session("30 minutes"), "events that are at most 30 minutes apart"),
        (sash.threshold(lambda row: row.x > 1), "neighbouring events that satisfy the predicate"),
        (sash.punctuated(lambda row: row.x > 1), "the events up to and with the next punctuation"),
    ],
)
def test_every_kind_of_window_has_a_meaning_in_plain_words(window: Any, meaning: str) -> None:
    assert window.meaning == meaning


def test_the_same_is_there_for_machines_under_keys_that_stay(capsys: pytest.CaptureFixture[str]) -> None:
    query = over().window(sash.rows(100, every=10)).agg(n=sash.count())
    explanation = explained(query)
    assert capsys.readouterr().out == ""
    assert explanation["version"] == 1
    assert explanation["runtime"] == "process"
    assert explanation["windows"] == [
        {
            "label": "rows(100, every=10)", "kind": "rows", "context": "context-free", "overlap": 10.0,
            "meaning": "100 events, a new window every 10 events",
            "formula": "E(w) = { i : w·10 ≤ i < w·10 + 100 }, w ≥ 0", "on_columns": True,
            "written": "rows(100, every=10)",
        }
    ]  # fmt: skip
    assert explanation["aggregates"] == [
        {
            "name": "n", "monoid": "count", "call": "count()", "columns": [], "where": None,
            "commutative": True, "invertible": True, "compiled": True,
        }
    ]  # fmt: skip
    assert explanation["events"] == {"rows": 1_000, "keys": 10, "hottest": 0.1, "known": "counted"}
    assert explanation["algorithm"].keys() == {"name", "how", "panes", "interpreted"}
    assert explanation["state"]["kept"] == "nothing"
    pattern = explanation["pattern"]
    assert pattern.keys() == {
        "name", "workers", "forced", "why", "candidates", "forbidden", "measured", "constants", "levels",
        "level",
    }  # fmt: skip
    assert [one["pattern"] for one in pattern["candidates"] if one["chosen"]] == [pattern["name"]]
    assert all(one["seconds"] > 0 and one["dearest"] for one in pattern["candidates"])


def test_explaining_is_deterministic() -> None:
    query = over().window(sash.sliding(100, every=10)).agg(n=sash.count(), d=sash.distinct("k"))
    assert query.explain("json") == query.explain("json")


def test_a_pattern_that_was_asked_for_is_compared_with_the_planners_choice() -> None:
    query = over().window(sash.sliding(100, every=10)).agg(n=sash.count())
    farm = sash.WinFarm(sash.PaneFarm(2, 3), replicas=2)
    explanation = explained(query.parallel(farm))
    assert explanation["pattern"]["forced"] is True
    assert explanation["pattern"]["name"] == str(farm)
    assert explanation["pattern"]["levels"][-1] == (
        "emitter → 4 pane workers → 6 window workers → collector  (12 in all)"
    )
    assert any("times as fast as WinFarm(PaneFarm" in advice for advice in explanation["advice"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            over().window(sash.rows(5)).apply(len, schema="n bigint"),
            [".apply(…) computes each window from its rows", "@sash.monoid"],
        ),
        (
            over().window(sash.threshold(lambda row: row.x > 1 or row.k > 8)).agg(n=sash.count()),
            ["is evaluated event by event", "&, | and comparisons of columns"],
        ),
        (over().window(sash.threshold(lambda row: (row.x > 1) | (row.k > 8))).agg(n=sash.count()), []),
        (over().window(sash.delta("k", 2, 1)).agg(n=sash.count()), []),
        *(
            (over().window(sash.rows(5)).agg(d=sketch_or_list), [])
            for sketch_or_list in (
                sash.distinct("k"),
                sash.last("k", 3),
                sash.collect("k"),
                sash.quantile("x", 0.5),
            )
        ),
        (
            over(WORDS).window(sash.rows(5)).agg(m=sash.max("w")),
            ["m (max) is interpreted, because not all of its columns are numbers; over numbers it is"],
        ),
        (
            over().window(sash.rows(5)).agg(s=MINE),
            ["s (mine) is interpreted, because its elements are objects; with numbers, or tuples of"],
        ),
        (
            over().window(sash.rows(9, every=6)).parallel(sash.PaneFarm(1, 1)).agg(d=sash.distinct("k")),
            ["a slide of 6 events does not divide 9 events, so panes are only 3 events long"],
        ),
        (over().window(sash.tumbling(5)).agg(n=sash.count()), []),
    ],
)
def test_advice_names_what_would_be_cheaper(query: Any, message: list[str]) -> None:
    advice = explained(query)["advice"]
    assert bool(advice) is bool(message)
    for words in message:
        assert any(words in sentence for sentence in advice), advice


@pytest.mark.parametrize(
    ("window", "written"),
    [
        (sash.tumbling(10), "tumbling(10)"),
        (sash.tumbling(10).named("short"), "short = tumbling(10)"),
        (sash.hopping(10, every=5), "sliding(10, every=5)"),
    ],
)
def test_a_window_is_shown_as_its_user_wrote_it(window: Any, written: str) -> None:
    query = over().window(window).agg(n=sash.count())
    assert query.explain().startswith(f"window   {written}: 10 long, ")
    assert f"  {written}: 1 window holds it" in str(query.explain_window(key=3, at=3, engines=[])).replace(
        "2 windows hold", "1 window holds"
    )


def test_a_session_does_not_show_a_printed_text_again(capsys: pytest.CaptureFixture[str]) -> None:
    query = over().rolling(5).agg(n=sash.count())
    text = query.explain()
    assert capsys.readouterr().out == text + "\n"
    assert repr(text) == "<explanation, printed above>"
    assert repr(query.explain("json")).startswith("'{")


def test_a_join_has_a_cost_and_what_it_keeps() -> None:
    left, right = over(key=None), over(key=None)
    lines = (
        left.join(right, within=5, where=lambda one, two: abs(one.x - two.x) <= 1).explain().splitlines()
    )
    assert [line.split()[0] for line in lines] == [
        "pairs",
        "order",
        "found",
        "cost",
        "runs",
        "keeps",
        "more",
    ]
    assert lines[4] == "runs     in this process"
    assert "compared with the events of neighbouring cells that are close in time" in lines[3]
    assert lines[5] == "keeps    no state; both inputs are in memory while it runs"
    assert "one step per event" in left.join_asof(right).explain()
    plan = left.join_asof(right).explain("plan")
    assert "\nstages: in this process\n  1. " in plan


def test_long_texts_are_wrapped_below_their_beginning() -> None:
    wrapped = named([("keeps", "word " * 40), ("more", "short")]).splitlines()
    assert len(wrapped) == 3
    assert max(map(len, wrapped)) <= WIDTH
    assert wrapped[1].startswith(" " * 9 + "word")


def test_a_form_that_does_not_exist_is_refused() -> None:
    query = over().window(sash.tumbling(5)).agg(n=sash.count())
    joined = over().join(over(), within=5)
    for each in (query, joined):
        with pytest.raises(ArgumentError, match="'text', 'plan' or 'json'"):
            each.explain("xml")


def test_a_join_is_explained_to_machines_too(capsys: pytest.CaptureFixture[str]) -> None:
    explanation = json.loads(over().join(over(), within=5).explain("json"))
    assert capsys.readouterr().out == ""
    assert explanation.keys() == {"version", "semantics", "candidates", "stages", "cost", "keeps"}
    assert explanation["candidates"]["how"] == "hash"
    assert "|τ_l − τ_r| ≤ 5" in explanation["semantics"]["pairs"]


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, Any]:
    rate = (
        spark.readStream.format("rate").load().selectExpr("timestamp AS t", "value AS k", "value / 2 AS x")
    )
    static = spark.range(10).selectExpr("timestamp_seconds(id) AS t", "id AS k", "id / 2 AS x")
    return {"static": static, "stream": rate}


@pytest.mark.spark
def test_a_static_dataframe_has_its_panes_folded_before_the_shuffle(frames: dict[str, Any]) -> None:
    windowed = over(frames["static"]).window(sash.sliding("1 minute", every="1 second"))
    in_sql = explained(windowed.agg(s=sash.sum("x")))
    assert in_sql["algorithm"]["panes"] == "before the shuffle, by Spark's generated code"
    assert any("fold panes in generated code" in stage for stage in in_sql["stages"])
    explanation = explained(windowed.agg(s=sash.skewness("x")))
    assert explanation["runtime"] == "spark batch"
    assert explanation["algorithm"]["panes"] == "before the shuffle, where rows lie"
    assert "in Python workers, because s: skewness(x) has no form in SQL" in explanation["algorithm"]["how"]
    assert "fold panes where rows lie" in explanation["stages"]
    rolling = explained(over(frames["static"]).rolling("1 minute").agg(n=sash.count()))["algorithm"]["how"]
    words = "; in Python workers, because Spark's SQL folds only sliding, tumbling and cumulate windows"
    assert rolling.startswith("compiled; ")
    assert rolling.endswith(words)
    assert explanation["events"]["known"] == "assumed"
    ordered = explained(windowed.agg(f=sash.first("x")))
    assert ordered["pattern"]["name"] == "buckets of keys"
    assert ordered["pattern"]["workers"] is None
    assert "commutative" not in str(ordered["advice"]), "nobody can declare it of a built-in aggregate"
    own = explained(windowed.agg(f=replace(sash.first("x"), made_by=None)))
    assert any("declare commutative=True" in advice for advice in own["advice"])
    assert any("sash.Auto(sample=True)" in advice for advice in ordered["advice"])
    hot = explained(windowed.parallel(sash.Auto(hottest=0.9, cores=8)).agg(f=sash.first("x")))
    assert hot["events"]["hottest"] == 0.9
    assert hot["cores"] == 8


@pytest.mark.spark
def test_a_sample_of_a_static_dataframe_is_taken_when_it_is_allowed(frames: dict[str, Any]) -> None:
    windowed = over(frames["static"]).window(sash.tumbling("1 second"))
    explanation = explained(windowed.parallel(sash.Auto(sample=True, rows=1_000_000)).agg(s=sash.sum("x")))
    assert explanation["events"] == {"rows": 1_000_000, "keys": 3162, "hottest": 0.1, "known": "sampled"}


@pytest.mark.spark
def test_a_stream_says_what_it_keeps_of_each_key_and_how_that_grows(frames: dict[str, Any]) -> None:
    hour = sash.sliding("1 hour", every="1 minute")
    stream = over(frames["stream"], delay="10 minutes")
    panes = explained(stream.window(hour).agg(n=sash.count(), s=sash.sum("x")))
    assert panes["runtime"] == "spark streaming"
    assert panes["algorithm"]["name"] == "panes in a tree"
    assert panes["algorithm"]["panes"].startswith("after the shuffle")
    assert panes["state"]["kept"] == "panes"
    assert "at most 71 panes of 1 minute" in panes["state"]["amount"]
    assert panes["state_bytes"] == panes["state"]["units"] * panes["state"]["unit_bytes"]
    text = stream.window(hour).agg(f=sash.first("x")).explain("plan")
    assert "the events of the last hour and 10 minutes more (times and inputs)" in text
    assert re.search("inputs\\), [0-9]+ bytes per event\n", text)
    assert "grows with the number of events in a window" in text
    looking_back = explained(stream.rolling("1 hour").agg(n=sash.count()))["state"]["growth"]
    assert looking_back.startswith("with the number of events in the longest look-back")
    counted = explained(over(frames["stream"]).window(sash.rows(500, every=10)).agg(n=sash.count()))
    assert counted["state"]["units"] == 500
    assert "see forget_after= of sash.stream" in counted["state"]["growth"]
    bounded = (
        over(frames["stream"], forget_after="30 days").window(sash.rows(500, every=10)).agg(n=sash.count())
    )
    assert "a key is dropped 4 weeks 2 days after its newest event" in bounded.explain("plan")
    session = explained(over(frames["stream"]).window(sash.session("1 hour")).agg(n=sash.count()))
    assert session["state"]["kept"] == "fold"
    assert "a key is dropped when no window needs its state" in session["state"]["growth"]


def test_formulas_have_the_numbers_filled_in_and_nothing_else() -> None:
    for window, message in (
        (sash.tumbling(5, origin=2), "E(w) = { τ : 2 + w·(5) ≤ τ < 2 + w·(5) + 5 }"),
        (sash.cumulate(60, 10), "with b = ⌊w / 6⌋·(60)"),
        (sash.slide_by_time(3, 10), "E(w) = the last 3 events with τ < (w + 1)·(10)"),
    ):
        assert message in over().window(window).agg(n=sash.count()).explain("plan")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "reported once: the input is complete, so no window waits for later events"),
        ({"flush": False}, "reported once, when the watermark (newest time − 7) reaches its end"),
        ({"empty": True}, "waits for later events; those without events too"),
    ],
)
def test_explain_says_when_windows_are_reported(options: dict[str, Any], words: str) -> None:
    assert (
        words
        in explained(over(delay=7).window(sash.tumbling(5), **options).agg(n=sash.count()))["reported"]
    )


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        ([sash.session(5)], "passes its end"),
        ([sash.slide_by_tuple(5, 1)], "passes its end"),
        ([sash.tumbling(5)], "reaches its end"),
        (
            [sash.tumbling(5), sash.session(5)],
            "reaches its end (passes it, for sessions and look-backs)",
        ),
    ],
)
def test_an_event_at_the_end_of_a_session_still_joins_it(windows: list[Any], words: str) -> None:
    query = over().window(*windows, flush=False).agg(n=sash.count())
    assert explained(query)["reported"] == f"reported once, when the watermark (newest time) {words}"


def test_a_pattern_without_stages_between_its_workers_has_one_graph() -> None:
    text = over().window(sash.tumbling(5)).parallel(sash.KeyFarm(3)).agg(n=sash.count()).explain("plan")
    assert "every level: emitter → 3 window workers → collector  (5 in all): there is nothing to" in text


@pytest.mark.spark
def test_early_reports_and_corrections_are_told_in_words(frames: dict[str, Any]) -> None:
    stream = over(frames["stream"], delay="1 minute", allowed_lateness="1 hour")
    early = explained(stream.window(sash.tumbling("1 day"), emit="every 5 minutes").agg(n=sash.count()))
    assert early["reported"] == (
        "reported every 5 minutes while it changes, and when the watermark (newest time − 1 minute) "
        "reaches its end; corrected for 1 hour after that"
    )
    change = stream.window(sash.tumbling("1 day"), emit="change").agg(n=sash.count())
    assert explained(change)["reported"].startswith("reported after every batch that changes it")


@pytest.mark.spark
def test_workers_that_share_a_key_hold_it_several_times(frames: dict[str, Any]) -> None:
    query = over(frames["stream"]).window(sash.sliding("1 hour", every="30 minutes")).agg(n=sash.count())
    alone, shared = explained(query), explained(query.parallel(sash.WinFarm(4)))
    assert shared["state_bytes"] == 2 * alone["state_bytes"]
    assert "in 2 buckets, each with windows of its own" in shared["state"]["amount"]
    owned = explained(query.parallel(sash.WinFarm(4, model="agnostic")))
    assert owned["state"]["kept"] == "events"
    assert owned["algorithm"]["name"] == "whole windows"


@pytest.mark.spark
def test_a_stream_on_spark_is_explained_in_ten_lines_of_the_width(frames: dict[str, Any]) -> None:
    stream = over(frames["stream"], delay="10 minutes")
    for window in (
        sash.sliding("1 hour", every="1 minute"),
        sash.rows(100, every=10),
        sash.delta("x", 9, 1),
    ):
        lines = stream.window(window).agg(n=sash.count()).explain().splitlines()
        assert len(lines) <= 10, lines
        assert max(map(len, lines)) <= WIDTH


@pytest.mark.spark
def test_the_watermark_that_a_stream_came_with_is_explained(frames: dict[str, Any]) -> None:
    own = frames["stream"].withWatermark("t", "10 minutes")
    stream = sash.stream(own, time="t", key="k", delay="5 seconds")
    query = stream.window(sash.tumbling("1 minute")).agg(n=sash.count())
    text = " ".join(query.explain().split())
    assert "the watermark (the stream's own, newest t − 10 minutes − 5 seconds) reaches its end" in text
    assert "start(sink, late=…) writes the rows that are later" in text
    assert "at most 13 panes of 1 minute" in text


@pytest.mark.spark
def test_a_hot_key_of_a_stream_is_planned_for_when_it_is_told_of(frames: dict[str, Any]) -> None:
    windowed = over(frames["stream"]).window(sash.tumbling("1 minute"))
    query = windowed.apply(len, schema="n bigint")
    assert any("sash.Auto(hottest=0.9)" in advice for advice in explained(query)["advice"])
    explanation = explained(query.parallel(sash.Auto(hottest=0.99, cores=4)))
    assert explanation["pattern"]["name"] == "WinFarm(4, model='agnostic')"
    assert explanation["pattern"]["forced"] is False
    assert "compute windows in 4 tasks, round-robin whatever the key" in explanation["stages"]


@pytest.mark.spark
def test_a_stream_that_corrects_itself_keeps_panes_too(frames: dict[str, Any]) -> None:
    minute = sash.tumbling("1 minute")
    keyless = over(frames["stream"], key=None)
    assert not any(
        "one bucket" in advice for advice in explained(keyless.window(minute).agg(n=sash.count()))["advice"]
    )
    rows = explained(keyless.window(sash.rows(5)).agg(n=sash.count()))["advice"]
    assert any("one bucket" in advice and "WinFarm(2, model='agnostic')" in advice for advice in rows)
    late = over(frames["stream"], allowed_lateness="1 minute").window(minute).agg(n=sash.count())
    assert explained(late)["state"]["kept"] == "panes"
