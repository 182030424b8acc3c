"""What checkpoints know a query by is the same in every version, whatever Sash's own classes are called."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from sash.runtimes.spark.state import stable_json as plain_module
from sash.runtimes.spark.state.stable_json import plain
from sash.semantics.durations import Unit
from sash.semantics.windows.session import SessionWindow
from tests.state.descriptions import FILE, descriptions, written


def test_queries_are_described_as_they_were_in_0_1_0() -> None:
    """A class or function that was renamed needs a line in `plain.RENAMED`; checkpoints have its old name.
    What is new is added with `make golden`."""
    assert written() == FILE.read_text(encoding="utf-8")


def test_no_description_has_the_name_of_a_module() -> None:
    assert "sash." not in written()
    assert len(descriptions()) > 60


def test_a_class_that_was_moved_and_renamed_is_known_by_its_old_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = ModuleType("sash.elsewhere")
    monkeypatch.setitem(sys.modules, elsewhere.__name__, elsewhere)

    class Visit(SessionWindow):
        __module__ = elsewhere.__name__
        __qualname__ = "Visit"

    kept, moved = SessionWindow(5, Unit.TICKS), Visit(5, Unit.TICKS)
    assert plain(moved) == plain(kept) | {"is": "Visit"}
    monkeypatch.setitem(plain_module.RENAMED, "Visit", "SessionWindow")
    assert plain(moved) == plain(kept)
