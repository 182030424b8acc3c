"""Which queries a checkpoint has, what their state is called, and what they are: on the driver, so that a
query is compared with its checkpoint before anything runs.

    <checkpoint>/sash/queries.3     {"layout": 1, "queries": {"bars": {"state": "bars 5d2…", "query": …}}}

A query that was started alone has no name. One that is added begins without state, also one that was there
before and was removed in between: what it held then lacks the events since. So the name of its state is
another one each time that it is added.

    before the first batch    those that were there and those that are: nothing is forgotten if it fails
    after the first batch     those that are, as they are: the others have missed its events

So a start that fails changes nothing. Each change is a new file, after which the older ones go. One that a
crash has cut short is none: what it was written for did not happen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from sash.aggregation.stores.values import reading, require_layout, seal, unseal
from sash.errors import CorruptValue
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.state.checkpoint_compatibility import change_of, refused
from sash.runtimes.spark.state.fingerprint import BUCKET_NUMBERS, canonical
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import BatchFunction

FOLDER, FILE = "sash", "queries."
_SEALED_AS = b"queries of a stream"
LAYOUT = 1
"""The first registers were the queries alone, by name, without it."""
ALONE = ""
"""The name of a query that was started alone."""


class Registered(NamedTuple):
    """A query of a checkpoint."""

    state: str
    query: Mapping[str, Any] | None = None
    """Its description; None where an older version has not kept it."""


class Register:
    """That of one checkpoint, as it was when the queries were started."""

    def __init__(self, spark: SparkSession, checkpoint: str, queries: Iterable[str] = (ALONE,)) -> None:
        self._folder = HadoopFolder(spark, f"{checkpoint}/{FOLDER}")
        self._commits = HadoopFolder(spark, f"{checkpoint}/commits")
        self._state = HadoopFolder(spark, f"{checkpoint}/state")
        self._written = self._newest()
        self._before = self._written
        self._now = {
            name: self._before.get(name) or Registered(name and f"{name} {uuid4().hex[:8]}")
            for name in queries
        }

    @property
    def states(self) -> dict[str, str]:
        """The name of each query's state."""
        return {name: own.state for name, own in self._now.items()}

    @property
    def gone(self) -> tuple[str, ...]:
        """The states of queries that were there, and are not started any more."""
        return tuple(own.state for name, own in self._before.items() if name not in self._now)

    def described(self, name: str = ALONE) -> Mapping[str, Any] | None:
        """What a query of the checkpoint is; None where there is none, or its description was not kept."""
        kept = self._before.get(name)
        return None if kept is None else kept.query

    def buckets(self, name: str = ALONE) -> tuple[int, ...] | None:
        """The numbers of a query's buckets, which are fixed for the life of a checkpoint."""
        kept = self.described(name)
        numbers = None if kept is None else kept.get(BUCKET_NUMBERS)
        return None if numbers is None or not self._commits.sizes() else tuple(numbers)

    def require_same(self, descriptions: Mapping[str, Mapping[str, Any]]) -> None:
        """DifferentQuery where one of the queries cannot go on from what the checkpoint has of it. What was
        registered before any batch was done has left no state."""
        begun = bool(self._commits.sizes())
        if begun and not self._state.names():
            raise refused("by an elastic query, or by one that keeps no state: there is none of Spark's")
        if begun and self._before and (ALONE in self._before) != (ALONE in self._now):
            raise refused(
                "by a query that was started alone" if ALONE in self._before else "by sash.together(…)"
            )
        for name, description in descriptions.items():
            kept = self._now[name].query
            if begun and kept is not None:
                change_of(canonical(kept), description)
            self._now[name] = Registered(self._now[name].state, description)

    def around(self, deliver: BatchFunction) -> BatchFunction:
        """The same function of `foreachBatch`, which keeps the register."""

        def registering(emitted: DataFrame, batch: int) -> None:
            if self._written.keys() != self._now.keys():
                self._write({**self._now, **self._before})
            deliver(emitted, batch)
            self._write(self._now)

        return registering

    def _numbers(self) -> list[int]:
        names = (name.removeprefix(FILE) for name in self._folder.sizes() if name.startswith(FILE))
        return sorted(int(number) for number in names if number.isdecimal())

    def _newest(self) -> dict[str, Registered]:
        damaged: CorruptValue | None = None
        for number in reversed(self._numbers()):
            try:
                data = self._folder.read(f"{FILE}{number}") or b""
                return queries_in(data)
            except CorruptValue as error:
                damaged = error
        # Cut short before any batch was done, there is no state that it could name.
        if damaged is not None and self._commits.sizes():
            raise damaged
        return {}

    def _write(self, queries: dict[str, Registered]) -> None:
        if queries == self._written:
            return
        older = self._numbers()
        number = older[-1] + 1 if older else 0
        content = {"layout": LAYOUT, "queries": {name: own._asdict() for name, own in queries.items()}}
        data = json.dumps(content, sort_keys=True).encode()
        self._folder.write(f"{FILE}{number}", seal(_SEALED_AS, data))
        self._written = dict(queries)
        for one in older:
            self._folder.remove(f"{FILE}{one}")


def queries_in(data: bytes) -> dict[str, Registered]:
    """The queries of a register, by name; CorruptValue if these bytes are none."""
    with reading("the register of queries"):
        found = json.loads(bytes(unseal(_SEALED_AS, data)))
        if isinstance(found.get("layout"), int):  # else a query of this name
            require_layout("the register of queries", found["layout"], LAYOUT)
            found = found["queries"]
        return {
            name: Registered(own) if isinstance(own, str) else Registered(**own)
            for name, own in found.items()
        }
