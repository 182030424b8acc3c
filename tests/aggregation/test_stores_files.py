"""Files as a store: an epoch is committed or it is not, whatever a crash leaves behind."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pyarrow import fs

from sash.stores import Files


class Killed(Exception):
    pass


def committed(folder: Path, epochs: int) -> Files:
    store = Files(folder)
    for epoch in range(epochs):
        store.put_many({b"k": b"%d" % epoch, b"of %d" % epoch: b"x" * 10})
        store.commit(epoch)
    return store


@pytest.mark.parametrize(("step", "epoch"), [("data", 1), ("manifest", 2)])
def test_a_commit_that_dies_is_done_or_not_done(tmp_path: Path, step: str, epoch: int) -> None:
    store = committed(tmp_path, 2)

    def die(reached: str) -> None:
        if reached == step:
            raise Killed

    store.on_step = die
    store.put_many({b"k": b"new"})
    with pytest.raises(Killed):
        store.commit(2)
    after = Files(tmp_path)
    assert after.epoch == epoch
    assert after.get_many([b"k"]) == [b"1" if epoch == 1 else b"new"]
    # As a batch that is executed again.
    after.rollback(1)
    after.put_many({b"k": b"again"})
    after.commit(2)
    assert Files(tmp_path).get_many([b"k", b"of 0"]) == [b"again", b"x" * 10]


@pytest.mark.parametrize("kept", [0, 1, 30])
def test_a_manifest_that_was_cut_short_is_none(tmp_path: Path, kept: int) -> None:
    committed(tmp_path, 3)
    manifest = tmp_path / "default" / "2.state"
    manifest.write_bytes(manifest.read_bytes()[:kept])
    store = Files(tmp_path)
    assert (store.epoch, store.get_many([b"k", b"of 2"])) == (1, [b"1", None])
    store.put_many({b"k": b"2"})
    store.commit(2)
    assert Files(tmp_path).get_many([b"k"]) == [b"2"]


def test_only_what_two_states_need_is_kept(tmp_path: Path) -> None:
    store = Files(tmp_path)
    for epoch in range(20):
        store.put_many({b"k": b"%d" % epoch})
        store.commit(epoch)
    names = sorted(path.name for path in (tmp_path / "default").iterdir())
    assert [name for name in names if name.endswith(".state")] == ["18.state", "19.state"]
    assert len(names) == 4


def test_a_handle_travels_and_file_systems_are_arrows(tmp_path: Path) -> None:
    committed(tmp_path, 1)
    other = Files("", file_system=fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    assert other.get_many([b"k"]) == [b"0"]
    for store in (Files(tmp_path), other):
        assert pickle.loads(pickle.dumps(store)).get_many([b"k"]) == [b"0"]
