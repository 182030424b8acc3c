"""Metrics of running queries for OpenTelemetry: observable instruments of a meter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sash.dashboard.exported_metrics import METRICS, Metric, MetricValues
from sash.dashboard.live_page_messages import Message
from sash.errors import MissingDependency

UNITS = {"bytes": "By", "seconds": "s", "": "1"}
"""As OpenTelemetry writes them."""


class OpenTelemetryMetrics:
    """A sink for `watch`. The SDK of the program decides where metrics go, and how often."""

    def __init__(self, meter: Any = None) -> None:
        """meter: `opentelemetry.metrics.get_meter("sash")` when not given."""
        try:
            from opentelemetry import metrics
        except ModuleNotFoundError:
            raise MissingDependency(
                "metrics for OpenTelemetry need opentelemetry-api; install it with: "
                "pip install opentelemetry-api",
                name="opentelemetry",
            ) from None
        self._values = MetricValues()
        meter = metrics.get_meter("sash") if meter is None else meter
        makers = {"counter": meter.create_observable_counter, "gauge": meter.create_observable_gauge}
        self._instruments = [
            makers[metric.kind](
                f"sash.{metric.name}", callbacks=[self._reader(metric)], unit=UNITS[metric.unit],
                description=metric.help,
            )
            for metric in METRICS
        ]  # fmt: skip

    def take(self, message: Message) -> None:
        """One more message: see `live_page_messages`."""
        self._values.take(message)

    def _reader(self, metric: Metric) -> Callable[[Any], Iterable[Any]]:
        from opentelemetry.metrics import Observation

        return lambda _: [Observation(value, {"query": query}) for query, value in self._values.of(metric)]
