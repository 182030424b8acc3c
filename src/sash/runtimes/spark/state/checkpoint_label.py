"""What names the checkpoint of that which is on a server, and whether the checkpoint is there still.

    checkpoint  its path, or its URL
    host        of a path: the machine that it is on
    parent      of a path: the number of the folder that it is in
    query       Spark's identifier, where nothing else on the server names it

Containers may share the name of their host, and each has a folder of its own under one path; so has a disk
that is mounted elsewhere by now. Their numbers differ. The first labels have neither `parent` nor `query`.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from pyarrow import fs

from sash.aggregation.stores.values import reading
from sash.errors import SashError, Unsupported
from sash.runtimes.spark.files.open_files import located

CheckpointState: TypeAlias = Literal["in use", "deleted", "unknown"]


@dataclass(frozen=True)
class CheckpointLabel:
    """What is not known is empty, or 0."""

    checkpoint: str = ""
    host: str = ""
    parent: int = 0
    query: str = ""

    @classmethod
    def here(cls, checkpoint: str, *, query: str = "") -> CheckpointLabel:
        """Of a checkpoint as this machine finds it."""
        try:
            system, path = located(checkpoint)
        except Unsupported:  # Spark itself may know its file system
            return cls(checkpoint, query=query)
        if not isinstance(system, fs.LocalFileSystem):
            return cls(checkpoint, query=query)
        place = Path(path).absolute()
        return cls(str(place), socket.gethostname(), _number(place.parent), query)

    @classmethod
    def of(cls, kept: bytes | None) -> CheckpointLabel:
        """CorruptValue for what nobody has made of one."""
        with reading("the label of a checkpoint"):
            facts = {} if kept is None else json.loads(kept)
            checkpoint, host, query = (facts.get(name, "") for name in ("checkpoint", "host", "query"))
            parent = facts.get("parent", 0)
            "".join((checkpoint, host, query)).encode()  # also refuses what could not be printed
            if type(parent) is not int:
                raise TypeError(f"{parent!r} is not the number of a folder")
        return cls(checkpoint, host, parent, query)

    def __bytes__(self) -> bytes:
        return json.dumps({name: value for name, value in asdict(self).items() if value}).encode()

    def judged(self, query: str) -> tuple[CheckpointState, str]:
        """Whether this query has its checkpoint there, and why that is unknown if it is. It is deleted only
        where something shows that its disk is there, and that no other place is taken for it."""
        if not self.checkpoint or not query:
            return "unknown", "it does not name its checkpoint"
        if self.host and self.host != socket.gethostname():
            return "unknown", f"its checkpoint is on the host {self.host}"
        try:
            system, path = located(self.checkpoint)
            found = _query_at(system, path)
            if found == query:
                return "in use", ""
            if found is None and not _is_mounted(system, path):
                return "unknown", "the disk of its checkpoint may be away"
            if self.parent and _number(Path(path).parent) != self.parent:
                return "unknown", "its checkpoint was in another folder than the one with this path"
        except (OSError, ValueError, LookupError, TypeError, SashError) as error:
            return "unknown", f"its checkpoint cannot be read: {error}"
        return "deleted", ""


def _query_at(system: fs.FileSystem, checkpoint: str) -> str | None:
    """The identifier of the query that has begun there; None if none has."""
    try:
        with system.open_input_file(f"{checkpoint}/metadata") as file:
            return str(json.loads(file.read().decode())["id"])
    except FileNotFoundError:
        return None


def _is_mounted(system: fs.FileSystem, path: str) -> bool:
    """Whether the disk of this folder is certainly there: something else is, in it or beside it. A disk
    that is away leaves an empty folder, or none."""
    there = system.get_file_info(path).type == fs.FileType.Directory
    place = path if there else str(PurePosixPath(path).parent)
    return bool(system.get_file_info(fs.FileSelector(place, allow_not_found=True)))


def _number(folder: Path) -> int:
    """The number that its disk has given to a folder; 0 if there is none."""
    try:
        return folder.stat().st_ino
    except OSError:
        return 0
