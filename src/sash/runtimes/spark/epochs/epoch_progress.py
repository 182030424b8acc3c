"""Progress reports of queries that run in epochs, with what Spark does not know of them.

    observedMetrics    events, late events, reports and the other counts of a batch, as of other queries;
                       and how it was computed (`decision_records`)
    eventTime          the newest time and the watermark, where times are clock times
    stateOperators     keys, bytes of state, and the tasks of the step

Spark sees a stream without state. So the handle that `start` returns, and the listener of the page and of
the metrics, complete its reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol
from weakref import WeakValueDictionary

from sash.runtimes.observed_counts import metric_of
from sash.runtimes.spark.epochs.decision_records import with_decisions
from sash.runtimes.spark.epochs.epoch_metering import BatchMeter, BatchMetrics
from sash.runtimes.spark.packing.blocks import COUNTS
from sash.semantics.time_format import EPOCH


class MeteredRun(Protocol):
    """One run of a query in epochs."""

    @property
    def meter(self) -> BatchMeter: ...
    @property
    def has_clock_times(self) -> bool: ...


_RUNS: WeakValueDictionary[str, MeteredRun] = WeakValueDictionary()
"""Of this process, by the identifier that Spark gave them."""


def remember(run_id: str, run: MeteredRun) -> None:
    _RUNS[run_id] = run


def completed(report: Mapping[str, Any]) -> dict[str, Any]:
    """One of Spark's reports (its JSON), with what was decided for its batch. The rest is the same where
    the query does not run in epochs."""
    return with_decisions(_with_counts(report))


def _with_counts(report: Mapping[str, Any]) -> dict[str, Any]:
    found, run = dict(report), _RUNS.get(str(report["runId"]))
    batch = None if run is None else run.meter.of(int(report["batchId"]))
    if run is None or batch is None:
        return found
    counts = {query: dict(own) for query, own in batch.by_query.items()} or {
        "": {count: getattr(batch, count) for count in COUNTS}
    }
    observed = {metric_of(query): own for query, own in counts.items()}
    found["observedMetrics"] = {**(report.get("observedMetrics") or {}), **observed}
    found["stateOperators"] = [*(report.get("stateOperators") or []), _state(batch)]
    if run.has_clock_times:
        times = {"max": batch.newest, "watermark": batch.watermark}
        known = {name: _moment(time) for name, time in times.items() if time > 0}
        found["eventTime"] = {**(report.get("eventTime") or {}), **known}
    return found


def _moment(microseconds: int) -> str:
    """
    >>> _moment(1_767_609_000_250_000)
    '2026-01-05T10:30:00.250Z'
    """
    moment = EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _state(batch: BatchMetrics) -> dict[str, Any]:
    """As Spark describes the state of an operator of its own."""
    return {
        "operatorName": "sash", "numRowsTotal": batch.keys, "numRowsUpdated": batch.events,
        "numRowsRemoved": batch.forgotten, "allUpdatesTimeMs": round(1000 * batch.busy),
        "allRemovalsTimeMs": 0, "commitTimeMs": 0, "memoryUsedBytes": batch.state_bytes,
        "numRowsDroppedByWatermark": 0, "numShufflePartitions": batch.degree,
        "numStateStoreInstances": batch.degree, "customMetrics": {},
    }  # fmt: skip
