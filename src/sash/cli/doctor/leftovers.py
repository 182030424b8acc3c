"""What dead processes and deleted checkpoints have left: shown, and deleted if wanted.

<shared memory>/sash-<pid>-…      rows on their way to worker processes, removed when a query ends
<temporary>/sash-run-…            the checkpoint of a `sash run` without one; sash-calibrate-…, sash-demo-…
sash-arenas-<user>/<arena>        state in mapped files; any running query removes those of the dead
a Redis server                    state of elastic queries, and published features, of deleted checkpoints
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sash.cli.doctor.health_check import HealthCheck
from sash.operators.arena.arena_folder import IDLE, ArenaHome, local_folders
from sash.operators.arena.owned_folders import OWNER
from sash.operators.arena.owners import is_gone

if TYPE_CHECKING:
    from sash.runtimes.spark.inspection.leftovers import ServedQuery

_OF_PROCESS = re.compile(r"sash-(\d+|run|calibrate|demo)-\w+")
MEMORY = Path("/dev/shm")
MACHINE = "machine"
"""Instead of a URL: what was left on this machine."""


@dataclass(frozen=True)
class Leftover:
    """A folder that nobody needs any more."""

    path: str
    what: str
    bytes: int


def clean_machine(*, delete: bool, as_json: bool) -> None:
    """What killed processes of this user have left here, by path."""
    found = [*_of_processes(), *_arenas()]
    if delete:
        for one in found:
            if one.what != "arena":
                shutil.rmtree(one.path, ignore_errors=True)
        for home in _homes():
            home.sweep()
    removed = sum(not Path(one.path).exists() for one in found)
    if as_json:
        print(json.dumps({"leftovers": [asdict(one) for one in found], "removed": removed}, indent=2))
        return
    for one in found:
        print(f"{one.bytes:>14,} bytes  {one.what:<17}  {one.path}")
    count = len(found)
    if not count:
        print("nothing to delete: no killed process has left anything on this machine")
    else:
        print(f"deleted {removed} of {count}" if delete else f"would delete {count}: add --delete")


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
            if name and mine and _is_left(path, name[1]):
                what = "rows for workers" if name[1].isdigit() else f"sash {name[1]}"
                yield Leftover(str(path), what, _size(path))


def _is_left(folder: Path, whose: str) -> bool:
    """Whether its process certainly has ended. Of one that is not named there, whether the name of the
    folder has its number, an hour has passed in which nothing came, and no such process runs."""
    with suppress(OSError):
        if owner := (folder / OWNER).read_text():
            return is_gone(owner)
    idle = time.time() - folder.stat().st_mtime > IDLE
    return whose.isdigit() and idle and not Path(f"/proc/{whose}").exists()


def _arenas() -> Iterator[Leftover]:
    for home in _homes():
        for name in home.unused():
            yield Leftover(str(home.folder / name), "arena", _size(home.folder / name))


def _homes() -> list[ArenaHome]:
    """In all folders that may have one: the first that could be written then is not the first now."""
    homes = (home for local in local_folders() for home in ArenaHome.on_this_machine(local))
    return list({home.folder: home for home in homes}.values())


def _size(folder: Path) -> int:
    """Bytes on disk or in memory: mapped files have holes."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def clean(url: str, *, delete: bool, as_json: bool, idle: float | None = None) -> None:
    """Only what certainly belongs to a deleted checkpoint, and was not used for so long, is deleted."""
    if url == MACHINE:
        return clean_machine(delete=delete, as_json=as_json)
    from sash.runtimes.spark.inspection import leftovers as server

    least = server.IDLE if idle is None else idle
    queries = list(server.served_queries(url, least=least))
    features = list(server.served_features(url, least=least))
    dead = [each for each in (*queries, *features) if each.state == "deleted"]
    removed = server.remove(url, dead, least=least) if delete else {}
    keys = sum(removed.values())
    if as_json:
        found = {"queries": queries, "features": features}
        shown = {what: [asdict(each) for each in some] for what, some in found.items()}
        print(json.dumps({**shown, "removed_keys": keys}, indent=2))
        return None
    for each in (*queries, *features):
        held = f"{each.query}  {len(each.namespaces)} namespaces"
        if each.what == "features":
            held = f"features {each.namespaces[0]}"
        place = each.checkpoint and f", of {each.checkpoint}"
        print(f"{each.state:<8}  {held}{place}{each.why and f': {each.why}'}")

    def counts(some: Collection[ServedQuery]) -> str:
        words = f"the state of {sum(each.what == 'state' for each in some)} of {len(queries)} queries"
        if features:
            words += (
                f" and the features of {sum(each.what == 'features' for each in some)} of {len(features)}"
            )
        return words

    if not dead:
        print("nothing to delete: no query here belongs to a checkpoint that was deleted")
    elif delete:
        print(f"deleted {counts(removed)}: {keys} keys")
    else:
        print(f"would delete {counts(dead)}: add --delete to do so")
    return None
