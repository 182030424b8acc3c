"""A processor that is light to unpack, around one that is not.

Before the first micro-batch, and again after a restart, Spark starts a Python process on the driver that
unpacks the processor and reads its state variables. The windows, kernels and columns behind ours take
half a second to import, which that process has no use for. So they travel as bytes, and are unpacked where
the first bucket is worked on. This module imports nothing but Spark's own.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, Protocol

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

VARIABLE = "sash"
_BYTES = StructType([StructField("bytes", BinaryType())])
_NUMBER = StructType([StructField("number", LongType())])
_NAMED = StructType([StructField("query", StringType()), *_NUMBER.fields])


def state_of(handle: StatefulProcessorHandle, *, named: bool = False) -> MapState:
    """What a bucket has in Spark's state store: see `state`. One variable, since every task declares its
    variables again, which takes Spark 3 ms for each. Where there are several queries, it is `named`."""
    return handle.getMapState(VARIABLE, _NAMED if named else _NUMBER, _BYTES)


class Heavy(Protocol):
    """The processor that does the work."""

    def begin(self, handle: StatefulProcessorHandle, state: MapState) -> None: ...
    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[Row]: ...
    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]: ...


class LightProcessor(StatefulProcessor):
    """What `transformWithState` runs. The names of the handlers' arguments are Spark's."""

    def __init__(self, heavy: Heavy, *, named: bool = False) -> None:
        self._named = named
        self._packed: bytes = cloudpickle.dumps(heavy)  # type: ignore[no-untyped-call]
        self._heavy: Heavy | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle, self._state = handle, state_of(handle, named=self._named)

    def handleInputRows(self, key: Any, rows: Any, timerValues: TimerValues) -> Iterator[Row]:
        return self._unpacked().handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        return self._unpacked().handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def _unpacked(self) -> Heavy:
        if self._heavy is None:
            heavy: Heavy = pickle.loads(self._packed)
            heavy.begin(self._handle, self._state)
            self._heavy = heavy
        return self._heavy

    def __getstate__(self) -> dict[str, Any]:
        return {"_packed": self._packed, "_named": self._named, "_heavy": None}
