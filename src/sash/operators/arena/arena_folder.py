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
from sash.operators.arena.head import ArenaHead
from sash.operators.arena.locked import WAIT, LockedHead
from sash.operators.arena.owners import is_gone, this_owner

IDLE = 3_600
"""Seconds after which an arena that nobody has used is removed: its query was stopped, most likely."""
OFTEN = 60
"""Seconds between two looks of a process."""

_REMOVED = ".removed-"
_SPARKS = "blockmgr-"
"""How the folders begin that Spark makes for an executor."""
_swept: dict[tuple[int, Path], float] = {}


class ArenaHome:
    """A folder, which must exist and belong to this user alone: see `default`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def default(cls) -> ArenaHome:
        """In SASH_ARENA_DIR, or the first writable of SPARK_LOCAL_DIRS, or the temporary directory."""
        chosen = os.environ.get("SASH_ARENA_DIR")
        for folder in [Path(chosen)] if chosen else local_folders():
            if home := _private(folder / f"sash-arenas-{os.getuid()}"):
                return cls(home)
        given = chosen or os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
        raise ArgumentError("SASH_ARENA_DIR", given, "a folder that this user may write")

    def open(
        self, name: str, tables: Mapping[str, TableSpec], identity: bytes, *, wait: float = WAIT
    ) -> Arena | None:
        """As `Arena.open`. Also cleans the home up."""
        folder = self.folder / checked_name("name", name)
        arena = Arena.open(folder, tables, identity=identity, owner=this_owner(), wait=wait)
        self.clean_up()
        return arena

    def clean_up(self) -> None:
        """Sweep this home and its neighbours, unless this process has done so within the last minute."""
        here, now = (os.getpid(), self.folder), time.monotonic()
        if now - _swept.get(here, -OFTEN) >= OFTEN:
            _swept[here] = now
            for home in (self, *self._neighbours()):
                home.sweep()

    def _neighbours(self) -> Iterator[ArenaHome]:
        """The homes of other applications on this machine: Spark gives each a folder of its own, and
        removes it at the end, unless it is killed."""
        if self.folder.parent.name.startswith(_SPARKS):
            for folder in self.folder.parent.parent.glob(f"{_SPARKS}*/{self.folder.name}"):
                if folder != self.folder:
                    yield ArenaHome(folder)

    @classmethod
    def on_this_machine(cls, local: Path) -> Iterator[ArenaHome]:
        """All homes of this user, as the driver of an application in local mode finds them; `local` is
        where Spark makes its folders."""
        name = f"sash-arenas-{os.getuid()}"
        chosen = os.environ.get("SASH_ARENA_DIR")
        folders = [Path(chosen) / name] if chosen else [local / name, *local.glob(f"{_SPARKS}*/{name}")]
        return (cls(folder) for folder in folders if folder.is_dir())

    def remove_all(self, prefix: str) -> int:
        """Delete the arenas whose names begin so; return how many are in use, and stay."""
        try:
            names = [entry.name for entry in os.scandir(self.folder) if entry.name.startswith(prefix)]
        except OSError:
            return 0
        stay = 0
        for name in names:
            with suppress(OSError):  # somebody else has removed it
                stay += not self._remove(name, WAIT, lambda _: True)
        return stay

    def remove(self, name: str, *, wait: float = WAIT) -> bool:
        """Delete an arena; False if there is none, or if it is locked for longer than `wait` seconds."""
        return self._remove(checked_name("name", name), wait, lambda _: True)

    def sweep(self, *, now: float | None = None) -> int:
        """Delete what is not used any more and not locked; return how many arenas that were.

        Not used any more: by nobody for an hour, or at all if the owner is gone.
        """
        is_unused = _unused_at(time.time() if now is None else now)
        count = 0
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.startswith(_REMOVED):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        count += self._remove(entry.name, 0, is_unused)
        return count

    def unused(self) -> list[str]:
        """The names of those that a sweep would delete."""
        is_unused, found = _unused_at(time.time()), []
        for entry in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            lock = LockedHead(entry, create=False)
            try:
                with suppress(OSError):
                    if lock.lock(0) and is_unused(lock):
                        found.append(entry.name)
            finally:
                lock.close()
        return found

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


def _unused_at(now: float) -> Callable[[LockedHead], bool]:
    return lambda lock: now - lock.last_used() > IDLE or is_gone(_owner(lock))


def _owner(lock: LockedHead) -> str:
    head = ArenaHead.unpack(lock.read())
    return head.owner if head else ""


def local_folders() -> Iterator[Path]:
    """Where a home may be unless SASH_ARENA_DIR is set, the best first."""
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
