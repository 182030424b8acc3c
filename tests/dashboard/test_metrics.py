"""Metrics of a query on Spark, as Prometheus scrapes them and as OpenTelemetry reads them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest

from sash.dashboard import OpenTelemetryMetrics, PrometheusMetrics, watch
from sash.dashboard.exported_metrics import METRICS, RUNNING, MetricValues
from tests.dashboard.test_watching import batches, sliding_query
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRAME = {
    "kind": "frame", "query": "quotes", "events": 4, "late": 1, "reports": 2, "read": None, "written": 90,
    "rate": None, "latency": 250, "at": 10_000, "watermark": 7_500, "open": 3, "state_rows": 5,
    "state_bytes": None, "degree": 2,
}  # fmt: skip


def values_of(metrics: MetricValues) -> dict[str, float]:
    return {metric.name: value for metric in METRICS for _, value in metrics.of(metric)}


def test_counters_grow_and_gauges_are_of_the_latest_batch() -> None:
    metrics = MetricValues()
    for message in ({"kind": "started", "query": "quotes"}, FRAME, {**FRAME, "open": None, "at": 11_000}):
        metrics.take(message)
    assert values_of(metrics) == {
        "batches": 2, "events": 8, "late": 2, "reports": 4, "state_written": 180,
        "batch_duration": 0.25, "watermark_lag": 3.5, "state_rows": 5, "degree": 2, "running": 1,
    }  # fmt: skip
    metrics.take({"kind": "ended", "query": "quotes", "error": None})
    assert values_of(metrics) == {
        "batches": 2, "events": 8, "late": 2, "reports": 4, "state_written": 180, "running": 0,
    }  # fmt: skip


def test_only_so_many_queries_are_remembered() -> None:
    metrics = MetricValues()
    for number in range(100):
        metrics.take({"kind": "started", "query": f"query {number}"})
    assert [query for query, _ in metrics.of(RUNNING)] == [f"query {number}" for number in range(68, 100)]


@pytest.mark.spark
def test_a_query_is_scraped(spark: SparkSession, tmp_path: Path) -> None:
    client = pytest.importorskip("prometheus_client")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    registry, reader = client.CollectorRegistry(), export.InMemoryMetricReader()
    meter = sdk.MeterProvider(metric_readers=[reader]).get_meter("test")
    server, thread = client.start_http_server(0, addr="127.0.0.1", registry=registry)
    scraped, observed = PrometheusMetrics(registry), OpenTelemetryMetrics(meter)
    watching = [watch(spark, sink) for sink in (scraped, observed)]
    try:
        query = sliding_query(stream_batches(spark, batches()))
        running = query.start(
            tmp_path / "out", checkpoint=tmp_path / "checkpoint", trigger="available now", name="quotes"
        )
        for one in watching:
            one.add(running, query=query)
        running.awaitTermination()
        text = _until(
            lambda: _page(server.server_port), lambda page: 'sash_running{query="quotes"} 0.0' in page
        )
    finally:
        for one in watching:
            one.stop()
        server.shutdown()
        thread.join()
    assert 'sash_events_total{query="quotes"} 8.0' in text
    assert 'sash_late_total{query="quotes"} 1.0' in text
    assert "# TYPE sash_watermark_lag_seconds gauge" in text
    found = {
        metric.name: metric.data.data_points[0].value
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.data.data_points
    }
    assert found["sash.events"] == 8
    assert found["sash.running"] == 0
    scraped.stop()


def _page(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return str(answer.read().decode())


def _until(look: Any, holds: Any) -> Any:
    """Spark tells of an end a moment after it."""
    end = time.monotonic() + 20
    while not holds(found := look()):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found
