"""Which queries a checkpoint has, and what their state is called.

    <checkpoint>/sash/queries.3     {"bars": "bars 5d2…", "alerts": "alerts 09f…"}

A query that is added begins without state, also one that was there before and was removed in between: what
it held then lacks the events since. So the name of its state is another one each time that it is added.

    before the first batch    those that were there and those that are: nothing is forgotten if it fails
    after the first batch     those that are: the others have missed its events

So a start that fails changes nothing. Each change is a new file, after which the older ones go. One that a
crash has cut short is none: what it was written for did not happen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.runtimes.spark.compat import HadoopFolder
from sash.runtimes.spark.streaming.delivery import BatchFunction

FOLDER, FILE = "sash", "queries."
_SEALED_AS = b"queries of a stream"


class Register:
    """That of one checkpoint, as it was when the queries were started."""

    def __init__(self, spark: SparkSession, checkpoint: str, queries: Iterable[str]) -> None:
        self._folder = HadoopFolder(spark, f"{checkpoint}/{FOLDER}")
        self._written = self._newest(HadoopFolder(spark, f"{checkpoint}/commits"))
        self._before = self._written
        self.states = {name: self._before.get(name) or f"{name} {uuid4().hex[:8]}" for name in queries}
        """The name of each query's state."""

    def around(self, deliver: BatchFunction) -> BatchFunction:
        """The same function of `foreachBatch`, which keeps the register."""

        def registering(emitted: DataFrame, batch: int) -> None:
            if self._written != self.states:
                self._write({**self._before, **self.states})
            deliver(emitted, batch)
            self._write(self.states)

        return registering

    def _numbers(self) -> list[int]:
        names = (name.removeprefix(FILE) for name in self._folder.sizes() if name.startswith(FILE))
        return sorted(int(number) for number in names if number.isdecimal())

    def _newest(self, commits: HadoopFolder) -> dict[str, str]:
        damaged: CorruptValue | None = None
        for number in reversed(self._numbers()):
            try:
                data = self._folder.read(f"{FILE}{number}") or b""
                found: dict[str, str] = json.loads(bytes(unseal(_SEALED_AS, data)))
                return found
            except CorruptValue as error:
                damaged = error
        # Cut short before any batch was done, there is no state that it could name.
        if damaged is not None and commits.sizes():
            raise damaged
        return {}

    def _write(self, states: dict[str, str]) -> None:
        if states == self._written:
            return
        older = self._numbers()
        number = older[-1] + 1 if older else 0
        data = json.dumps(states, sort_keys=True).encode()
        self._folder.write(f"{FILE}{number}", seal(_SEALED_AS, data))
        self._written = states
        for one in older:
            self._folder.remove(f"{FILE}{one}")
