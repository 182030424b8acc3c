"""The arenas of a streaming query in local mode go when it ends, however it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from sash.operators.arena import ArenaHome, TableSpec
from sash.runtimes.spark.state import arenas
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


def test_an_arena_that_a_task_still_works_on_goes_when_the_task_has_ended(
    home: ArenaHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arenas, "PAUSES", (0.05,) * 100)
    folder, query = fill(home, MINE), Query()
    held = home.open(MINE, TABLES, b"a query")
    assert held is not None
    remove_when_ended(query, session("local[2]"))
    query.ended.set()
    time.sleep(0.6)  # longer than one attempt waits for the lock
    assert folder.exists()
    held.close()
    assert is_gone(folder)


def test_arenas_of_killed_applications_are_found_beside_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark gives each application a folder of its own, which stays when it is killed."""
    monkeypatch.delenv("SASH_ARENA_DIR")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "blockmgr-mine"))
    folders = []
    for application in ("mine", "killed"):
        own = tmp_path / f"blockmgr-{application}"
        own.mkdir()
        place = ArenaHome(own / f"sash-arenas-{os.getuid()}")
        place.folder.mkdir(mode=0o700)
        folders.append(fill(place, OTHERS))
    found = {place.folder for place in ArenaHome.on_this_machine(tmp_path)}
    assert found == {folder.parent for folder in folders}
    monkeypatch.setattr("sash.operators.arena.arena_folder.is_gone", lambda owner: True)
    monkeypatch.setattr("sash.operators.arena.arena_folder._swept", {})
    ArenaHome.default().clean_up()
    assert not any(folder.exists() for folder in folders)
