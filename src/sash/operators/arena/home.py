"""The folder of a machine that holds arenas, one folder each.

It should be a local disk, or memory. An arena is a cache: removing one only makes its next user slower.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sash.errors import ArgumentError
from sash.operators.arena.arena import Arena, TableSpec, checked_name
from sash.operators.arena.head import Head
from sash.operators.arena.locked import WAIT, LockedHead
from sash.operators.arena.owners import is_gone, this_owner

GRACE = 600
"""Seconds that the arena of an owner who is gone waits for the query to start again."""
DAY = 86_400

_REMOVED = ".removed-"
_swept: set[tuple[int, Path]] = set()


class ArenaHome:
    """A folder, which must exist and belong to this user alone: see `default`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def default(cls) -> ArenaHome:
        """In SASH_ARENA_DIR, or the first writable of SPARK_LOCAL_DIRS, or the temporary directory."""
        chosen = os.environ.get("SASH_ARENA_DIR")
        for folder in [Path(chosen)] if chosen else _local_folders():
            if home := _private(folder / f"sash-arenas-{os.getuid()}"):
                return cls(home)
        given = chosen or os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
        raise ArgumentError("SASH_ARENA_DIR", given, "a folder that this user may write")

    def open(
        self, name: str, tables: Mapping[str, TableSpec], identity: bytes, *, wait: float = WAIT
    ) -> Arena | None:
        """As `Arena.open`. The first one in a process sweeps."""
        folder = self.folder / checked_name("name", name)
        arena = Arena.open(folder, tables, identity=identity, owner=this_owner(), wait=wait)
        if (here := (os.getpid(), self.folder)) not in _swept:
            _swept.add(here)
            self.sweep()
        return arena

    def remove(self, name: str, *, wait: float = WAIT) -> bool:
        """Delete an arena; False if there is none, or if it is locked for longer than `wait` seconds."""
        return self._remove(checked_name("name", name), wait, lambda _: True)

    def sweep(self, *, now: float | None = None) -> int:
        """Delete what is not used any more and not locked; return how many arenas that were.

        Not used any more: by nobody for a day, or for ten minutes if the owner is gone.
        """
        now = time.time() if now is None else now

        def is_unused(lock: LockedHead) -> bool:
            age = now - lock.last_used()
            return age > DAY or (age > GRACE and is_gone(_owner(lock)))

        count = 0
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(_REMOVED):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif now - _last_used(Path(entry.path)) > GRACE:
                    with suppress(OSError):
                        count += self._remove(entry.name, 0, is_unused)
        return count

    def _remove(self, name: str, wait: float, condition: Callable[[LockedHead], bool]) -> bool:
        folder = self.folder / name
        lock = LockedHead(folder, create=False)
        try:
            if not lock.lock(wait) or not condition(lock):
                return False
            # First out of the way: whoever opens it meanwhile makes a new one.
            removed = self.folder / f"{_REMOVED}{uuid.uuid4().hex}"
            folder.rename(removed)
            shutil.rmtree(removed, ignore_errors=True)
            return True
        finally:
            lock.close()


def _last_used(folder: Path) -> float:
    """The time of the head, or of a folder that has none yet; never, if it is just being removed."""
    for file in (folder / "head", folder):
        with suppress(OSError):
            return file.stat().st_mtime
    return float("inf")


def _owner(lock: LockedHead) -> str:
    head = Head.unpack(lock.read())
    return head.owner if head else ""


def _local_folders() -> Iterator[Path]:
    for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(","):
        if folder.strip():
            yield Path(folder.strip())
    yield Path(tempfile.gettempdir())


def _private(folder: Path) -> Path | None:
    """That folder, made if need be, if it is this user's alone: others may write next to it."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return None
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
