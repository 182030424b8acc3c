"""The small batches of a running query, for the planner's constants (`planner/costs/seen_in_queries.py`).

A thread waits for the end of the query and looks at its progress every few minutes. Nothing is done in a
batch, and nothing that fails here reaches the query. Batches count that bring few rows: what they take is
what every batch takes. Their sink must be one of our own that costs little; any other is part of no plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import Any, Literal

from pyspark.sql.streaming.query import StreamingQuery

from sash.planner.costs.constants import costs
from sash.planner.costs.seen_in_queries import LEAST, is_wanted, learn
from sash.runtimes.spark.sinks.console_and_noop import NoopSink
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.protocol import BatchSink
from sash.runtimes.spark.sinks.wrapped_sinks import innermost

FEW = 1_000
"""Rows of a batch whose time is not that of its rows."""
COLD = 3
"""Batches of a run in which workers start and Java compiles."""
PAUSE = 300
"""Seconds between two looks."""


def watch(
    query: Any,
    constant: Literal["epoch", "stateful"],
    sinks: Iterable[BatchSink],
    *,
    in_one_task: Callable[[int], bool] = lambda batch: False,
) -> Thread | None:
    """Learn from a query until it ends; None where nothing can be learned."""
    if not is_wanted() or not all(isinstance(innermost(sink), FolderSink | NoopSink) for sink in sinks):
        return None
    small = SmallBatches(constant, in_one_task)
    raw = StreamingQuery(query._jsq)

    def wait() -> None:
        with suppress(Exception):  # a failure of the query is for the one who started it
            while not raw.awaitTermination(PAUSE):
                small.look(raw.recentProgress)
        with suppress(Exception):
            small.look(raw.recentProgress)

    thread = Thread(target=wait, name="sash small batches", daemon=True)
    thread.start()
    return thread


class SmallBatches:
    """Those of one run, as its progress reports come."""

    def __init__(self, constant: Literal["epoch", "stateful"], in_one_task: Callable[[int], bool]) -> None:
        self._constant, self._in_one_task = constant, in_one_task
        self._done: int | None = None
        """The newest batch that was looked at."""
        self._times: list[float] = []

    def look(self, reports: Iterable[Any]) -> None:
        """Take the new ones; learn once there are enough."""
        for report in reports:
            if self._done is None:
                self._done = report.batchId + COLD - 1
            took = report.durationMs
            if report.batchId <= self._done or "addBatch" not in took:
                continue
            self._done = report.batchId
            if 0 < report.numInputRows <= FEW:
                # One task spares a stage, which a batch is taken to have.
                spared = costs().spark.stage if self._in_one_task(report.batchId) else 0.0
                self._times.append(1e6 * took["triggerExecution"] + spared)
        if len(self._times) >= LEAST:
            learn(self._constant, self._times)
            self._times = []
