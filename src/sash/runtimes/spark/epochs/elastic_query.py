"""The handle of a running elastic query."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from sash.operators.elastic.controller_samples import Sample
from sash.runtimes.spark.epochs.epoch_metering import BatchMetrics
from sash.runtimes.spark.epochs.epoch_run import ElasticRun


class ElasticQuery:
    """A running elastic query: Spark's StreamingQuery, and what the batches of this run did."""

    def __init__(self, query: StreamingQuery, run: ElasticRun) -> None:
        self.query, self._run = query, run

    @property
    def metrics(self) -> list[BatchMetrics]:
        """The batches of this run, the oldest first."""
        return list(self._run.meter.batches)

    @property
    def samples(self) -> list[Sample]:
        """What the controller was shown."""
        return list(self._run.meter.samples)

    @property
    def degrees(self) -> dict[int, int]:
        """How many tasks served the buckets, for each batch."""
        return {batch.batch: batch.degree for batch in self.metrics}

    @property
    def degree(self) -> int:
        """Of the latest batch; the least that is allowed before there is one."""
        return self.metrics[-1].degree if self.metrics else self._run.elastic.min

    def __repr__(self) -> str:
        if not self.metrics:
            return "<sash elastic query: no batch is done yet>"
        last, events = self.metrics[-1], sum(batch.events for batch in self.metrics)
        degree = f"{last.degree} task{'s' * (last.degree != 1)}"
        return f"<sash elastic query: batch {last.batch} done by {degree}, {events:,} events in this run>"

    def __getattr__(self, name: str) -> Any:
        """Everything else is the StreamingQuery's: `awaitTermination`, `stop`, `lastProgress` and so on."""
        return getattr(self.query, name)
