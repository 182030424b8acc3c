"""Several namespaces of one place, committed together."""

from __future__ import annotations

from pathlib import Path

import pytest

from sash.errors import ArgumentError, EpochError
from sash.stores import LMDB, Memory


def namespaces(folder: Path, count: int = 3) -> list[LMDB]:
    return [LMDB(folder, namespace=f"n{number}", durable=False) for number in range(count)]


def test_all_namespaces_move_to_the_epoch_and_keep_their_own_values(tmp_path: Path) -> None:
    stores = namespaces(tmp_path)
    for number, store in enumerate(stores[:2]):
        store.put_many({b"k": b"%d" % number})
    LMDB.commit_together(stores, 0)
    assert [store.epoch for store in namespaces(tmp_path)] == [0, 0, 0]
    assert [store.get_many([b"k"]) for store in namespaces(tmp_path)] == [[b"0"], [b"1"], [None]]
    # Once more is nothing more to do, as for a single one.
    LMDB.commit_together(stores, 0)


def test_each_namespace_can_be_taken_back_by_itself(tmp_path: Path) -> None:
    stores = namespaces(tmp_path)
    for store in stores:
        store.put_many({b"k": b"v"})
    LMDB.commit_together(stores, 0)
    stores[1].rollback(-1)
    assert [store.epoch for store in namespaces(tmp_path)] == [0, -1, 0]


def test_when_one_cannot_be_committed_none_is(tmp_path: Path) -> None:
    stores = namespaces(tmp_path)
    stores[0].put_many({b"k": b"v"})
    stores[2].commit(0)
    stores[2].commit(1)
    with pytest.raises(EpochError):
        LMDB.commit_together(stores, 0)
    assert namespaces(tmp_path)[0].epoch == -1


def test_a_failure_between_two_namespaces_leaves_no_trace(tmp_path: Path) -> None:
    stores = namespaces(tmp_path)
    for store in stores:
        store.put_many({b"k": b"v"})

    def die(step: str) -> None:
        raise RuntimeError(step)

    stores[1].on_step = die
    with pytest.raises(RuntimeError):
        LMDB.commit_together(stores, 0)
    assert [store.epoch for store in namespaces(tmp_path)] == [-1, -1, -1]
    stores[1].on_step = lambda step: None
    LMDB.commit_together(stores, 0)
    assert namespaces(tmp_path)[0].get_many([b"k"]) == [b"v"]


def test_namespaces_of_two_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="of one environment"):
        LMDB.commit_together([*namespaces(tmp_path / "a"), *namespaces(tmp_path / "b")], 0)


def test_a_store_without_a_disk_commits_one_after_the_other() -> None:
    stores = [Memory(), Memory()]
    Memory.commit_together(stores, 0)
    assert [store.epoch for store in stores] == [0, 0]
