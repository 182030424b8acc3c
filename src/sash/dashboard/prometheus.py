"""Metrics of running queries for Prometheus: a collector for a registry of `prometheus_client`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sash.dashboard.exported_metrics import METRICS, MetricValues
from sash.dashboard.live_page_messages import Message
from sash.errors import MissingDependency

PREFIX = "sash"


class PrometheusMetrics:
    """A sink for `watch`, and a collector that is registered at once.

    `prometheus_client.start_http_server(9464, addr="127.0.0.1")` then serves the metrics, as it does for
    those of the program.
    """

    def __init__(self, registry: Any = None) -> None:
        """registry: the one of prometheus_client itself when not given."""
        try:
            import prometheus_client
        except ModuleNotFoundError:
            raise MissingDependency(
                "metrics for Prometheus need prometheus-client; install it with: "
                "pip install prometheus-client",
                name="prometheus_client",
            ) from None
        self._values = MetricValues()
        self._registry = prometheus_client.REGISTRY if registry is None else registry
        self._registry.register(self)

    def take(self, message: Message) -> None:
        """One more message: see `live_page_messages`."""
        self._values.take(message)

    def collect(self) -> Iterator[Any]:
        """What a registry collects when it is scraped."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
        for metric in METRICS:
            family = families[metric.kind](
                f"{PREFIX}_{metric.name}", metric.help, labels=["query"], unit=metric.unit
            )
            for query, value in self._values.of(metric):
                family.add_metric([query], value)
            yield family

    def stop(self) -> None:
        """The registry forgets them."""
        self._registry.unregister(self)
