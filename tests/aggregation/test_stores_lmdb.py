"""What only the LMDB store promises: sharing between processes and threads, growth, views in place."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import pytest

from sash.aggregation.stores import lmdb_environment as environment
from sash.errors import ArgumentError, CorruptValue, EpochError, StoreError
from sash.runtimes.spark.epochs.store_of_state import OpenStores, StateLocation
from sash.stores import LMDB
from tests.aggregation.forks import in_child

SMALL = 1 << 16


def filled(path: Path, **options: object) -> LMDB:
    store = LMDB(path, durable=False, **options)
    store.put_many({b"a": b"1", b"b": b"2"})
    store.commit(0)
    return store


def test_a_store_that_is_closed_and_opened_again_is_where_it_was(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with LMDB(tmp_path) as store:
        assert (store.epoch, store.get_many([b"a", b"b", b"c"])) == (0, [b"1", b"2", None])


def test_an_uncommitted_delta_does_not_survive_its_process(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.put_many({b"a": b"uncommitted"})
    store.close()
    with LMDB(tmp_path) as again:
        assert again.get_many([b"a"]) == [b"1"]


def test_the_map_grows_by_itself(tmp_path: Path) -> None:
    with LMDB(tmp_path, map_size=SMALL, durable=False) as store:
        for epoch in range(4):
            store.put_many({bytes([epoch, i]): os.urandom(1 << 16) for i in range(16)})
            store.commit(epoch)
        assert store.map_size >= 4 * 16 << 16
        assert all(value is not None for value in store.get_many(list(store.keys())))


def test_another_process_that_grows_the_map_is_followed(tmp_path: Path) -> None:
    with LMDB(tmp_path, map_size=SMALL, durable=False) as store:

        def grow() -> None:
            with LMDB(tmp_path, map_size=SMALL, durable=False) as other:
                other.put_many({bytes([i]): os.urandom(1 << 16) for i in range(64)})
                other.commit(0)

        assert in_child(grow) == 0
        store.rollback(0)
        assert len(list(store.keys())) == 64
        assert all(len(value or b"") == 1 << 16 for value in store.get_many(list(store.keys())))
        store.put_many({b"\xff": os.urandom(8 << 20)})
        store.commit(1)


def test_a_handle_works_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    store = filled(tmp_path)

    def child() -> None:
        assert store.get_many([b"a"]) == [b"1"]
        store.put_many({b"a": b"from the child"})
        store.commit(1)
        store.close()

    assert in_child(child) == 0
    store.rollback(1)
    assert store.get_many([b"a"]) == [b"from the child"]
    store.put_many({b"b": b"from the parent"})
    store.commit(2)
    store.close()


def test_a_fork_inside_a_view_leaves_the_parents_view_alone_and_is_refused_in_the_child(
    tmp_path: Path,
) -> None:
    with filled(tmp_path) as store, store.reading() as view:

        def child() -> None:
            with pytest.raises(StoreError, match="was forked inside"):
                store.get_many([b"a"])

        assert in_child(child) == 0
        for epoch in range(1, 20):
            store.put_many({b"a": os.urandom(1 << 12)})
            store.commit(epoch)
        assert [bytes(value) for value in view.get_many([b"a", b"b"])] == [b"1", b"2"]


def test_a_fork_waits_for_the_views_of_other_threads(tmp_path: Path) -> None:
    inside, leave = threading.Event(), threading.Event()
    with filled(tmp_path) as store, ThreadPoolExecutor(1) as pool:

        def look() -> None:
            with store.reading():
                inside.set()
                leave.wait(10)

        reader = pool.submit(look)
        inside.wait(10)
        threading.Timer(0.1, leave.set).start()
        assert in_child(lambda: store.get_many([b"a"])) == 0
        reader.result(10)


def test_a_pickled_handle_opens_the_same_namespace_of_the_same_path(tmp_path: Path) -> None:
    with filled(tmp_path, namespace="bucket-7") as store, pickle.loads(pickle.dumps(store)) as twin:
        assert (twin.path, twin.namespace, twin.epoch) == (store.path, "bucket-7", 0)
        assert twin.get_many([b"a"]) == [b"1"]


def test_a_handle_with_uncommitted_keys_is_not_pickled(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        store.put_many({b"a": b"3"})
        with pytest.raises(StoreError, match="1 uncommitted keys cannot be sent to another process"):
            pickle.dumps(store)


def test_a_handle_that_another_one_overtook_refuses_to_read_a_mixture(tmp_path: Path) -> None:
    with filled(tmp_path) as slow, LMDB(tmp_path, durable=False) as fast:
        fast.put_many({b"a": b"newer"})
        fast.commit(1)
        with pytest.raises(EpochError, match=r"epoch 0 cannot be read any more.*rollback\(1\) adopts"):
            slow.get_many([b"a", b"b"])
        with pytest.raises(EpochError):
            list(slow.keys())
        slow.rollback(1)
        assert slow.get_many([b"a", b"b"]) == [b"newer", b"2"]


def test_two_handles_that_execute_the_same_epoch_commit_it_once(tmp_path: Path) -> None:
    with filled(tmp_path) as one, LMDB(tmp_path, durable=False) as two:
        for store, value in ((one, b"first"), (two, b"second")):
            store.put_many({b"n": value})
            store.commit(1)
        assert (one.epoch, two.epoch) == (1, 1)
        assert two.get_many([b"n"]) == [b"first"]


def test_a_handle_that_was_left_behind_by_two_epochs_cannot_commit(tmp_path: Path) -> None:
    with filled(tmp_path) as slow, LMDB(tmp_path, durable=False) as fast:
        fast.commit(1)
        fast.commit(2)
        slow.put_many({b"a": b"late"})
        with pytest.raises(EpochError, match="which another process has committed"):
            slow.commit(1)
        assert fast.get_many([b"a"]) == [b"1"]


def test_views_are_read_in_place_and_see_one_state(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        with store.reading() as view:
            (before,) = view.get_many([b"a"])
            assert isinstance(before, memoryview)
            store.put_many({b"a": b"9"})
            store.commit(1)
            assert (view.epoch, bytes(before)) == (0, b"1")
            assert [bytes(value) for value in view.get_many([b"a"])] == [b"1"]
        with store.reading() as view:
            assert (view.epoch, bytes(view.get_many([b"a"])[0])) == (1, b"9")


def test_growing_inside_a_view_of_the_same_thread_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    with LMDB(tmp_path, map_size=SMALL, durable=False) as store:
        store.put_many({b"big": os.urandom(1 << 20)})
        with store.reading(), pytest.raises(StoreError, match=r"cannot do inside `with store.reading\(\)`"):
            store.commit(0)
        store.commit(0)
        assert len(store.get_many([b"big"])[0] or b"") == 1 << 20


def test_growing_waits_for_the_views_of_other_threads(tmp_path: Path) -> None:
    with LMDB(tmp_path, map_size=SMALL, durable=False) as store, LMDB(tmp_path, durable=False) as other:
        inside, leave = threading.Event(), threading.Event()

        def look() -> None:
            with other.reading():
                inside.set()
                leave.wait(10)

        with ThreadPoolExecutor(2) as pool:
            reader = pool.submit(look)
            inside.wait(10)
            store.put_many({b"big": os.urandom(1 << 20)})
            writer = pool.submit(store.commit, 0)
            assert not writer.done()
            leave.set()
            writer.result(10)
            reader.result(10)
        assert store.epoch == 0


def test_namespaces_share_one_file_and_move_apart(tmp_path: Path) -> None:
    with filled(tmp_path, namespace="one") as one, LMDB(tmp_path, namespace="two", durable=False) as two:
        assert two.epoch == -1
        two.put_many({b"a": b"of two"})
        two.commit(0)
        one.rollback(-1)
        assert (list(one.keys()), two.get_many([b"a"])) == ([], [b"of two"])


def test_the_file_is_closed_with_its_last_handle(tmp_path: Path) -> None:
    one, two = filled(tmp_path), LMDB(tmp_path, durable=False)
    one.close()
    assert two.get_many([b"a"]) == [b"1"]
    two.close()
    lmdb.open(str(tmp_path), max_dbs=4).close()


@pytest.mark.parametrize("damage", [b"garbage", b"", b"SASH" + bytes(30)])
def test_a_damaged_value_is_an_error_that_names_its_key(tmp_path: Path, damage: bytes) -> None:
    with filled(tmp_path) as store:
        shared = environment.acquire(store.path, map_size=SMALL, durable=False)
        shared.write(lambda txn: txn.put(b"default\0a", damage, db=shared.live))
        with pytest.raises(CorruptValue, match="b'a'"):
            store.get_many([b"b", b"a"])
        assert store.get_many([b"b"]) == [b"2"]
        with store.reading() as view, pytest.raises(CorruptValue, match="b'a'"):
            view.get_many([b"a"])
        environment.release(shared)


def test_a_damaged_epoch_is_an_error_and_not_epoch_nothing(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with lmdb.open(str(tmp_path), max_dbs=4) as foreign, foreign.begin(write=True) as txn:
        txn.put(b"default\0", b"oops", db=foreign.open_db(b"meta", txn=txn))
    with pytest.raises(CorruptValue, match="default"):
        LMDB(tmp_path)
    lmdb.open(str(tmp_path), max_dbs=4).close()  # which a process can do once at a time


def test_a_path_that_is_no_directory_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be opened"):
        LMDB(tmp_path / "file")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"namespace": "with space"}, "namespace must be 1 to 100 letters"),
        ({"namespace": ""}, "namespace must be"),
        ({"map_size": 10}, "map_size must be a number of bytes, at least 65536"),
    ],
)
def test_unusable_options_are_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        LMDB(tmp_path, **options)


def test_handles_that_disagree_about_durability_are_refused(tmp_path: Path) -> None:
    with filled(tmp_path), pytest.raises(ArgumentError, match="durable must be False"):
        LMDB(tmp_path, durable=True)


def test_a_key_that_lmdb_cannot_hold_is_refused_with_the_limit(tmp_path: Path) -> None:
    with filled(tmp_path) as store, pytest.raises(ArgumentError, match="key must be at most 503 bytes"):
        store.put_many({b"k" * 504: b""})


def test_a_reader_that_was_killed_holds_no_pages(tmp_path: Path) -> None:
    """Its version would be kept, and no page used again, for as long as others have the store open."""

    def grown(folder: Path, *, killed: bool) -> int:
        with filled(folder) as store:
            if killed:
                program = (
                    "import lmdb, os, signal, sys\n"
                    f"reader = lmdb.open({str(folder)!r}, max_dbs=8, max_readers=1024).begin()\n"
                    "os.kill(os.getpid(), signal.SIGKILL)\n"
                )
                subprocess.run([sys.executable, "-c", program], check=False)
            for epoch in range(1, 60):
                store.put_many({b"a": os.urandom(20_000)})
                store.commit(epoch)
            return sum(file.stat().st_blocks for file in folder.rglob("*"))

    assert grown(tmp_path / "b", killed=True) <= 2 * grown(tmp_path / "a", killed=False)


def test_nothing_of_the_memory_of_a_process_is_in_the_file(tmp_path):
    """Pages are not full. What was in memory before them may be a password."""
    secret = b"correct horse battery staple"
    for _ in range(3):
        held = [bytearray(secret * (size // len(secret))) for size in [4096, 8192, 16384] * 200]
        del held
        with LMDB(tmp_path) as store:
            store.put_many({b"%d" % number: bytes(1500) for number in range(200)})
            store.commit(store.epoch + 1)
    assert secret not in (tmp_path / "data.mdb").read_bytes()


def test_a_worker_opens_a_store_again_that_was_deleted_and_begun_again(tmp_path: Path) -> None:
    """As when a checkpoint is deleted, and its query started again in the same session."""
    folder, workers = tmp_path / "state", OpenStores()
    location = StateLocation(str(folder))
    first = [workers.store(location, bucket) for bucket in (0, 1)]
    for store in first:
        store.put_many({b"k": b"old"})
        store.commit(0)
    assert workers.store(location, 0) is first[0]
    shutil.rmtree(folder)
    with location.open("bucket-1") as begun:
        begun.put_many({b"k": b"new"})
        begun.commit(0)
    again = [workers.store(location, bucket) for bucket in (0, 1)]
    assert [(store.epoch, store.get_many([b"k"])) for store in again] == [(-1, [None]), (0, [b"new"])]
    assert workers.store(location, 1) is again[1]
    LMDB.commit_together(again[1:], 0)
    LMDB.fence_together(again, 7)


@pytest.mark.parametrize("comes", ["the same query", "another query"])
def test_a_worker_lets_go_of_every_store_that_was_deleted(tmp_path: Path, comes: str) -> None:
    """Also of buckets that it serves no more: a file that is open keeps its blocks on the disk."""
    folder, workers = tmp_path / "state", OpenStores()
    location = StateLocation(str(folder))
    stores = [workers.store(location, bucket) for bucket in range(3)]
    shutil.rmtree(folder)
    workers.store(location if comes == "the same query" else StateLocation(str(tmp_path / "other")), 0)
    for store in stores:
        with pytest.raises(StoreError, match="is closed"):
            store.get_many([b"k"])
    held = [path for process, path, _ in environment._open if path.startswith(str(tmp_path))]
    assert len(held) == 1
