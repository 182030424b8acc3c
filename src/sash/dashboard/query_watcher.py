"""Watching the streaming queries of a Spark session: progress reports in, messages out.

    watching = watch(spark, feed)                       every query of the session, from now on
    watching.add(handle, query=q, reports="out")        what Spark does not know of this one
    watching.stop()

Queries that run together (`sash.together`) are several to whoever looks: each has its own messages.

What Spark's progress reports do not have comes from the query itself: `explain()`, and the windows that are
open; and the windows of each key from the folder that it writes to.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from threading import Thread
from time import time
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from sash.dashboard.live_page_messages import Message, MessageSink, frames_of, name_in
from sash.dashboard.open_windows import open_windows
from sash.dashboard.pending_news import PendingBatch, PendingNews
from sash.dashboard.report_folder import ReportFolder
from sash.operators.bound_query import UPDATED_AT, BoundLatest, BoundQuery, BoundRolling
from sash.planner.explain.explanation_text import as_text
from sash.semantics.window import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sash.api.together import Together
    from sash.api.window_query import WindowQuery

Reports: TypeAlias = str | PathLike[str]
"""The folder that a query writes to."""


@dataclass
class _Known:
    """What is known of a query besides its progress."""

    windows: tuple[Window, ...] = ()
    scale: int = 1000
    """Units of its times in a millisecond."""
    delay: int | None = None
    reported: ReportFolder | None = None
    newest: int | None = None
    began: int | None = None
    """When its latest micro-batch began."""


def watch(spark: SparkSession, sink: MessageSink) -> Watching:
    """Send messages about every streaming query of the session to a Feed or a MessageFolder."""
    from sash.runtimes.spark.monitoring.listener import listen

    watching = Watching(sink)
    watching.listening = listen(spark, watching)
    return watching


class Watching:
    """A thread that turns news of queries into messages, so that Spark's threads need not wait."""

    listening: Callable[[], None] | None = None

    def __init__(self, sink: MessageSink) -> None:
        self._taker = sink
        # All of these are changed by the thread alone.
        self._known: dict[str, _Known] = {}
        self._queries: dict[str, list[str]] = {}
        """Of each stream, once it is known which queries run in it."""
        self._began: dict[str, Message] = {}
        """Streams that have started, until that is known."""
        self._news = PendingNews()
        self._thread = Thread(target=self._work, name="sash watch", daemon=True)
        self._thread.start()

    def add(
        self,
        handle: Any,
        *,
        query: WindowQuery | Together | None = None,
        reports: Reports | Mapping[str, Reports] | None = None,
    ) -> None:
        """Add what Spark does not know of a running query, or of several that run together.

        handle:  what `start()` gave; its degree is shown when it is elastic.
        query:   the Sash query that it runs, for explain() and for the windows that are open.
        reports: the folder of parquet files that it writes to, for the latest windows of each key; by the
            name of the query for several.
        """
        from sash.api.together import Together
        from sash.runtimes.spark.monitoring.listener import name_of

        stream = name_of(handle)
        if isinstance(query, Together):
            folders = reports if isinstance(reports, Mapping) else {}
            several: dict[str, WindowQuery | None] = dict(query.queries)
        else:
            folders, several = {"": cast(Reports, reports)}, {"": query}
        added = {name: _added(handle, one, folders.get(name)) for name, one in several.items()}
        self._news.put(lambda: self._add(stream, added))

    def _add(self, stream: str, added: Mapping[str, tuple[_Known, dict[str, Any]]]) -> None:
        self._begin(stream, list(added))
        for query, (known, about) in added.items():
            name = name_in(stream, query)
            self._known[name] = known
            self._taker.take({"kind": "about", "query": name, **about})

    def _begin(self, stream: str, queries: list[str]) -> None:
        """It is known which queries run in a stream."""
        self._queries[stream] = queries
        began = self._began.pop(stream, None)
        if began is not None:
            for query in queries:
                self._taker.take({**began, "query": name_in(stream, query)})

    def stop(self) -> None:
        """Stop; pending messages are sent before this returns."""
        if self.listening is not None:
            self.listening()
            self.listening = None
        self._news.put(None)
        self._thread.join()

    def started(self, name: str, run: str) -> None:
        began = {"kind": "started", "run": run, "at": round(time() * 1000)}
        self._news.put(lambda: self._began.update({name: began}))

    def progress(self, name: str, report: Mapping[str, Any]) -> None:
        # Made here: frames are small, and all that may wait is frames.
        frames = frames_of(report, stream=name, queries=self._queries.get(name, ()))
        self._news.put_batch(name, frames)

    def ended(self, name: str, error: str | None) -> None:
        first = error.strip().splitlines()[0] if error and error.strip() else None
        ended = {"kind": "ended", "error": first, "at": round(time() * 1000)}
        self._news.put(lambda: self._ended(name, ended))

    def _work(self) -> None:
        while (news := self._news.take()) is not None:
            try:
                if isinstance(news, PendingBatch):
                    self._progress(news)
                else:
                    news()
            except Exception:
                # A full disk, or a folder that is gone: the next message may get through.
                logging.getLogger("sash.dashboard").exception("a message about a query was lost")

    def _ended(self, stream: str, ended: Message) -> None:
        if stream not in self._queries:
            self._begin(stream, [""])
        for query in self._queries.pop(stream):
            name = name_in(stream, query)
            self._look(name)
            self._taker.take({**ended, "query": name})

    def _progress(self, batch: PendingBatch) -> None:
        if batch.stream not in self._queries:
            self._begin(batch.stream, list(batch.frames))
        for query, frame in batch.frames.items():
            self._take(frame, shared=query != "")
        if not self._news.has_later(batch.stream):  # whose look finds what this one would
            for frame in batch.frames.values():
                self._look(frame["query"], frame["batch"])

    def _take(self, frame: dict[str, Any], *, shared: bool) -> None:
        """`shared`: with other queries, on a watermark that has no delay."""
        name = frame["query"]
        known = self._known.setdefault(name, _Known())
        if shared and frame["watermark"] is not None:
            behind = None if known.delay is None else -(known.delay // -known.scale)
            frame["watermark"] = None if behind is None else frame["watermark"] - behind
        frame["rate"] = _rate(frame, known.began)
        known.began = frame["at"]
        known.newest = max((at for at in (known.newest, frame["newest"]) if at is not None), default=None)
        frame["newest"] = known.newest
        if frame["watermark"] is not None and known.newest is not None:
            frame["open"] = open_windows(
                known.windows, watermark=frame["watermark"] * known.scale, newest=known.newest * known.scale
            )
        self._taker.take(frame)

    def _look(self, name: str, batch: int | None = None) -> None:
        known = self._known.get(name)
        found = known.reported.look(batch) if known and known.reported else None
        if found is not None:
            self._taker.take({"kind": "reports", "query": name, **found})


def _added(
    handle: Any, query: WindowQuery | None, reports: Reports | None
) -> tuple[_Known, dict[str, Any]]:
    """What is known of a query, and what is shown of that."""
    known = _Known()
    about: dict[str, Any] = {"elastic": hasattr(handle, "degrees")}
    if query is not None:
        bound = query.bound
        known = replace(
            known, windows=bound.query.windows, delay=bound.query.delay.length,
            scale=1000 if pa.types.is_timestamp(bound.time_type) else 1,
            reported=None if reports is None else _reported(reports, bound),
        )  # fmt: skip
        about |= _explained(query) | {"keys": list(bound.keys)}
    return known, about | {"reports": known.reported is not None}


def _rate(frame: Mapping[str, Any], before: int | None) -> float | None:
    """Events per second since the micro-batch before began."""
    at = frame["at"]
    return 1000 * frame["events"] / (at - before) if before is not None and at and at > before else None


def _explained(query: WindowQuery) -> dict[str, Any]:
    """What `query.explain()` returns, without printing it."""
    explanation = query.plan().explanation
    return {"plan": json.loads(explanation.as_json()), "explain": as_text(explanation)}


def _reported(path: Reports, bound: BoundQuery) -> ReportFolder:
    counts = [name for name, one in bound.aggregates.items() if one.name == "count" and not one.columns]
    if isinstance(bound, BoundRolling):
        # The events of the shortest look-back rank the keys.
        instant = UPDATED_AT if isinstance(bound, BoundLatest) else bound.time
        features = tuple(field.name for field in bound.features)
        ranked = [bound.feature(name, bound.query.windows[0]) for name in counts]
        return ReportFolder(
            path, keys=bound.keys, values=features, count=next(iter(ranked), None), time=instant
        )
    values = tuple(field.name for field in bound.values)
    return ReportFolder(path, keys=bound.keys, values=values, count=next(iter(counts), None))
