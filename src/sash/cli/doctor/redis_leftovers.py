"""State of elastic queries on a Redis server whose checkpoints are gone: shown, and deleted if wanted."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, cast

from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.cli.doctor.machine_leftovers import leftovers

MACHINE = "machine"
"""Instead of a URL: what was left on this machine."""


def clean_machine(*, delete: bool, as_json: bool) -> None:
    """What killed processes have left here."""
    found = leftovers(delete=delete)
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for one in cast(list[dict[str, Any]], found["leftovers"]):
        print(f"{one['bytes']:>14,} bytes  {one['what']:<17}  {one['path']}")
    count = len(cast(list[Any], found["leftovers"]))
    if not count:
        print("nothing to delete: no killed process has left anything on this machine")
    else:
        print(f"deleted {found['removed']} of {count}" if delete else f"would delete {count}: add --delete")


def clean(url: str, *, delete: bool, as_json: bool) -> None:
    """Only what certainly belongs to a deleted checkpoint is deleted."""
    if url == MACHINE:
        return clean_machine(delete=delete, as_json=as_json)
    from sash.runtimes.spark.inspection.leftovers import served_queries

    queries = list(served_queries(url))
    dead = [query for query in queries if query.state == "deleted"]
    keys = 0
    if delete and dead:
        server = RedisNamespaces(url)
        keys = server.remove(name for query in dead for name in query.namespaces)
        server.close()
    if as_json:
        print(json.dumps({"queries": [asdict(query) for query in queries], "removed_keys": keys}, indent=2))
        return None
    for query in queries:
        place = query.checkpoint or "a checkpoint that it does not name"
        print(f"{query.state:<8}  {query.query}  {len(query.namespaces)} namespaces, of {place}")
    if not dead:
        print("nothing to delete: no query here belongs to a checkpoint that was deleted")
    elif delete:
        print(f"deleted the state of {len(dead)} of {len(queries)} queries: {keys} keys")
    else:
        print(f"would delete the state of {len(dead)} of {len(queries)} queries: add --delete to do so")
    return None
