"""Triggers: one set of words for `start(…)` and for pipeline files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sash.errors import ArgumentError
from sash.runtimes.trigger import AVAILABLE_NOW, ONCE, Trigger


@pytest.mark.parametrize(
    "words", ["available now", "available-now", "available_now", "availableNow", " Available  Now "]
)
def test_available_now_has_one_meaning_however_it_is_written(words: str) -> None:
    assert Trigger.parse(words, "trigger") == AVAILABLE_NOW
    assert AVAILABLE_NOW.bounded


@pytest.mark.parametrize(
    "given",
    [
        "5 seconds",
        "processing_time 5 seconds",
        "processingTime 5 s",
        "processing time 5 s",
        timedelta(seconds=5),
    ],
)
def test_a_duration_is_how_often_a_micro_batch_begins(given: Any) -> None:
    trigger = Trigger.parse(given, "trigger")
    assert trigger.spark == {"processingTime": "5000000 microseconds"}
    assert not trigger.bounded


def test_once_is_what_it_is_for_spark() -> None:
    assert Trigger.parse("once", "trigger") == ONCE
    assert ONCE.spark == {"once": True}


@pytest.mark.parametrize("wrong", ["hourly", "processing_time", "available", 5, None, 2.5, ""])
def test_what_is_no_trigger_is_told_what_would_be_one(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="'available now', 'once' or a duration such as '5 seconds'"):
        Trigger.parse(wrong, "trigger")
