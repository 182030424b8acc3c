"""Elastic queries whose state is on a Redis server, and which of them can never go on.

LMDB lies in the checkpoint and goes with it. What is on a server stays when a checkpoint is deleted, since
nobody is there to know. So the journal of a query names its checkpoint and the host that made it.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from pyarrow import fs

from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.errors import SashError
from sash.runtimes.spark.epochs.epoch_journal import CHECKPOINT
from sash.runtimes.spark.epochs.store_of_state import BUCKET, JOURNAL
from sash.runtimes.spark.files.open_files import located

_OF_QUERY = re.compile(rf"(?P<query>.+)\.({JOURNAL}|{BUCKET}\d+)")


@dataclass(frozen=True)
class ServedQuery:
    """An elastic query that has state on a server."""

    query: str
    """Spark's identifier."""
    checkpoint: str
    """Empty if it is not known."""
    state: Literal["in use", "deleted", "unknown"]
    """Whether its checkpoint is there; unknown if that cannot be found out from here."""
    namespaces: tuple[str, ...]


def served_queries(url: str) -> Iterator[ServedQuery]:
    """All of them, by identifier."""
    server = RedisNamespaces(url)
    own: dict[str, list[str]] = {}
    for name in server.names():
        if found := _OF_QUERY.fullmatch(name):
            own.setdefault(found["query"], []).append(name)
    for query, names in own.items():
        journal = f"{query}.{JOURNAL}"
        with Redis(url, namespace=journal) as store:
            (saved,) = store.get_many([CHECKPOINT])
        # A query that has died in its first batch has committed no journal.
        saved = saved or server.label(journal)
        place = {"checkpoint": "", "host": ""} | ({} if saved is None else json.loads(saved))
        state = _state(place["checkpoint"], place["host"], query)
        yield ServedQuery(query, place["checkpoint"], state, tuple(names))
    server.close()


def _state(checkpoint: str, host: str, query: str) -> Literal["in use", "deleted", "unknown"]:
    if not checkpoint or (host and host != socket.gethostname()):
        return "unknown"
    try:
        system, path = located(checkpoint)
        with system.open_input_file(f"{path}/metadata") as file:
            kept = json.loads(file.read().decode())["id"]
    except FileNotFoundError:
        return "deleted" if _is_mounted(system, path) else "unknown"
    except (OSError, ValueError, KeyError, TypeError, SashError):
        return "unknown"
    # Another query has begun at the same place.
    return "in use" if kept == query else "deleted"


def _is_mounted(system: fs.FileSystem, path: str) -> bool:
    """Whether the disk of this folder is certainly there: something else is, in it or beside it. A disk
    that is away leaves an empty folder, or none."""
    try:
        there = system.get_file_info(path).type == fs.FileType.Directory
        place = path if there else str(PurePosixPath(path).parent)
        return bool(system.get_file_info(fs.FileSelector(place, allow_not_found=True)))
    except OSError:
        return False
