"""What a newcomer's mistakes print: the message names what was written and what to write instead.

The first ones are in `tests/runtimes/test_messages.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, SashError, UnitError, UnknownColumn, Unsupported
from sash.pipeline.aggregates_and_patterns import aggregate_of, pattern_of
from tests.docs.test_first_hour import Vwap

EVENTS = pa.table({"t": [1, 2, 3], "card": ["a", "b", "a"], "amount": [1.0, 2.0, 3.0]})
STAMPED = pd.DataFrame({"ts": pd.to_datetime(["2026-01-05"]), "amount": [1.0]})

TIMES = pd.DataFrame({"text": ["2026-01-05"], "seconds": [1.5], "day": [date(2026, 1, 5)]})


def stream(**more: Any) -> Any:
    return sash.stream(EVENTS, time="t", key="card", **more)


def tens() -> Any:
    return stream().window(sash.tumbling(10))


class Column:
    """Of PySpark: it cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]


class PlainColumn(Column):
    def __repr__(self) -> str:
        return "Column<'amount'>"

    def __bool__(self) -> bool:
        raise ValueError("please use '&' for 'and'")


PlainColumn.__name__ = "Column"


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "the time column": (
        lambda: sash.stream(EVENTS, time="tt").rolling(5).agg(n=sash.count()),
        UnknownColumn, ["time: there is no column 'tt'. Did you mean 't'?"],
    ),
    "the time column, before the query has windows": (
        lambda: sash.stream(EVENTS, time="tt"), UnknownColumn, ["Did you mean 't'?"],
    ),
    "the key": (
        lambda: sash.stream(EVENTS, time="t", key="crad"), UnknownColumn, ["key: there is no column"],
    ),
    "windows after look-backs": (
        lambda: getattr(stream().rolling(5), "window")(sash.tumbling(5)),  # noqa: B009
        AttributeError, ["rolling() supports only .agg(); windows go to .window(…) of the stream."],
    ),
    "look-backs after windows": (
        lambda: getattr(stream().window(sash.tumbling(5)), "latest")(5),  # noqa: B009
        AttributeError,
        ["window() supports only .agg(), .apply() and .fold(); look-backs go to .latest(…) of the stream."],
    ),
    "a second call of window": (
        lambda: getattr(stream().window(sash.tumbling(5)), "window")(sash.rows(5)),  # noqa: B009
        AttributeError, ["window() takes several of them in one call: .window(a, b)."],
    ),
    "queries together that are bounded": (
        lambda: sash.together(totals=stream().rolling(5).agg(n=sash.count())),
        Unsupported, ["sash.together(totals=…) needs a streaming DataFrame"],
    ),
    "workers that are text": (
        lambda: stream().rolling(5).parallel("4"),
        ArgumentError, ["parallel must be 'auto', a number of workers, or a pattern", "got '4'"],
    ),
    "an aggregate that is called otherwise": (
        lambda: getattr(sash, "averge"),  # noqa: B009 (type checkers refuse the name by themselves)
        AttributeError, ["no attribute 'averge'. Did you mean sash.avg?"],
    ),
    "a Column": (lambda: sash.sum(Column()), ArgumentError, ["with .withColumn, and pass its name."]),
    "a plain Column": (
        lambda: sash.sum(PlainColumn()), ArgumentError, ["got Column<'amount'>. Pass its name: 'amount'."],
    ),
    "a Column as the key": (
        lambda: sash.stream(EVENTS, time="t", key=PlainColumn()),
        ArgumentError, ["key must be the name of a column; got Column<'amount'>. Pass its name: 'amount'."],
    ),
    "a Column as the time": (
        lambda: sash.stream(EVENTS, time=PlainColumn()), ArgumentError, ["Pass its name: 'amount'."],
    ),
    "a Column as a condition": (
        lambda: sash.count(where=PlainColumn()),
        ArgumentError, ["Write it as text, where='amount > 100', or as a function of a row"],
    ),
    "a condition without parentheses": (
        lambda: sash.count(where=lambda row: row.amount > 1 & row.card == "a"),
        ArgumentError, ["a comparison beside & or | is not in parentheses"],
    ),
    "isin in a condition": (
        lambda: sash.count(where=lambda row: row.card.isin("a", "b")),
        ArgumentError, ["or the condition as text, 'x > 1 and y in (2, 3)'"],
    ),
    "a sum of text": (
        lambda: tens().agg(total=sash.sum("card")),
        ArgumentError, ["total = sum('card'): the input of sum must be", "Cast the column first"],
    ),
    "a sum of text over look-backs": (
        lambda: stream().rolling(5).agg(total=sash.sum("card")),
        ArgumentError, ["total = sum('card'): the input of sum must be"],
    ),
    "times as text": (
        lambda: sash.stream(TIMES, time="text").rolling(5).agg(n=sash.count()),
        Unsupported, ["F.to_timestamp('text')) in Spark, pd.to_datetime(df['text']) in pandas."],
    ),
    "times as floats": (
        lambda: sash.stream(TIMES, time="seconds").rolling(5).agg(n=sash.count()),
        Unsupported, ["F.col('seconds').cast('timestamp'))", "pd.to_datetime(df['seconds'], unit='s')"],
    ),
    "days": (
        lambda: sash.stream(TIMES, time="day").rolling(5).agg(n=sash.count()),
        Unsupported, ["F.col('day').cast('timestamp')) in Spark, pd.to_datetime(df['day']) in pandas."],
    ),
    "integers within timestamps": (
        lambda: sash.stream(STAMPED, time="ts").join(sash.stream(STAMPED, time="ts"), within=30),
        UnitError, ["within is 30, and the time column 'ts' is timestamp", "durations such as '1 hour'"],
    ),
    "a Column as an aggregate": (
        lambda: tens().agg(n=Column()), ArgumentError, ["Aggregates are those of sash, not of pyspark"],
    ),
    "a column of a predicate": (
        lambda: stream().window(sash.threshold(lambda row: row.amuont > 1)).agg(n=sash.count()).collect(),
        UnknownColumn, ["row.amuont: there is no column 'amuont'. Did you mean 'amount'?"],
    ),
    "a condition as a column": (
        lambda: tens().agg(n=sash.count("amount > 1")), UnknownColumn, ["where='amount > 1'"],
    ),
    "and in a condition": (
        lambda: sash.count(where=lambda row: row.amount > 1 and row.amount < 3),
        ArgumentError, ["got a lambda.", "it uses `and`", "Write & and |", "or the condition as text"],
    ),
    "the name of an aggregate": (
        lambda: tens().agg(n="count"), ArgumentError, ["got 'count'. In Python that is sash.count(…)."],
    ),
    "a monoid without columns": (
        lambda: tens().agg(v=Vwap), ArgumentError, ["the names of its columns: Vwap('price', 'size')."],
    ),
    "a result that is called as a key": (
        lambda: tens().agg(card=sash.count()),
        ArgumentError, ["the output already has a column 'card'; choose another name"],
    ),
    "PySpark's word for a full join": (
        lambda: stream().join(stream(), within=5, how="outer"), ArgumentError, ["Did you mean 'full'?"],
    ),
    "the kind of an as-of join": (
        lambda: stream().join_asof(stream(), how="left"),
        ArgumentError, ["join_asof has no argument 'how'. Leave it out: every event is kept"],
    ),
    "an unclosed quote in an aggregate": (
        lambda: aggregate_of("sum('x)", argument="n"), ArgumentError, ["unterminated string literal."],
    ),
    "a window as a look-back": (
        lambda: stream().rolling(sash.rows(3, every=1)),
        ArgumentError, ["got 'rows(3, every=1)'. Windows are given to .window(sash.rows(3, every=1))."],
    ),
    "a duration as a window": (
        lambda: stream().window("1 minute"), ArgumentError, ["Did you mean sash.tumbling('1 minute')?"],
    ),
    "durations over integers": (
        lambda: stream().window(sash.tumbling("1 minute")).agg(n=sash.count()),
        UnitError, ["the time column 't' is int64. For this column write integers, or make timestamps"],
    ),
    "integers over timestamps": (
        lambda: sash.stream(STAMPED, time="ts").window(sash.tumbling(60)).agg(n=sash.count()),
        UnitError, ["windows and delays are integers", "For this column write durations such as '1 hour'."],
    ),
    "both kinds": (
        lambda: stream(delay="1 second").rolling(5).agg(n=sash.count()),
        UnitError, ["delay must be in the same unit as windows (integers)"],
    ),
    "agg without windows": (
        lambda: stream().agg(n=sash.count()), AttributeError, [".rolling(…) or .latest(…) first."],
    ),
    "groupBy": (lambda: stream().groupBy("card"), AttributeError, ["Use sash.stream(…, key=…)."]),
    "filter": (lambda: stream().filter("amount > 1"), AttributeError, [".filter(…) of the frame, before"]),
    "sum of windows": (lambda: tens().sum("amount"), AttributeError, ["Use .agg(n=sash.sum(…))."]),
    "toPandas": (
        lambda: tens().agg(n=sash.count()).toPandas(), AttributeError, ["Use .collect().to_pandas()."],
    ),
    "a slip in a method": (
        lambda: tens().agg(n=sash.count()).colect(), AttributeError, ["Did you mean 'collect'?"],
    ),
    "published without Spark": (
        lambda: sash.published("nowhere"), ArgumentError, ["Make one first: sash.spark_session()."],
    ),
    "an aggregate in a file": (
        lambda: aggregate_of("men(amount)", argument="typical"),
        ArgumentError, ["typical = 'men(amount)': there is no aggregate 'men'. Did you mean 'mean'?"],
    ),
    "a pattern in a file": (
        lambda: pattern_of("KeyFam(4)"), ArgumentError, ["no pattern 'KeyFam'. Did you mean 'KeyFarm'?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_what_to_write_instead(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, kind, parts = MISTAKES[mistake]
    if mistake == "published without Spark":
        session = pytest.importorskip("sash.runtimes.spark.session")
        monkeypatch.setattr(session, "existing_session", lambda: None)
    with pytest.raises(kind) as raised:
        make()
    for part in parts:
        assert part in str(raised.value)


def test_steps_of_a_query_can_still_be_copied_and_asked_for_names() -> None:
    import copy

    query = tens().agg(n=sash.count())
    assert copy.copy(query).collect() == query.collect()
    assert not hasattr(query, "_repr_mimebundle_")
    assert not hasattr(stream(), "shape")


def test_a_slide_may_be_written_as_in_spark() -> None:
    assert sash.sliding("1 hour", "1 minute") == sash.sliding("1 hour", every="1 minute")
    assert sash.hopping("1 hour", "1 minute") == sash.sliding("1 hour", every="1 minute")


def test_every_mistake_of_ours_is_caught_as_one_kind(tmp_path: Path) -> None:
    with pytest.raises(SashError):
        sash.online(tmp_path / "nothing")
