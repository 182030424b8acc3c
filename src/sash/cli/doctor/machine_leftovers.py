"""What killed processes have left on this machine: files in shared memory, and arenas that nobody uses.

<shared memory>/sash-<pid>-…       rows on their way to worker processes, removed when a query ends
sash-arenas-<user>/<arena>         state in mapped files; any running query removes those of the dead
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sash.cli.doctor.health_check import HealthCheck
from sash.operators.arena.home import ArenaHome

_OF_PROCESS = re.compile(r"sash-(\d+)-\w+")
MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Leftover:
    """A folder that nobody needs any more."""

    path: str
    what: str
    bytes: int


def leftovers(*, delete: bool) -> dict[str, object]:
    """All of this user, by path; removed if wanted."""
    found = [*_of_processes(), *_arenas()]
    if delete:
        for one in found:
            if one.what != "arena":
                shutil.rmtree(one.path, ignore_errors=True)
        for home in _homes():
            home.sweep()
    gone = [not Path(one.path).exists() for one in found]
    return {"leftovers": [asdict(one) for one in found], "removed": sum(gone)}


def left_here() -> Iterator[HealthCheck]:
    """A line of `sash doctor`, if there is anything."""
    found = [*_of_processes(), *_arenas()]
    if found:
        size, count = sum(one.bytes for one in found), len(found)
        words = f"{size:,} bytes in {count} folder{'s' * (count != 1)} that killed processes have left"
        yield HealthCheck("leftovers", "wrong", words, "sash doctor --clean --delete", needed=False)


def _of_processes() -> Iterator[Leftover]:
    for folder in {MEMORY, Path(tempfile.gettempdir())}:
        for path in sorted(folder.glob("sash-*-*")) if folder.is_dir() else ():
            name = _OF_PROCESS.fullmatch(path.name)
            mine = path.is_dir() and path.stat().st_uid == os.getuid()
            if name and mine and not Path(f"/proc/{name[1]}").exists():
                yield Leftover(str(path), "rows for workers", _size(path))


def _arenas() -> Iterator[Leftover]:
    for home in _homes():
        for name in home.unused():
            yield Leftover(str(home.folder / name), "arena", _size(home.folder / name))


def _homes() -> Iterator[ArenaHome]:
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0].strip() or tempfile.gettempdir()
    return ArenaHome.on_this_machine(Path(local))


def _size(folder: Path) -> int:
    """Bytes on disk or in memory: mapped files have holes."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
