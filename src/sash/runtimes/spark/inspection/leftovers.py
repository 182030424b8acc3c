"""Elastic queries whose state is on a Redis server, and which of them can never go on.

LMDB lies in the checkpoint and goes with it. What is on a server stays when a checkpoint is deleted, since
nobody is there to know. So the journal of a query names its checkpoint and the host that made it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.errors import SashError
from sash.runtimes.spark.epochs.epoch_journal import CHECKPOINT
from sash.runtimes.spark.epochs.store_of_state import JOURNAL
from sash.runtimes.spark.files.open_files import located


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
    names = server.names()
    server.close()
    for journal in (name for name in names if name.endswith(f".{JOURNAL}")):
        query = journal.removesuffix(JOURNAL)
        with Redis(url, namespace=journal) as store:
            (saved,) = store.get_many([CHECKPOINT])
        place = {"checkpoint": "", "host": ""} if saved is None else json.loads(saved)
        own = tuple(name for name in names if name.startswith(query))
        state = _state(place["checkpoint"], place["host"], query.rstrip("."))
        yield ServedQuery(query.rstrip("."), place["checkpoint"], state, own)


def _state(checkpoint: str, host: str, query: str) -> Literal["in use", "deleted", "unknown"]:
    if not checkpoint or (host and host != socket.gethostname()):
        return "unknown"
    try:
        system, path = located(checkpoint)
        with system.open_input_file(f"{path}/metadata") as file:
            kept = json.loads(file.read().decode())["id"]
    except FileNotFoundError:
        return "deleted"
    except (OSError, ValueError, KeyError, TypeError, SashError):
        return "unknown"
    # Another query has begun at the same place.
    return "in use" if kept == query else "deleted"
