"""Arenas: what they keep, who may change them, and when they are not trusted."""

from __future__ import annotations

import errno
import fcntl
import gc
import multiprocessing
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash import disk_space
from sash.errors import ArgumentError, NoSpace, StoreError
from sash.operators.arena import (
    Arena,
    ArenaHome,
    GrowingArray,
    TableSpec,
    arena_folder as home_module,
    head as head_module,
    owners,
)
from tests.skips import skip_and_note

TABLES = {"keys": TableSpec(3), "chunks": TableSpec(1), "heap": TableSpec(1, "uint8")}
V1, V2 = b"1" * 16, b"2" * 16


def opened(folder: Path, *, identity: bytes = b"query", tables: Any = TABLES, wait: float = 0.02) -> Arena:
    arena = Arena.open(folder, tables, identity=identity, wait=wait)
    assert arena is not None
    return arena


def fill(arena: Arena, version: bytes = V1, *, rows: int = 100) -> None:
    """A state that `is_filled` knows again."""
    arena.begin()
    for name in TABLES:
        arena.reserve(name, rows)
    arena.ints("keys")[:rows, 1] = np.arange(rows)
    arena.floats("chunks")[:rows, 0] = np.arange(rows) / 4
    arena.bytes_of("heap")[:5] = np.frombuffer(b"bytes", np.uint8)
    arena.numbers[7] = rows
    arena.put_blob("open", b"waiting events")
    arena.commit(version)


def is_filled(arena: Arena, version: bytes = V1, *, rows: int = 100) -> bool:
    return (
        arena.version == version
        and arena.numbers[7] == rows
        and np.array_equal(arena.ints("keys")[:rows, 1], np.arange(rows))
        and np.array_equal(arena.floats("chunks")[:rows, 0], np.arange(rows) / 4)
        and arena.bytes_of("heap")[:5].tobytes() == b"bytes"
        and arena.get_blob("open") == b"waiting events"
    )


