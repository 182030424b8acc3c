"""Calls that do not fit a signature, and words of other libraries: each error has what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.api.window_parser import window_of
from sash.errors import ArgumentError, WrongCall
from sash.wrong_calls import called_as

TABLE = pa.table({"ts": [1, 2], "card": ["a", "b"], "x": [1.0, 2.0]})
STREAM: Any = sash.stream(TABLE, time="ts", key="card")
WINDOWED: Any = STREAM.window(sash.tumbling(10))
QUERY: Any = WINDOWED.agg(n=sash.count())
ANY: Any = sash


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: QUERY.start("o", checkpointLocation="c"), "start() has no argument 'checkpointLocation'. "
         "Write checkpoint='…'."),
        (lambda: QUERY.start("o", outputMode="append"), "start() has no argument 'outputMode'. When "
         "windows are emitted is declared before: .window(…, emit='close')."),
        (lambda: QUERY.start(checkpoint="c"), "start() needs sink. It is a folder, a sash.sinks.…, or a "
         "function of a DataFrame and its batch number: start('folder', checkpoint='…')."),
        (lambda: ANY.stream(TABLE, "ts", "card"), "sash.stream() takes 1 argument by position, others by "
         "name. Write sash.stream(data, time='ts', key='card')."),
        (lambda: ANY.stream(TABLE), "sash.stream() needs time. Write sash.stream(data, "
         "time='ts', key='card')."),
        (lambda: ANY.stream(TABLE, time="ts", watermark="5 minutes"), "sash.stream() has no argument "
         "'watermark'. Write delay='5 minutes'."),
        (lambda: STREAM.rolling(5, every=1), "rolling() has no argument 'every'. It has a row per "
         "event. For fixed times use .window(sash.sliding(size, every=…))."),
        (lambda: STREAM.join(TABLE, "symbol", "left"), "join() takes 1 argument by position, others by "
         "name. Write join(other, within='1 minute'), or of a table join(table, on='column', how='left')."),
        (lambda: ANY.tumbling(10, every=5), "sash.tumbling() has no argument 'every'. Its windows follow "
         "each other; for overlapping ones write sash.sliding(size, every=…)."),
        (lambda: ANY.max(), "sash.max() needs column. Write sash.max(column, where=…)."),
        (lambda: ANY.sum("x", "y"), "sash.sum() takes 1 argument by position, others by name. Write "
         "sash.sum(column, where=…, exact=…)."),
        (lambda: ANY.sum("x", wher="x > 1"), "sash.sum() has no argument 'wher'. Did you mean 'where'?"),
        (lambda: WINDOWED.apply(print), "apply() needs schema. Write apply(fn, schema='slope double, n "
         "bigint')."),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit_shows_what_to_write(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(WrongCall) as refused:
        call()
    assert str(refused.value) == message
    assert isinstance(refused.value, TypeError)


def test_a_type_error_from_inside_of_a_call_stays_what_it_is() -> None:
    @called_as("wrong()")
    def wrong() -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        wrong()


@pytest.mark.parametrize("how", ["left_outer", "leftouter"])
def test_the_words_of_pyspark_for_outer_joins_are_known(how: str) -> None:
    for call in (
        lambda: STREAM.join(STREAM, within=5, how=how),
        lambda: STREAM.join(TABLE, on="x", how=how),
    ):
        with pytest.raises(ArgumentError, match=r"Did you mean 'left'\?$"):
            call()


@pytest.mark.parametrize("call", [lambda one: one.apply(print), lambda one: one.fold(print)])
def test_rolling_refuses_apply_before_its_arguments(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^rolling\(\) supports only \.agg\(\)\."):
        call(STREAM.rolling(5))


def test_a_star_is_no_column() -> None:
    with pytest.raises(ArgumentError, match=r"^count\('\*'\) is count\(\) here$"):
        sash.count("*")


def test_rows_of_a_join_become_a_stream() -> None:
    pairs: Any = STREAM.join(STREAM, within=5)
    for name in ("window", "agg"):
        with pytest.raises(AttributeError, match=r"another stream: sash\.stream\(query\.dataframe\(\)"):
            getattr(pairs, name)


def test_a_stream_has_no_rows_to_show() -> None:
    arriving: Any = sash.stream(iter([TABLE]), time="ts").window(sash.tumbling(10)).agg(n=sash.count())
    with pytest.raises(AttributeError, match=r"\.start\(lambda rows, batch: rows\.show\(\), "):
        arriving.show()
    with pytest.raises(AttributeError, match=r"Use \.head\(\)"):
        QUERY.show()


@pytest.mark.parametrize("words", ["tumbling 1 minut evry", "tumbling 1 minut every 5 seconds"])
def test_a_slip_and_a_clause_too_many_are_both_named(words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        window_of(words)
    assert "Did you mean 'minute' instead of 'minut'" in str(refused.value)
    assert str(refused.value).endswith("tumbling takes no 'every'; sliding does.")


def test_rows_takes_every_by_position_as_sliding_does() -> None:
    assert sash.rows(100, 10) == sash.rows(100, every=10)
