"""Windows in words: what can be written, and what is refused with which hint."""

from __future__ import annotations

import pytest

from sash.api.window_parser import _KINDS, window_of
from sash.errors import SashError
from sash.semantics import windows
from sash.semantics.window import Window


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("sliding 1 hour every 1 second", windows.sliding("1 hour", every="1 second")),
        ("sliding 10 every 5 origin -2", windows.sliding(10, every=5, origin=-2)),
        ("sliding 1 hour 30 minutes every 90s", windows.sliding("90 minutes", every="90 seconds")),
        ("  Tumbling  5 minutes ", windows.tumbling("5 minutes")),
        ("tumbling 1 day origin 6 hours", windows.tumbling("1 day", origin="6 hours")),
        ("sliding 1 minute every 5 minutes", windows.sliding("1 minute", every="5 minutes")),
        ("hopping 1 hour every 1 minute", windows.sliding("1 hour", every="1 minute")),
        ("rows 100", windows.rows(100)),
        ("rows 100 every 10", windows.rows(100, every=10)),
        ("session 10 minutes", windows.session("10 minutes")),
        ("slide_by_tuple 5 minutes every 10", windows.slide_by_tuple("5 minutes", 10)),
        ("lifetime", windows.lifetime()),
        ("lifetime every 5 as all", windows.lifetime(every=5).named("all")),
        ("slide_by_time 10 every 1 minute origin 1 s", windows.slide_by_time(10, "1 minute", origin="1 s")),
        ("cumulate 1 day step 1 hour", windows.cumulate("1 day", "1 hour")),
        ("delta km 5 every 4", windows.delta("km", 5, 4)),
        ("delta trip km 2.5 closed right every 1", windows.delta("trip km", 2.5, 1, closed="right")),
        ("rows 3 as short", windows.rows(3).named("short")),
    ],
)
def test_words_say_a_window(words: str, window: Window) -> None:
    assert window_of(words) == window


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "words such as 'sliding 1 hour every 1 second'"),
        ("slidng 1 hour every 1 second", "Did you mean 'sliding <duration> every <duration>"),
        ("wibble 3", "begins with one of sliding, tumbling"),
        ("sliding 1 hour", "It lacks 'every'"),
        ("sliding", "It lacks a size"),
        ("sliding every 1 second", "It lacks a size"),
        ("sliding 1 hour every", "Nothing follows 'every'"),
        ("sliding 1 hour every 1 second every 2 seconds", "'every' occurs twice"),
        ("tumbling 5 minutes every 1 minute", "tumbling takes no 'every'; sliding does"),
        ("sliding 1 huor every 1 second", "'hour' instead of 'huor'"),
        ("sliding 1 hour every 60", "every must be in the same unit as size"),
        ("rows 1 hour", "size must be a positive whole number of events; got '1 hour'"),
        ("delta km far every 4", "size must be a number"),
        ("delta 5 every 4", "attribute must be the name of a numeric column"),
        ("delta km 5 every 4 closed both", "closed must be 'left' or 'right'"),
        ("lifetime 1 hour", "It has no size"),
        ("threshold price > 100", r"In Python, use sash.threshold\(…\)"),
    ],
)
def test_words_that_say_no_window_are_refused_with_what_would_work(words: str, message: str) -> None:
    with pytest.raises(SashError, match=message):
        window_of(words)


def test_every_kind_that_needs_no_function_has_words() -> None:
    kinds = {name for name in windows.__all__ if not name.endswith("Window")} - {"time"}
    assert {form.shown.split()[0] for form in _KINDS.values()} == kinds - {
        "policy",
        "threshold",
        "punctuated",
    }
