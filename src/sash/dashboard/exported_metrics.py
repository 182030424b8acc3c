"""Numbers of running queries for systems that collect metrics: which there are, and their latest values.

    counter    grows with every micro-batch:  events, late, reports, bytes of state, batches
    gauge      as of the latest micro-batch:  rate, lag of the watermark, open windows, state, degree

Each has the name of its query as label. What was not measured has no value, and a query that has ended no
gauges but `running`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from sash.dashboard.feed import QUERIES
from sash.dashboard.live_page_messages import Message


@dataclass(frozen=True)
class Metric:
    """One number of a query."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: Callable[[Message], float | None]
    """In a frame."""
    unit: str = ""


def _field(name: str, *, times: float = 1) -> Callable[[Message], float | None]:
    def value(frame: Message) -> float | None:
        found = frame.get(name)
        return None if found is None else float(found) * times

    return value


def _lag(frame: Message) -> float | None:
    began, watermark = frame.get("at"), frame.get("watermark")
    return None if began is None or watermark is None else (began - watermark) / 1000


RUNNING = Metric("running", "gauge", "Whether the query runs: 1 or 0.", lambda frame: 1.0)
METRICS = (
    Metric("batches", "counter", "Micro-batches that are done.", lambda frame: frame.get("batches", 1.0)),
    Metric("events", "counter", "Events that arrived.", _field("events")),
    Metric("late", "counter", "Events that came too late.", _field("late")),
    Metric("reports", "counter", "Rows that were emitted.", _field("reports")),
    Metric("state_read", "counter", "Bytes of state read from the store.", _field("read"), "bytes"),
    Metric("state_written", "counter", "Bytes of state written to the store.", _field("written"), "bytes"),
    Metric("rate", "gauge", "Events per second since the micro-batch before.", _field("rate")),
    Metric(
        "batch_duration", "gauge", "The latest micro-batch, from its trigger to its commit.",
        _field("latency", times=1e-3), "seconds",
    ),
    Metric(
        "watermark_lag", "gauge", "From the watermark to the clock, when the latest micro-batch began.",
        _lag, "seconds",
    ),
    Metric("open_windows", "gauge", "Windows of a busy key that wait for the watermark.", _field("open")),
    Metric("state_rows", "gauge", "Values in the state store.", _field("state_rows")),
    Metric("state_size", "gauge", "Memory of the state store.", _field("state_bytes"), "bytes"),
    Metric("degree", "gauge", "Tasks that share the stateful work.", _field("degree")),
    RUNNING,
)  # fmt: skip


@dataclass
class MetricValues:
    """The latest value of each metric, by query. Safe to use from any thread."""

    _queries: OrderedDict[str, dict[str, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, message: Message) -> None:
        """One more message: see `live_page_messages`."""
        with self._lock:
            values = self._queries.setdefault(message["query"], {})
            self._queries.move_to_end(message["query"])
            while len(self._queries) > QUERIES:
                self._queries.popitem(last=False)
            if message["kind"] == "started":
                values[RUNNING.name] = 1.0
            elif message["kind"] == "ended":
                for metric in METRICS:
                    if metric.kind == "gauge":
                        values.pop(metric.name, None)
                values[RUNNING.name] = 0.0
            elif message["kind"] == "frame":
                _add(values, message)

    def of(self, metric: Metric) -> Iterator[tuple[str, float]]:
        """The values of one metric, each with the name of its query."""
        with self._lock:
            found = [
                (query, values[metric.name])
                for query, values in self._queries.items()
                if metric.name in values
            ]
        return iter(found)


def _add(values: dict[str, float], frame: Message) -> None:
    for metric in METRICS:
        value = metric.value(frame)
        if metric.kind == "counter":
            if value is not None:
                values[metric.name] = values.get(metric.name, 0.0) + value
        elif value is None:
            values.pop(metric.name, None)
        else:
            values[metric.name] = value
