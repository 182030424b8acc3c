"""The arenas of a streaming query in local mode go when it ends, however it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from sash.operators.arena import ArenaHome, TableSpec
from sash.runtimes.spark.state.arenas import remove_when_ended

TABLES = {"rows": TableSpec(2)}
MINE, OTHERS = "11f0.00", "22e1.00"


@pytest.fixture
def home() -> Iterator[ArenaHome]:
    found = ArenaHome.default()
    yield found
    for name in (MINE, OTHERS):
        found.remove(name)


def fill(home: ArenaHome, name: str) -> Path:
    """An arena with something in it, which nobody holds."""
    arena = home.open(name, TABLES, b"a query")
    assert arena is not None
    arena.begin()
    arena.reserve("rows", 10)
    arena.commit(b"0123456789abcdef")
    arena.close()
    return home.folder / name


def session(master: str) -> Any:
    """As much of a Spark session as is looked at."""
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=dict))


class Query:
    """A streaming query that ends when it is told to."""

    id = "11f0"

    def __init__(self, *, fails: bool = False) -> None:
        self.ended, self.fails = Event(), fails

    def awaitTermination(self) -> None:
        self.ended.wait(30)
        if self.fails:
            raise RuntimeError("a task was killed")


def is_gone(folder: Path) -> bool:
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not folder.exists()


@pytest.mark.parametrize("fails", [False, True])
def test_its_arenas_go_when_a_query_ends_and_those_of_others_stay(home: ArenaHome, fails: bool) -> None:
    mine, others, query = fill(home, MINE), fill(home, OTHERS), Query(fails=fails)
    remove_when_ended(query, session("local[2]"))
    assert mine.exists()
    query.ended.set()
    assert is_gone(mine)
    assert others.exists()


def test_on_a_cluster_executors_remove_their_own(home: ArenaHome) -> None:
    mine, query = fill(home, MINE), Query()
    query.ended.set()
    remove_when_ended(query, session("spark://somewhere:7077"))
    time.sleep(0.05)
    assert mine.exists()