def is_empty(arena: Arena) -> bool:
    return (
        arena.version == b""
        and not arena.numbers.any()
        and not len(arena.ints("keys"))
        and not len(arena.floats("chunks"))
        and not len(arena.bytes_of("heap"))
        and arena.get_blob("open") == b""
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "arena"


def in_another_process(target: Callable[..., Any], *args: Any) -> Any:
    """What a forked process returns; its death is an EOFError."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_reply, args=(theirs, target, args))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    finally:
        process.join()


def _reply(pipe: Any, target: Callable[..., Any], args: tuple[Any, ...]) -> None:
    pipe.send(target(*args))


# -- growing arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_file", [False, True])
def test_growth_keeps_rows_and_adds_zeros(tmp_path: Path, in_file: bool) -> None:
    array = GrowingArray(3, np.int64, file=tmp_path / "rows" if in_file else None)
    assert array.array.shape == (0, 3)
    written = 0
    for rows in (1, 5, 1000, 1001, 40_000):
        array.reserve(rows)
        assert array.capacity >= rows
        assert not array.array[written:].any()
        array.array[written:rows] = np.arange(written, rows)[:, None]
        written = rows
        assert (array.array[:rows] == np.arange(rows)[:, None]).all()


def test_growth_doubles(tmp_path: Path) -> None:
    array = GrowingArray(1, np.int64, file=tmp_path / "rows")
    array.reserve(1000)
    before = array.capacity
    array.reserve(before + 1)
    assert array.capacity == 2 * before


def test_an_old_view_of_a_file_shows_what_is_written_later(tmp_path: Path) -> None:
    array = GrowingArray(1, np.int64, file=tmp_path / "rows")
    array.reserve(10)
    old = array.array
    array.reserve(10**6)
    array.array[3] = 5
    assert old[3] == 5


def test_growth_reserves_blocks_of_the_disk(tmp_path: Path) -> None:
    array = GrowingArray(1, np.int64, file=tmp_path / "rows")
    array.reserve(10**6)
    assert (tmp_path / "rows").stat().st_blocks * 512 >= 8 * 10**6


def test_growth_reserves_blocks_where_the_system_has_no_call_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    test_growth_reserves_blocks_of_the_disk(tmp_path)


@pytest.mark.parametrize("code", sorted(disk_space._NOT_OFFERED))
def test_growth_reserves_blocks_where_the_file_system_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuses(*_: Any) -> None:
        raise OSError(code, "not offered")

    monkeypatch.setattr(os, "posix_fallocate", refuses)
    test_growth_reserves_blocks_of_the_disk(tmp_path)


# -- what an arena keeps -------------------------------------------------------------------------------


def test_what_was_committed_is_there_when_the_arena_is_opened_again(folder: Path) -> None:
    arena = opened(folder)
    assert is_empty(arena)
    fill(arena)
    arena.close()
    assert is_filled(opened(folder))


def test_what_was_committed_is_there_in_another_process(folder: Path) -> None:
    in_another_process(lambda: fill(opened(folder)))
    assert is_filled(opened(folder))


def test_floats_are_the_memory_of_ints() -> None:
    arena = Arena.anonymous(TABLES)
    arena.reserve("keys", 5)
    arena.floats("keys")[2, 1] = 1.5
    assert arena.ints("keys")[2, 1] == struct.unpack("<q", struct.pack("<d", 1.5))[0]
    assert arena.floats("keys") is arena.floats("keys")


def test_an_anonymous_arena_needs_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was touched")

    for call in ("open", "mkdir", "stat", "scandir"):
        monkeypatch.setattr(os, call, refuses)
    arena = Arena.anonymous(TABLES)
    fill(arena)
    arena.release()
    assert arena.acquire()
    assert is_filled(arena)
    arena.clear()
    assert is_empty(arena)
    arena.close()


def test_a_blob_is_replaced_as_a_whole(folder: Path) -> None:
    arena = opened(folder)
    for data in (b"", b"a long one" * 1000, b"short", memoryview(np.arange(3)), bytearray(b"x"), b""):
        arena.put_blob("open", data)
        assert arena.get_blob("open") == bytes(data)
    assert arena.get_blob("never put") == b""


def test_size_counts_tables_and_blobs(folder: Path) -> None:
    for arena in (opened(folder), Arena.anonymous(TABLES)):
        fill(arena, rows=10_000)
        assert 10_000 * (24 + 8 + 1) < arena.size < 2 * 10_000 * (24 + 8 + 1) + 20_000


def test_files_belong_to_their_user_alone(folder: Path) -> None:
    mask = os.umask(0)
    try:
        fill(opened(folder))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert {file.name for file in files} == {
        "head",
        "keys.table",
        "chunks.table",
        "heap.table",
        "open.blob",
    }
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_version_is_16_bytes_that_are_not_zero() -> None:
    for version in (b"", b"short", bytes(16)):
        with pytest.raises(ArgumentError, match="version must be 16 bytes"):
            Arena.anonymous(TABLES).commit(version)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "n" * 201])
def test_names_are_names_of_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError):
        Arena.anonymous({name: TableSpec()})
    with pytest.raises(ArgumentError):
        Arena.anonymous(TABLES).put_blob(name, b"")
    with pytest.raises(ArgumentError):
        ArenaHome(tmp_path).remove(name)


def test_more_tables_than_a_head_can_list_are_refused(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="fewer tables"):
        opened(folder, tables={f"table_with_a_long_name_{i}": TableSpec() for i in range(300)})
    assert is_empty(opened(folder))


def test_a_cleared_arena_is_empty_and_gives_its_disk_back(folder: Path) -> None:
    arena = opened(folder)
    fill(arena, rows=50_000)
    old = arena.ints("keys")
    arena.clear()
    assert is_empty(arena)
    assert [file.name for file in folder.iterdir()] == ["head"]
    assert old[7, 1] == 7  # still mapped, and no SIGBUS
    arena.reserve("keys", 100)
    assert not arena.ints("keys").any()
    arena.close()
    assert is_empty(opened(folder))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(sorted(TABLES)), st.integers(1, 3000)),
        st.tuples(st.just("blob"), st.sampled_from("ab"), st.binary(max_size=50)),
        st.tuples(st.just("number"), st.integers(0, 255), st.integers(-(2**63), 2**63 - 1)),
        st.tuples(st.sampled_from(["commit", "clear", "acquire", "again", "reopen"]), st.none(), st.none()),
    ),
    max_size=30,
)


@given(steps=STEPS)
@settings(max_examples=200, deadline=None)
def test_differential_files_and_memory_hold_the_same(tmp_path_factory: Any, steps: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("arenas") / "one"
    memory, files = Arena.anonymous(TABLES), opened(folder)
    for count, (step, name, value) in enumerate(steps):
        if step == "reopen":  # what a new process finds; in memory, that is what the same one finds
            files.close()
            files = opened(folder)
            memory.release()
            memory.acquire()
        for arena in (memory, files):
            if step == "write":
                arena.begin()
                arena.reserve(name, value)
                table = arena.bytes_of(name) if name == "heap" else arena.ints(name)
                table[value - 1] = count
            elif step == "blob":
                arena.put_blob(name, value)
            elif step == "number":
                arena.begin()
                arena.numbers[name] = value
            elif step == "commit":
                arena.begin()
                arena.commit(count.to_bytes(15) + b"v")
            elif step == "clear":
                arena.clear()
            elif step == "acquire":  # it is acquired already, and stays as it is
                assert arena.acquire()
            elif step == "again":
                arena.release()
                assert arena.acquire()
        assert files.version == memory.version
        assert files.size == memory.size
        assert np.array_equal(files.numbers, memory.numbers)
        assert all(files.get_blob(name) == memory.get_blob(name) for name in "ab")
        assert np.array_equal(files.bytes_of("heap"), memory.bytes_of("heap"))
        assert all(np.array_equal(files.ints(name), memory.ints(name)) for name in ("keys", "chunks"))
    files.close()


# -- who may change it ---------------------------------------------------------------------------------


def try_to_open(folder: Path, wait: float = 0.02) -> bool:
    return Arena.open(folder, TABLES, identity=b"query", wait=wait) is not None


def test_an_arena_has_one_holder(folder: Path) -> None:
    arena = opened(folder)
    assert not try_to_open(folder)
    assert not in_another_process(try_to_open, folder)
    arena.release()
    assert in_another_process(try_to_open, folder)
    assert arena.acquire()
    assert not in_another_process(try_to_open, folder)
    arena.close()
    assert in_another_process(try_to_open, folder)


def test_waiting_is_bounded(folder: Path) -> None:
    arena = opened(folder)
    start = time.monotonic()
    assert not try_to_open(folder, wait=0.2)
    assert 0.2 <= time.monotonic() - start < 2
    arena.close()


def test_a_lock_is_waited_for(folder: Path) -> None:
    arena = opened(folder)
    context = multiprocessing.get_context("fork")
    results: Any = context.Queue()
    process = context.Process(target=lambda: results.put(try_to_open(folder, wait=20)))
    process.start()
    time.sleep(0.1)
    arena.release()
    assert results.get(timeout=20)
    process.join()


def test_a_lock_goes_when_its_holder_dies(folder: Path) -> None:
    def hold_and_die() -> None:
        fill(opened(folder))
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_another_process(hold_and_die)
    assert is_filled(opened(folder))


def test_a_lock_goes_when_the_arena_is_forgotten(folder: Path) -> None:
    opened(folder)
    assert try_to_open(folder)


def test_a_forked_child_neither_has_nor_releases_its_parents_lock(folder: Path) -> None:
    arena = opened(folder)

    def child() -> str:
        try:
            arena.begin()
        except StoreError as error:
            message = str(error)
        assert not arena.acquire(wait=0.02)
        arena.release()
        arena.close()
        return message

    assert "without being acquired" in in_another_process(child)
    assert not in_another_process(try_to_open, folder)
    fill(arena)
    assert is_filled(arena)


def test_changes_need_the_lock(folder: Path) -> None:
    arena = opened(folder)
    fill(arena)
    arena.release()
    for change in (arena.begin, arena.clear, lambda: arena.commit(V2), lambda: arena.put_blob("open", b"")):
        with pytest.raises(StoreError, match="without being acquired"):
            change()
    with pytest.raises(StoreError, match="without being acquired"):
        arena.reserve("keys", 10**6)
    assert arena.acquire()
    assert is_filled(arena)


def test_a_file_system_without_locks_gives_no_arena(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "flock", refuses)
    assert not try_to_open(folder)


# -- what others have changed --------------------------------------------------------------------------


def test_what_another_process_changed_is_seen(folder: Path) -> None:
    arena = opened(folder)
    fill(arena)
    arena.release()

    def change() -> None:
        other = opened(folder)
        assert is_filled(other)
        fill(other, V2, rows=50_000)

    in_another_process(change)
    assert arena.acquire()
    assert is_filled(arena, V2, rows=50_000)


def test_holders_in_turns_see_each_other(folder: Path) -> None:
    holders = [opened(folder)]
    for _ in range(2):
        holders[-1].release()
        holders.append(opened(folder))
    holders[-1].release()
    for turn in range(60):
        arena = holders[turn % 3]
        assert arena.acquire()
        assert arena.numbers[0] == turn
        arena.begin()
        arena.reserve("keys", 40 * (turn + 1))
        assert np.array_equal(arena.ints("keys")[: 40 * turn, 0], np.arange(40 * turn) // 40)
        arena.ints("keys")[40 * turn : 40 * (turn + 1), 0] = turn
        arena.numbers[0] += 1
        arena.commit(os.urandom(15) + b"v")
        arena.release()


def test_an_arena_that_another_process_left_dirty_is_empty(folder: Path) -> None:
    arena = opened(folder)
    fill(arena)
    arena.release()

    def begin_and_die() -> None:
        opened(folder).begin()
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(EOFError):
        in_another_process(begin_and_die)
    assert arena.acquire()
    assert is_empty(arena)


def test_an_arena_that_another_process_cleared_and_filled_is_seen(folder: Path) -> None:
    arena = opened(folder)
    fill(arena)
    old = arena.ints("keys")
    arena.release()

    def change() -> None:
        other = opened(folder)
        other.clear()
        fill(other, rows=100)

    in_another_process(change)
    assert old[5, 1] == 5
    assert arena.acquire()
    assert is_filled(arena)
    assert not np.shares_memory(old, arena.ints("keys"))


def test_an_arena_whose_folder_was_removed_is_empty_and_can_be_filled(tmp_path: Path) -> None:
    home = ArenaHome(tmp_path)
    arena = home.open("one", TABLES, b"query")
    assert arena is not None
    fill(arena)
    arena.release()
    assert in_another_process(home.remove, "one")
    assert arena.acquire()
    assert is_empty(arena)
    fill(arena)
    arena.close()
    assert is_filled(opened(tmp_path / "one"))


# -- when it is not trusted ----------------------------------------------------------------------------


def change_head(folder: Path, start: int, data: bytes) -> None:
    with (folder / "head").open("r+b") as file:
        file.seek(start)
        file.write(data)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "the dirty flag": lambda folder: change_head(folder, head_module.DIRTY_AT, b"\1"),
    "another byte as the dirty flag": lambda folder: change_head(folder, head_module.DIRTY_AT + 3, b"\x80"),
    "other magic": lambda folder: change_head(folder, 0, b"PK"),
    "a scribbled number": lambda folder: change_head(folder, 1000, b"scribble"),
    "an empty head": lambda folder: os.truncate(folder / "head", 0),
    "a short head": lambda folder: os.truncate(folder / "head", 100),
    "a long head": lambda folder: os.truncate(folder / "head", 10_000),
    "a head of zeros": lambda folder: (folder / "head").write_bytes(bytes(head_module.SIZE)),
    "no head": lambda folder: (folder / "head").unlink(),
    "a short table": lambda folder: os.truncate(folder / "keys.table", 2399),
    "an empty table": lambda folder: os.truncate(folder / "heap.table", 0),
    "no table": lambda folder: (folder / "chunks.table").unlink(),
    "a short blob": lambda folder: os.truncate(folder / "open.blob", 3),
    "no blob": lambda folder: (folder / "open.blob").unlink(),
    "nothing": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("is_open", [False, True], ids=["opened", "acquired again"])
def test_a_damaged_arena_is_an_empty_one(
    folder: Path, damage: Callable[[Path], Any], is_open: bool
) -> None:
    arena = opened(folder)
    fill(arena)
    arena.release()
    damage(folder)
    if is_open:
        assert arena.acquire()
    else:
        arena = opened(folder)
    assert is_empty(arena)
    fill(arena, V2)
    arena.close()
    assert is_filled(opened(folder), V2)


@given(place=st.integers(0, head_module.SIZE - 1), change=st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_any_changed_byte_of_the_head_makes_it_empty(
    tmp_path_factory: Any, place: int, change: int
) -> None:
    folder = tmp_path_factory.mktemp("arenas") / "one"
    arena = opened(folder)
    fill(arena)
    arena.close()
    head = (folder / "head").read_bytes()
    change_head(folder, place, bytes([head[place] ^ change]))
    arena = opened(folder)
    assert is_empty(arena)
    arena.close()


@given(head=st.binary(max_size=200))
def test_any_bytes_are_no_head(head: bytes) -> None:
    assert head_module.ArenaHead.unpack(head.ljust(head_module.SIZE, b"\0")) is None


def test_another_identity_finds_nothing(folder: Path) -> None:
    fill(opened(folder))
    assert is_empty(opened(folder, identity=b"another query"))


def test_other_tables_find_nothing(folder: Path) -> None:
    fill(opened(folder))
    assert opened(folder, tables=TABLES | {"chunks": TableSpec(2)}).version == b""


def test_another_version_of_the_library_finds_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(opened(folder))
    monkeypatch.setattr("sash.operators.arena.arena.__version__", "another")
    assert is_empty(opened(folder))


def test_another_byte_order_finds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(opened(folder))
    monkeypatch.setattr(sys, "byteorder", "another")
    assert is_empty(opened(folder))


def test_another_layout_finds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(opened(folder))
    monkeypatch.setattr(head_module, "LAYOUT", head_module.LAYOUT + 1)
    assert is_empty(opened(folder))


def test_after_a_boot_nothing_is_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(opened(folder))
    monkeypatch.setattr(head_module, "this_boot", lambda: b"another boot    ")
    assert is_empty(opened(folder))


def test_a_boot_is_the_same_in_all_processes_of_linux() -> None:
    if not Path("/proc/sys/kernel/random/boot_id").exists():
        skip_and_note("owners of arenas: no /proc")
    command = "from sash.operators.arena.head import this_boot; print(this_boot().hex())"
    found = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == head_module.this_boot().hex()


@pytest.mark.parametrize("kind", ["in memory", "in files"])
def test_a_batch_that_raised_leaves_nothing(folder: Path, kind: str) -> None:
    arena = opened(folder) if kind == "in files" else Arena.anonymous(TABLES)
    fill(arena)
    arena.begin()
    arena.numbers[3] = 5
    arena.release()
    assert arena.acquire()
    assert is_empty(arena)


@pytest.mark.parametrize("kind", ["in memory", "in files"])
def test_a_batch_that_raised_after_it_cleared_leaves_nothing(folder: Path, kind: str) -> None:
    arena = opened(folder) if kind == "in files" else Arena.anonymous(TABLES)
    fill(arena)
    arena.begin()
    arena.clear()
    arena.reserve("keys", 10)
    arena.numbers[3] = 5
    arena.release()
    assert arena.acquire()
    assert is_empty(arena)


@pytest.mark.parametrize("seed", range(8))
def test_a_process_that_is_killed_at_any_moment_leaves_a_version_or_nothing(
    folder: Path, seed: int
) -> None:
    """Every version has all of the table equal to its number."""
    tables = {"rows": TableSpec(1)}

    def write() -> None:
        arena = opened(folder, tables=tables, wait=1)
        for count in range(1, 10**6):
            arena.begin()
            arena.reserve("rows", 10 * count)
            arena.ints("rows")[:] = count
            arena.numbers[0] = count
            arena.put_blob("count", str(count).encode())
            arena.commit(count.to_bytes(16))

    process = multiprocessing.get_context("fork").Process(target=write)
    process.start()
    time.sleep(0.05 + 0.0137 * seed)
    process.kill()
    process.join()
    arena = opened(folder, tables=tables)
    if arena.version:
        count = int.from_bytes(arena.version)
        assert arena.numbers[0] == count
        assert (arena.ints("rows") == count).all()
        assert arena.get_blob("count") == str(count).encode()
    else:
        assert len(arena.ints("rows")) == 0


# -- a full disk ---------------------------------------------------------------------------------------


def outgrow(folder: Path) -> str:
    """Grow until there is no room; the state before it must be there and usable."""
    arena = opened(folder)
    fill(arena)
    arena.begin()
    try:
        for power in range(10, 40):
            arena.reserve("keys", 2**power)
            arena.ints("keys")[:] = 1  # every page can be written
    except NoSpace as error:
        message = str(error)
    rows = len(arena.ints("keys"))
    assert (folder / "keys.table").stat().st_size == rows * 24
    assert (arena.ints("keys") == 1).all()
    with pytest.raises(NoSpace, match="SASH_ARENA_DIR"):
        arena.put_blob("open", bytes(2**22))
    arena.clear()
    fill(arena, V2)
    arena.close()
    assert is_filled(opened(folder), V2)
    return message


def test_a_full_disk_is_an_error_of_reserve_by_a_limit_of_the_process(folder: Path) -> None:
    def limited() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return outgrow(folder)

    message = in_another_process(limited)
    assert f"in {folder}: free disk space there, or set SASH_ARENA_DIR" in message


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.getuid() != 0 or shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        skip_and_note("arenas on a small disk: only root can mount one")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_an_error_of_reserve_on_a_small_disk(small_disk: Path) -> None:
    message = in_another_process(outgrow, small_disk / "arena")
    assert "free disk space there" in message


def test_a_disk_without_room_for_a_head_is_an_error_of_open(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(2**20 - 4096))
    with pytest.raises(NoSpace):
        opened(small_disk / "arena")


@pytest.mark.parametrize("call", ["open", "mkdir", "pwrite", "ftruncate"])
def test_a_disk_that_is_full_for_anything_is_one_sentence(
    folder: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk has also no room for the entry of a file, or for a page that must be copied."""
    arena = opened(folder)
    fill(arena)

    def full(*given: Any, **named: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    def change() -> None:
        if call == "mkdir":
            opened(folder.parent / "another")
        arena.begin()
        arena.reserve("keys", 10_000)
        arena.put_blob("another", b"bytes")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(NoSpace, match="set SASH_ARENA_DIR to a folder with more room"):
        change()


# -- many tables ---------------------------------------------------------------------------------------


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_an_arena_of_many_tables_takes_one_descriptor(folder: Path) -> None:
    tables = {f"table-{number}": TableSpec(2) for number in range(60)}
    before = open_files()
    arena = opened(folder, tables=tables)
    arena.begin()
    for name in tables:
        arena.reserve(name, 1000)
        arena.reserve(name, 2000)
        arena.ints(name)[:] = 3
    assert open_files() <= before + 1
    assert all((arena.ints(name) == 3).all() for name in tables)


def test_a_table_is_unmapped_with_its_last_array(folder: Path) -> None:
    arena = opened(folder)
    fill(arena)
    part = arena.ints("keys")[10:20]
    arena.close()
    del arena
    gc.collect()
    assert part[:, 1].tolist() == list(range(10, 20))
    assert str(folder / "keys.table") in Path("/proc/self/maps").read_text()
    del part
    gc.collect()
    assert str(folder) not in Path("/proc/self/maps").read_text()


# -- homes ---------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> ArenaHome:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return ArenaHome(folder)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("SASH_ARENA_DIR", raising=False)
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return monkeypatch


def test_a_home_is_in_the_temporary_directory_if_nothing_else_is_set(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    home = ArenaHome.default()
    assert home.folder == tmp_path / "tmp" / f"sash-arenas-{os.getuid()}"
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert ArenaHome.default().folder == home.folder


def test_a_home_is_in_the_first_writable_local_folder_of_spark(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").mkdir()
    environment.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/missing,{tmp_path}/b,{tmp_path}/tmp")
    assert ArenaHome.default().folder.parent == tmp_path / "b"


def test_a_home_is_where_the_user_wants_it(tmp_path: Path, environment: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    environment.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/tmp")
    environment.setenv("SASH_ARENA_DIR", f"{tmp_path}/mine")
    assert ArenaHome.default().folder.parent == tmp_path / "mine"
    environment.setenv("SASH_ARENA_DIR", f"{tmp_path}/missing")
    with pytest.raises(ArgumentError, match="SASH_ARENA_DIR must be a folder that this user may write"):
        ArenaHome.default()


def test_a_home_that_somebody_else_prepared_is_not_used(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / f"sash-arenas-{os.getuid()}").symlink_to(trap)
    environment.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/shared")
    assert ArenaHome.default().folder.parent == tmp_path / "tmp"


def test_a_home_that_others_could_read_is_closed_to_them(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tmp" / f"sash-arenas-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    assert stat.S_IMODE(ArenaHome.default().folder.stat().st_mode) == 0o700


def made(home: ArenaHome, name: str) -> Arena:
    arena = home.open(name, TABLES, b"query")
    assert arena is not None
    fill(arena)
    return arena


def names(home: ArenaHome) -> set[str]:
    return {entry.name for entry in home.folder.iterdir()}


def test_removing_deletes_what_is_not_locked(home: ArenaHome) -> None:
    arena = made(home, "one")
    assert not home.remove("one", wait=0.01)
    arena.release()
    assert home.remove("one")
    assert not home.remove("one")
    assert names(home) == set()


GONE = f"{head_module.this_boot().hex()} {owners._namespace()} {2**22 + 1} 1"


def made_by(home: ArenaHome, name: str, owner: str, monkeypatch: pytest.MonkeyPatch) -> Arena:
    monkeypatch.setattr(home_module, "this_owner", lambda: owner)
    return made(home, name)


def test_sweeping_deletes_arenas_of_owners_who_are_gone(
    home: ArenaHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(home, "mine").close()
    made_by(home, "gone", GONE, monkeypatch).close()
    made_by(home, "unknown", "", monkeypatch).close()
    held = made_by(home, "held", GONE, monkeypatch)
    now = time.time()
    assert home.sweep(now=now) == 1
    assert names(home) == {"mine", "unknown", "held"}
    held.close()
    assert home.sweep(now=now) == 1
    assert names(home) == {"mine", "unknown"}


def test_sweeping_deletes_what_nobody_used_for_an_hour(home: ArenaHome) -> None:
    made(home, "old").close()
    held = made(home, "held")
    assert home.sweep(now=time.time() + home_module.IDLE - 60) == 0
    assert home.sweep(now=time.time() + home_module.IDLE + 60) == 1
    assert names(home) == {"held"}
    held.close()


def test_the_first_opening_in_a_process_sweeps(home: ArenaHome, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(ArenaHome, "sweep", lambda self, **_: calls.append(self))
    made(home, "one").close()
    made(home, "two").close()
    assert len(calls) == 1


def test_an_opening_does_not_sweep_what_it_opens(home: ArenaHome, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        made_by(home, "one", GONE, patch).close()
    os.utime(home.folder / "one" / "head", (0, 0))
    home_module._swept.clear()
    arena = home.open("one", TABLES, b"query")
    assert arena is not None
    assert is_filled(arena)


def test_sweeping_tolerates_strange_and_half_deleted_things(home: ArenaHome) -> None:
    (home.folder / "a file").write_text("?")
    (home.folder / "an empty folder").mkdir()
    left_over = home.folder / ".removed-by-a-process-that-died"
    left_over.mkdir()
    (left_over / "keys.table").write_bytes(bytes(100))
    made(home, "damaged").close()
    (home.folder / "damaged" / "head").write_bytes(b"?")
    home.sweep(now=time.time() + 2 * home_module.IDLE)
    assert names(home) <= {"a file", "an empty folder"}
    shutil.rmtree(home.folder)
    assert home.sweep() == 0


def test_opening_and_removing_at_the_same_time_never_fails(home: ArenaHome) -> None:
    def use(rounds: int) -> int:
        for _ in range(rounds):
            arena = home.open("one", TABLES, b"query", wait=5)
            assert arena is not None
            assert is_empty(arena) or is_filled(arena)
            fill(arena)
            assert is_filled(arena)
            arena.close()
        return rounds

    def remove_and_sweep() -> None:
        while True:
            home.remove("one", wait=0)
            home.sweep(now=time.time() + 2 * home_module.IDLE)

    context = multiprocessing.get_context("fork")
    removers = [context.Process(target=remove_and_sweep) for _ in range(2)]
    for remover in removers:
        remover.start()
    try:
        assert in_another_process(use, 200) == 200
    finally:
        for remover in removers:
            remover.kill()
            remover.join()


# -- owners --------------------------------------------------------------------------------------------


@pytest.fixture
def _proc() -> None:
    if not Path("/proc/self/stat").exists():
        skip_and_note("owners of arenas: no /proc")


@pytest.mark.usefixtures("_proc")
def test_a_plain_process_owns_what_it_makes() -> None:
    assert owners.this_owner().split()[2] == str(os.getpid())
    assert not owners.is_gone(owners.this_owner())
    of_a_child = in_another_process(owners.this_owner)
    assert of_a_child != owners.this_owner()
    assert owners.is_gone(of_a_child)


@pytest.mark.usefixtures("_proc")
def test_a_worker_below_a_jvm_is_the_jvms(tmp_path: Path) -> None:
    jvm = tmp_path / "java"
    command = "from sash.operators.arena.owners import this_owner; print(this_owner().split()[2])"
    jvm.write_text(f'#!/bin/sh\necho $$\n(exec {sys.executable} -c "{command}")\nexit 0\n')
    jvm.chmod(0o700)
    found = subprocess.run([str(jvm)], capture_output=True, text=True, check=True).stdout.split()
    assert found[0] == found[1]


@pytest.mark.usefixtures("_proc")
def test_an_owner_is_gone_if_it_certainly_runs_no_more() -> None:
    boot, namespace, pid, start = owners.this_owner().split()
    assert owners.is_gone(f"{boot} {namespace} {pid} {int(start) + 1}")  # the number was used again
    assert owners.is_gone(f"{'0' * 32} {namespace} {pid} {start}")
    assert not owners.is_gone(f"{boot} 1 {2**22 + 1} 1")  # in another container: who knows
    assert not owners.is_gone("")


# -- costs, and what it may import ---------------------------------------------------------------------


def best(action: Callable[[], Any], rounds: int = 100) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def test_acquiring_and_opening_are_cheap(folder: Path) -> None:
    tables = {f"table{i}": TableSpec(i + 1) for i in range(6)}
    arena = opened(folder, tables=tables)
    for name in tables:
        arena.reserve(name, 10_000)
    arena.commit(V1)
    arena.release()
    assert best(lambda: arena.acquire() and arena.release()) < 100e-6
    assert best(lambda: opened(folder, tables=tables).close()) < 1e-3


def test_an_arena_needs_numpy_only() -> None:
    code = """
        import sys
        from sash.operators.arena import Arena, TableSpec
        arena = Arena.anonymous({"keys": TableSpec()})
        arena.reserve("keys", 10)
        assert not {"numba", "pyarrow", "pandas", "pyspark"} & set(sys.modules), sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
