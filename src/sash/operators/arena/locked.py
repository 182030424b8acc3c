"""A head file that only one holder at a time may read and write.

The lock is an flock on the head itself: it goes when its holder dies. Whoever removes an arena holds
the lock and renames the folder away, so a lock counts only if the locked file still has the name.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from pathlib import Path

from sash.disk_space import reserve_blocks, write_all
from sash.operators.arena import head as layout
from sash.operators.arena.growing import room_in_arena

WAIT = 0.25
"""Seconds that a locked arena is waited for, by default."""


class LockedHead:
    """The head of the arena in a folder. Not locked until `lock` returns True."""

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder, self.path, self._create = folder, folder / "head", create
        self._descriptor = -1
        self._process = 0  # a forked child shares its parent's lock: it must neither use nor release it
        self._held = False
        self._found = (0, 0)
        self._close: weakref.finalize[[int], LockedHead] | None = None

    @property
    def is_held(self) -> bool:
        return self._held and self._process == os.getpid()

    def lock(self, wait: float = WAIT) -> bool:
        """Lock the file that has the name now; False if another holder keeps it, or there is none."""
        deadline, pause = time.monotonic() + wait, 0.0005
        while True:
            if (self._process != os.getpid() or self._descriptor < 0) and not self._open():
                if not self._create or time.monotonic() >= deadline:
                    return False
                time.sleep(pause)
                continue
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
                continue
            except OSError:  # a file system without locks
                return False
            if self.has_the_name():
                self._held = True
                return True
            self.close()

    def _open(self) -> bool:
        self.close()
        try:
            with room_in_arena(layout.SIZE, self.folder):
                if self._create:
                    self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except (FileNotFoundError, FileExistsError):  # no arena, or its folder was removed just now
            return False
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._process = os.getpid()
        found = os.fstat(self._descriptor)
        self._found = found.st_dev, found.st_ino
        return True

    def has_the_name(self) -> bool:
        """Whether the file that was opened is still the head of the arena."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._found

    def unlock(self) -> None:
        if self.is_held:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._held = False

    def close(self) -> None:
        """Unlocks as well, but for a child that was forked while its parent held the lock."""
        self.unlock()
        if self._close is not None:
            self._close()
        self._descriptor = -1

    def read(self) -> bytes:
        return os.pread(self._descriptor, layout.SIZE + 1, 0)

    def write(self, data: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        if size < len(data):
            with room_in_arena(len(data), self.folder):
                reserve_blocks(self._descriptor, size, len(data))  # so that later writes find room
        elif size > len(data):
            os.ftruncate(self._descriptor, len(data))
        with room_in_arena(len(data), self.folder):  # a file system that copies on write may need more
            write_all(self._descriptor, data, 0)

    def mark_dirty(self) -> None:
        with room_in_arena(len(layout.DIRTY), self.folder):
            os.pwrite(self._descriptor, layout.DIRTY, layout.DIRTY_AT)

    def last_used(self) -> float:
        return os.fstat(self._descriptor).st_mtime
