"""A full disk, for all who write files: one error, NoSpace, with the folder and the room that it has.

What is memory-mapped needs blocks before it is written: a page for which the disk has no block ends the
process with SIGBUS. `reserve_blocks` makes that an error of a call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sash.errors import NoSpace

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_OFFERED = {errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.ENODEV}
REASONS = tuple(os.strerror(number) for number in sorted(_FULL))
"""How the system, and whoever passes its errors on as text, calls a full disk."""


@contextmanager
def room_for(what: str, folder: str | os.PathLike[str], *, instead: str = "") -> Iterator[None]:
    """A full disk becomes NoSpace. `instead`: what helps besides free space."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL or isinstance(error, NoSpace):
            raise
        raise no_space(what, folder, os.strerror(error.errno), instead=instead) from error


def no_space(
    what: str, folder: str | os.PathLike[str], reason: str, *, instead: str = ""
) -> NoSpace:  # fmt: skip
    helps = f"free disk space there, or {instead}" if instead else "free disk space there"
    return NoSpace(f"no room for {what} in {os.fspath(folder)}: {helps} ({reason}; {free_words(folder)})")


def free_bytes(folder: str | os.PathLike[str]) -> int | None:
    """What a user may still write there; None where that is not known: it is no folder of this machine."""
    if "://" in os.fspath(folder):
        return None
    path = Path(folder).absolute()
    for place in (path, *path.parents):  # not made yet: where it would be
        with suppress(OSError):
            found = os.statvfs(place)
            return found.f_bavail * found.f_frsize
    return None


def free_words(folder: str | os.PathLike[str]) -> str:
    free = free_bytes(folder)
    return "how much is free is not known" if free is None else f"{free:,} bytes are free"


def reserve_blocks(descriptor: int, old: int, new: int) -> None:
    """Make the file that long, in blocks that the disk really has."""
    if not allocate(descriptor, old, new):
        zeros = bytes(min(new - old, 2**20))
        for start in range(old, new, len(zeros)):
            write_all(descriptor, zeros[: new - start], start)


def allocate(descriptor: int, old: int, new: int) -> bool:
    """Blocks for these bytes of the file, which stay as they are; False where there is no such call."""
    try:
        os.posix_fallocate(descriptor, old, new - old)
    except (AttributeError, OSError) as error:  # macOS has no such call, and some file systems refuse it
        if isinstance(error, OSError) and error.errno not in _NOT_OFFERED:
            raise
        return False
    return True


def write_all(descriptor: int, data: bytes | memoryview, start: int) -> None:
    """Write the data at that place of the file; a single call may write less of it."""
    rest = memoryview(data)
    while len(rest):
        written = os.pwrite(descriptor, rest, start)
        rest, start = rest[written:], start + written
