"""Checkpoints and stores of a version, as archives: the state of each operator after a few of its files.

    <version>/<operator>.tar.xz     checkpoint, sink and late rows
    <version>/redis.tar.xz          the log of the Redis server

They are made below a folder, and on a host, whose names tell nothing (`make golden`): Spark writes paths
into checkpoints, and RocksDB the name of the host.
"""

from __future__ import annotations

import fcntl
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.aggregation.conftest import RedisServer
from tests.faults import run_operators
from tests.faults.operator_events import files_of
from tests.faults.operators import OPERATORS
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

FOLDER = Path(__file__).parent / "golden"
REDIS = "redis"
SEED, FILES, BEFORE = 3, 8, 5
"""Of the events: how many files there are, and after how many of them the archives are made."""
BATCHES = tuple(files_of(FILES, seed=SEED))
_TRANSIENT = shutil.ignore_patterns("*.crc", "_SUCCESS", "lock.mdb")


@contextmanager
def home() -> Iterator[Path]:
    """Where archives are made, and where they must be unpacked: Spark's checkpoints have absolute paths.
    One process has it at a time."""
    place = Path("/tmp/sash-golden")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def make(version: str) -> None:
    """Run the operators that have no archive over the first files, a few at a time, and pack what they
    leave."""
    (FOLDER / version).mkdir(parents=True, exist_ok=True)
    names = [name for name in OPERATORS if name not in archived(version)]
    with home() as place:
        for first in range(0, len(names), 4):
            run(place, names[first : first + 4], first=0, last=BEFORE)
        for name in (*names, *({REDIS} - archived(version))):
            packed = place / "packed" / name
            shutil.copytree(place / name, packed, ignore=_TRANSIENT)
            add_to(FOLDER / version / f"{name}.tar.xz", packed, name=name)


def add_to(file: Path, folder: Path, *, name: str) -> None:
    """A new archive with one folder, under a name."""
    with tarfile.open(file, "w:xz", preset=9) as archive:
        archive.add(folder, arcname=name, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def archived(version: str) -> set[str]:
    """Operators, and the Redis server."""
    return {path.name.removesuffix(".tar.xz") for path in (FOLDER / version).iterdir()}


def unpack(version: str, names: Sequence[str], home: Path) -> None:
    for name in names:
        with tarfile.open(FOLDER / version / f"{name}.tar.xz") as archive:
            archive.extractall(home, filter="data")


def versions() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir()) if FOLDER.exists() else []


def run(home: Path, names: Sequence[str], *, first: int, last: int) -> None:
    """Operators over the files from `first` to before `last`, until nothing is left to do."""
    (home / "files").mkdir(exist_ok=True)
    write_batches(home / "files", BATCHES[first:last], first=first)
    (home / "enough").touch()
    with (
        served(home) as url,
        Victim(Path(run_operators.__file__), home, url, "", *names, log=home / "log") as program,
    ):
        program.finish(seconds=900)


@contextmanager
def served(home: Path) -> Iterator[str]:
    (home / REDIS).mkdir(exist_ok=True)
    server = RedisServer(home / REDIS)
    try:
        yield server.url
    finally:
        server.kill()
