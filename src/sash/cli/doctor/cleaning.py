"""State of elastic queries on a Redis server whose checkpoints are gone: shown, and deleted if asked."""

from __future__ import annotations

import json
from dataclasses import asdict

from sash.aggregation.stores.redis_namespaces import RedisNamespaces


def clean(url: str, *, delete: bool, as_json: bool) -> None:
    """Only what certainly belongs to a deleted checkpoint is deleted."""
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
        return
    for query in queries:
        place = query.checkpoint or "a checkpoint that it does not name"
        print(f"{query.state:<8}  {query.query}  {len(query.namespaces)} namespaces, of {place}")
    if not dead:
        print("nothing to delete: no query here belongs to a checkpoint that was deleted")
    elif delete:
        print(f"deleted the state of {len(dead)} of {len(queries)} queries: {keys} keys")
    else:
        print(f"would delete the state of {len(dead)} of {len(queries)} queries: add --delete to do so")
