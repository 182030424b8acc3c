"""Files as a store: an epoch is committed or it is not, whatever a crash leaves behind."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyarrow import fs

from sash.errors import CorruptValue, EpochError, NoSpace
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


def killed_at(number: int, store: Files, action: Callable[[], None]) -> bool:
    """Whether the action has so many steps, at the last of which it was killed."""
    steps = 0

    def step(name: str) -> None:
        nonlocal steps
        steps += 1
        if steps == number:
            raise Killed

    store.on_step = step
    try:
        action()
    except Killed:
        return True
    return False


def cut(manifest: Path, kept: int = 30) -> None:
    manifest.write_bytes(manifest.read_bytes()[:kept])


def test_a_rollback_that_dies_at_any_step_is_done_or_not_done(tmp_path: Path) -> None:
    reached = []
    for number in range(1, 100):
        folder = tmp_path / str(number)
        store = committed(folder, 3)
        if not killed_at(number, store, lambda store=store: store.rollback(1)):
            break
        after = Files(folder)
        reached.append(after.epoch)
        assert after.get_many([b"k"]) == [b"%d" % after.epoch]
        after.rollback(1)
        assert after.get_many([b"k", b"of 2"]) == [b"1", None]
        after.put_many({b"k": b"again"})
        after.commit(2)
        assert Files(folder).get_many([b"k", b"of 1", b"of 2"]) == [b"again", b"x" * 10, None]
    assert reached == [2, 1]


def test_a_rollback_that_dies_inside_a_write_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = committed(tmp_path, 3)

    def cut_short(self: Files, name: str, data: bytes) -> None:
        (tmp_path / "default" / name).write_bytes(data[: len(data) // 2])
        raise Killed

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(Files, "_put", cut_short)
        store.rollback(1)
    after = Files(tmp_path)
    after.rollback(1)
    assert (after.epoch, after.get_many([b"k", b"of 0"])) == (1, [b"1", b"x" * 10])


def test_a_commit_that_dies_while_it_cleans_up_leaves_only_whole_states(tmp_path: Path) -> None:
    for number in range(1, 100):
        folder = tmp_path / str(number)
        store = Files(folder)
        # Each epoch replaces all data of the one before.
        for epoch in range(3):
            store.put_many({b"k": b"%d" % epoch})
            store.commit(epoch)
        store.put_many({b"k": b"3"})
        if not killed_at(number, store, lambda store=store: store.commit(3)):
            break
        after = Files(folder)
        assert after.get_many([b"k"]) == [b"%d" % after.epoch]
        after.rollback(2)
        assert after.get_many([b"k"]) == [b"2"]
        with suppress(EpochError):
            after.rollback(1)
        assert after.get_many([b"k"]) == [b"%d" % after.epoch]
    assert number > 4


def test_an_epoch_is_not_taken_back_to_a_damaged_state(tmp_path: Path) -> None:
    store = committed(tmp_path, 3)
    cut(tmp_path / "default" / "1.state")
    with pytest.raises(CorruptValue, match="state at epoch 1"):
        store.rollback(1)
    assert Files(tmp_path).get_many([b"k"]) == [b"2"]


def test_a_store_without_a_whole_manifest_is_damaged_and_not_new(tmp_path: Path) -> None:
    committed(tmp_path, 3)
    cut(tmp_path / "default" / "1.state")
    cut(tmp_path / "default" / "2.state")
    with pytest.raises(CorruptValue, match=r"epochs 1, 2"):
        Files(tmp_path)


def test_a_handle_looks_again_when_others_commit_while_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = committed(tmp_path, 2)
    listed = store._names()
    for epoch in (2, 3):
        store.put_many({b"k": b"%d" % epoch})
        store.commit(epoch)
    stale, names = [listed], Files._names
    monkeypatch.setattr(Files, "_names", lambda self: stale.pop() if stale else names(self))
    opened = Files(tmp_path)
    assert (opened.epoch, opened.get_many([b"k"])) == (3, [b"3"])


def test_a_first_commit_that_was_cut_short_leaves_a_new_store(tmp_path: Path) -> None:
    committed(tmp_path, 2)
    cut(tmp_path / "default" / "1.state")
    store = Files(tmp_path)
    # Between the removal of what was cut short and that of epoch 0.
    assert killed_at(2, store, lambda: store.rollback(-1))
    store = Files(tmp_path)
    assert (store.epoch, store.get_many([b"k"])) == (0, [b"0"])
    store.rollback(-1)
    assert (Files(tmp_path).epoch, list(Files(tmp_path).keys())) == (-1, [])
    store.commit(0)
    cut(tmp_path / "default" / "0.state")
    assert (Files(tmp_path).epoch, list(Files(tmp_path).keys())) == (-1, [])


def test_a_handle_refuses_its_epoch_when_the_manifest_is_damaged(tmp_path: Path) -> None:
    store = committed(tmp_path, 2)
    # The commit fails after the handle has left the state of epoch 1.
    store.put_many({b"k": b"2"})
    assert killed_at(2, store, lambda: store.commit(2))
    (tmp_path / "default" / "2.state").unlink()
    cut(tmp_path / "default" / "1.state")
    with pytest.raises(CorruptValue, match="state at epoch 1"):
        store.get_many([b"of 0"])


@pytest.mark.parametrize("kept", [0, 1, 30])
def test_a_manifest_that_was_cut_short_is_none(tmp_path: Path, kept: int) -> None:
    committed(tmp_path, 3)
    cut(tmp_path / "default" / "2.state", kept)
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


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """NFS keeps what is removed while it is open under such names."""
    with Files(tmp_path) as store:
        for epoch in range(3):
            (tmp_path / "default").mkdir(exist_ok=True)
            (tmp_path / "default" / f".nfs000{epoch}").touch()
            (tmp_path / "default" / "notes.state").touch()
            store.put_many({b"k": b"%d" % epoch})
            store.commit(epoch)
    assert Files(tmp_path).get_many([b"k"]) == [b"2"]
    assert (tmp_path / "default" / "notes.state").exists()


def test_a_handle_travels_and_file_systems_are_arrows(tmp_path: Path) -> None:
    committed(tmp_path, 1)
    other = Files("", file_system=fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    assert other.get_many([b"k"]) == [b"0"]
    for store in (Files(tmp_path), other):
        assert pickle.loads(pickle.dumps(store)).get_many([b"k"]) == [b"0"]


def test_an_epoch_that_is_executed_again_stays_until_another_one_takes_its_place(tmp_path: Path) -> None:
    first = Files(tmp_path)
    for epoch, value in enumerate((b"a", b"b")):
        first.put_many({b"k": value, b"only %d" % epoch: value})
        first.commit(epoch)
    given_up = Files(tmp_path)
    given_up.fence(5)
    given_up.replace_after(0)
    assert given_up.get_many([b"k", b"only 1"]) == [b"a", None]
    given_up.put_many({b"k": b"never"})
    given_up.close()
    again = Files(tmp_path)
    assert (again.epoch, again.get_many([b"k"])) == (1, [b"b"])
    again.fence(6)
    again.replace_after(0)
    again.put_many({b"k": b"c"})
    again.commit(1)
    assert Files(tmp_path).get_many([b"k", b"only 0", b"only 1"]) == [b"c", b"a", None]
    again.put_many({b"k": b"d"})
    again.commit(2)
    assert Files(tmp_path).committed == (2, 1)


def test_a_commit_in_the_place_of_another_can_be_called_again_when_it_has_failed(tmp_path: Path) -> None:
    store = Files(tmp_path)
    for epoch in range(2):
        store.put_many({b"k": b"%d" % epoch})
        store.commit(epoch)
    again = Files(tmp_path)
    again.replace_after(0)
    again.put_many({b"k": b"other"})

    def fail(step: str) -> None:
        raise OSError(step)

    again.on_step = fail
    with pytest.raises(OSError, match="data"):
        again.commit(1)
    assert Files(tmp_path).get_many([b"k"]) == [b"1"]
    again.on_step = lambda step: None
    again.commit(1)
    assert Files(tmp_path).get_many([b"k"]) == [b"other"]


def test_a_namespace_can_begin_in_the_middle(tmp_path: Path) -> None:
    old = Files(tmp_path)
    old.put_many({b"k": b"old"})
    old.commit(0)
    store = Files(tmp_path)
    store.restart(6)
    store.replace_after(6)
    store.put_many({b"k": b"new"})
    store.commit(7)
    again = Files(tmp_path)
    assert (again.committed, again.get_many([b"k"])) == ((7, 6), [b"new"])
    again.rollback(6)
    assert again.get_many([b"k"]) == [None]
    assert len(list((tmp_path / "default").glob("*.data"))) <= 1


@pytest.mark.parametrize("kept", [0, 30])
def test_a_namespace_that_was_to_begin_in_the_middle_when_the_disk_was_full_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    committed(tmp_path, 2)

    def cut_short(self: Files, name: str, data: bytes) -> None:
        (tmp_path / "default" / name).write_bytes(data[:kept])
        raise NoSpace(name)

    store = Files(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Files, "_put", cut_short)
        with pytest.raises(NoSpace, match=r"6\.state"):
            store.restart(6)
    store = Files(tmp_path)
    assert (store.epoch, list(store.keys())) == (-1, [])
    with pytest.raises(EpochError, match="keeps none"):
        store.replace_after(6)
    store.restart(6)
    store.put_many({b"k": b"new"})
    store.commit(7)
    assert Files(tmp_path).get_many([b"k"]) == [b"new"]


def test_a_namespace_that_kept_nothing_and_has_no_whole_manifest_is_not_at_its_epoch(
    tmp_path: Path,
) -> None:
    store = Files(tmp_path)
    for epoch in range(3):
        store.commit(epoch)
    for epoch in (1, 2):
        cut(tmp_path / "default" / f"{epoch}.state", 0)
    with pytest.raises(EpochError, match="the store is at epoch -1"):
        Files(tmp_path).replace_after(2)
