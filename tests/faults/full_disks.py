"""What the writers do on a disk that has no room left; run by test_full_disk.py on a disk of its own.

python -m tests.faults.full_disks <check> <folder on a small disk>
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sash.disk_space import free_bytes
from sash.errors import NoSpace
from sash.serving.feature_stores import place_of
from sash.stores import LMDB, Files
from tests.operators.test_arena import in_another_process, outgrow

LEFT = (0, 4096, 8192, 16384, 65536, 98304)
"""Bytes that are left when a writer begins: it comes to its first file, its second, a part of one."""
BEFORE, AFTER = {b"a": b"1", b"b": b"2"}, {b"a": os.urandom(50_000), b"b": os.urandom(50_000)}


@contextmanager
def full(disk: Path, *, left: int = 0) -> Iterator[None]:
    """A file takes all room but so many bytes."""
    filler, free = disk / "filler", free_bytes(disk)
    assert free is not None
    filler.write_bytes(bytes(free - left))
    try:
        yield
    finally:
        filler.unlink()


def held(kind: Callable[..., Any], folder: Path) -> dict[bytes, bytes | None]:
    with kind(folder) as store:
        return dict(zip(BEFORE, store.get_many(list(BEFORE)), strict=True))


def store_goes_on(kind: Callable[..., Any], disk: Path) -> None:
    """A commit happens or raises NoSpace; what was committed is read by whoever comes, and it goes on."""
    failed = 0
    for left in LEFT:
        folder = disk / str(left)
        with kind(folder) as store:
            store.put_many(BEFORE)
            store.commit(0)
            with full(disk, left=left):
                store.put_many(AFTER)
                try:
                    store.commit(1)
                except NoSpace as error:
                    failed += 1
                    require_sentence(error, folder)
                    assert held(kind, folder) == in_another_process(held, kind, folder) == BEFORE
                else:
                    assert held(kind, folder) == AFTER
            # The query is started again: the epoch is executed again.
            with kind(folder) as again:
                again.rollback(0)
                again.put_many(AFTER)
                again.commit(1)
            assert held(kind, folder) == AFTER
        for file in folder.rglob("*.data"):
            assert file.stat().st_size >= 1000 or file.name.startswith("0-"), "a part of a file is left"
    assert failed >= 3


def store_opens(kind: Callable[..., Any], disk: Path) -> None:
    """A new store is made or raises NoSpace, never a signal; with room it is made in the same process."""
    failed = 0
    for left in range(0, 32 * 4096, 4096):
        folder = disk / str(left)
        with full(disk, left=left):
            try:
                with kind(folder) as store:
                    store.put_many(BEFORE)
                    store.commit(0)
            except NoSpace as error:
                failed += 1
                require_sentence(error, folder)
        with kind(folder) as store:
            store.rollback(-1)
            store.put_many(BEFORE)
            store.commit(0)
        assert held(kind, folder) == BEFORE
    assert failed >= 1


def small_map(path: Path) -> LMDB:
    """One that must grow while the disk is full."""
    return LMDB(path, map_size=1 << 16)


def arena_goes_on(disk: Path) -> None:
    message = outgrow(disk / "arena")
    assert f"in {disk / 'arena'}: free disk space there" in message
    assert message.endswith("bytes are free)")


def features_stay(disk: Path) -> None:
    place = place_of(disk / "features")
    place.write({b"a": b"1"}, [])
    with full(disk), pytest.raises(NoSpace) as raised:
        place.write({b"a": os.urandom(100_000)}, [])
    require_sentence(raised.value, disk / "features")
    with place.reading() as read:
        assert bytes(read([b"a"])[0]) == b"1"
    place.write({b"a": b"2"}, [])
    with place.reading() as read:
        assert bytes(read([b"a"])[0]) == b"2"


def require_sentence(error: NoSpace, folder: Path) -> None:
    assert str(folder) in str(error)
    assert str(error).endswith("bytes are free)")
    assert "\n" not in str(error)


CHECKS: dict[str, Callable[[Path], None]] = {
    "a store of files goes on": lambda disk: store_goes_on(Files, disk),
    "a store of files is made": lambda disk: store_opens(Files, disk),
    "an LMDB store goes on": lambda disk: store_goes_on(LMDB, disk),
    "an LMDB store that must grow goes on": lambda disk: store_goes_on(small_map, disk),
    "an LMDB store is made": lambda disk: store_opens(LMDB, disk),
    "an arena goes on": arena_goes_on,
    "published features stay": features_stay,
}


if __name__ == "__main__":
    CHECKS[sys.argv[1]](Path(sys.argv[2]))
