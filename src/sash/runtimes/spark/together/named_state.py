"""The state of several queries in one state store: a map for each, by its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.stateful_processor import MapState

from sash.runtimes.spark.state.operators_in_state import TOKEN


class NamedState:
    """What `StateOfBuckets` uses of a MapState, for one of the queries."""

    def __init__(self, state: MapState, name: str) -> None:
        self._state, self._name = state, name

    def getValue(self, key: tuple[int]) -> Any:
        return self._state.getValue((self._name, *key))

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        self._state.updateValue((self._name, *key), value)

    def removeKey(self, key: tuple[int]) -> None:
        self._state.removeKey((self._name, *key))

    def clear(self) -> None:
        """Remove all of it. Buckets that have nothing under the name are left after one look."""
        if self.getValue((TOKEN,)) is not None:
            for key in list(self.keys()):
                self.removeKey(key)

    def keys(self) -> Iterator[tuple[int]]:
        every = self._state.keys()
        return ((number,) for name, number in every if name == self._name)
