"""A streaming query that runs: Spark's handle, with reports that are complete, `explain("plan")` for how
the latest batch was computed, and two differences where somebody waits for its end.

it fails     StreamFailed with the sentence that helps, in place of the stacks of two languages;
             `query.exception()` still has these
Ctrl-C       the query is stopped between two looks, then KeyboardInterrupt is raised. Where nobody
             catches it, one line is printed in place of a traceback, and the exit code is 130 as ever
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Literal, cast

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from sash.errors import QueryFailed
from sash.runtimes.interrupts import CTRL_C, interrupts
from sash.runtimes.observed_counts import decisions_in
from sash.runtimes.spark.epochs.decision_records import in_lines
from sash.runtimes.spark.epochs.epoch_progress import completed
from sash.runtimes.spark.failures import sentence_of

POLL = 0.5
"""Seconds between two looks for an interrupt."""


class StreamFailed(QueryFailed, StreamingQueryException):
    """A streaming query has failed; also what PySpark raises then."""

    def __init__(self, words: str) -> None:
        StreamingQueryException.__init__(self, message=words)
        self.args = (words,)

    def __str__(self) -> str:
        return str(self.args[0])


class RunningQuery(StreamingQuery):
    """The handle that `start` returns."""

    places: tuple[str, ...] = ()
    """Folders that it writes."""

    @classmethod
    def of(cls, query: StreamingQuery, places: Iterable[str] = ()) -> RunningQuery:
        running = cls(query._jsq)
        running.places = tuple(places)
        return running

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:
        """The report of the latest batch."""
        report = super().lastProgress
        return None if report is None else _completed(report)

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:
        """The reports of the latest batches, as many as `spark.sql.streaming.numRecentProgressUpdates`."""
        return [_completed(report) for report in super().recentProgress]

    @property
    def decisions(self) -> list[str]:
        """How the latest batch was computed, and why; empty where nothing was decided for it."""
        report = super().lastProgress
        return [] if report is None else decisions_in(completed(json.loads(report.json)))

    def explain(self, extended: bool | Literal["plan"] = False) -> None:
        """Print Spark's plan of the latest batch; with "plan", what was decided for it, and why."""
        if extended != "plan":
            super().explain(bool(extended))
            return
        report = super().lastProgress
        print("no batch is done yet" if report is None else in_lines(report.batchId, self.decisions))

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait for the end; with a timeout in seconds, return whether it has come.

        StreamFailed when the query has failed. Ctrl-C stops the query and raises KeyboardInterrupt.
        """
        until = None if timeout is None else time.monotonic() + timeout
        with interrupts(CTRL_C) as stop:
            try:
                while not stop.is_set():
                    left = POLL if until is None else min(POLL, until - time.monotonic())
                    # PySpark takes fractions of a second, and its annotation does not.
                    if super().awaitTermination(cast(int, max(left, 0.001))):
                        return None if timeout is None else True
                    if until is not None and time.monotonic() >= until:
                        return False
            except StreamingQueryException as error:
                raise StreamFailed(sentence_of(error, named=True, places=self.places)) from None
            self.stop()
        raise _interrupt(f"{self.name or 'the query'} is stopped; it can be resumed from its checkpoint")


def _completed(report: StreamingQueryProgress) -> StreamingQueryProgress:
    return StreamingQueryProgress.fromJson(completed(json.loads(report.json)))


def _interrupt(words: str) -> KeyboardInterrupt:
    """One that is shown in one line when nothing catches it."""
    error, before = KeyboardInterrupt(words), sys.excepthook

    def shown(kind: type[BaseException], raised: BaseException, trace: TracebackType | None) -> Any:
        if raised is error:
            print(f"\n{words}" if sys.stderr.isatty() else words, file=sys.stderr)
        else:
            before(kind, raised, trace)

    sys.excepthook = shown
    return error
