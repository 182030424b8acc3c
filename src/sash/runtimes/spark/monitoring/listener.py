"""Events of the streaming queries of a session, as plain data.

    started(name)      progress(name, report)      ended(name, error)

A listener of Spark is called for every query of its session, in threads of Spark's own; an observer
should hand the event on and return.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from sash.runtimes.spark.epochs.epoch_progress import completed


class QueryObserver(Protocol):
    """Is called for every event."""

    def started(self, name: str, run: str) -> None: ...
    def progress(self, name: str, report: Mapping[str, Any]) -> None: ...
    def ended(self, name: str, error: str | None) -> None: ...


def listen(spark: SparkSession, observer: QueryObserver) -> Callable[[], None]:
    """Call `observer` for the streaming queries of this session; the returned function ends that."""
    listener = _Listener(observer)
    spark.streams.addListener(listener)
    return lambda: spark.streams.removeListener(listener)


def name_of(query: Any) -> str:
    """A query is called by its name; one that has none by the beginning of its identifier."""
    return query.name or str(query.id)[:8]


class _Listener(StreamingQueryListener):
    def __init__(self, observer: QueryObserver) -> None:
        self._observer = observer
        self._names: dict[Any, str] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self._names[event.id] = name_of(event)
        self._observer.started(self._names[event.id], str(event.runId))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        name = self._names[event.progress.id] = name_of(event.progress)
        self._observer.progress(name, completed(json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing happened: time has not moved."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        name = self._names.pop(event.id, str(event.id)[:8])
        self._observer.ended(name, event.exception)
