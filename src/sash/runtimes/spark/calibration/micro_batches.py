"""What a micro-batch costs, however little it brings: streams of a few rows each.

epoch      a query in epochs, in two stages
stateful   the same query over Spark's state store
step       with two stateful steps, less with one
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sash.operators.elastic.declaration import Elastic
from sash.operators.patterns.declared import KeyFarm, PaneFarm
from sash.planner.auto_declaration import AUTO, Parallelism
from sash.runtimes.spark.calibration.generated_input import GeneratedInput
from sash.runtimes.spark.sinks.console_and_noop import NoopSink
from sash.runtimes.spark.streaming.start import start
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

COLD = 3
"""Micro-batches at the beginning, in which workers start and Java compiles, that do not count."""


@dataclass(frozen=True)
class MicroBatches:
    """Streams over one input."""

    given: GeneratedInput

    def constants(self) -> Iterator[tuple[str, float]]:
        """Each with its name, as soon as it is known; 0 or less where other work has hidden it."""
        slots = self.given.slots
        elastic = Elastic(min=slots, max=slots, buckets=slots, store="files")
        yield "epoch", 1e6 * self._milliseconds("epochs", AUTO, elastic=elastic)
        one = self._milliseconds("one step", KeyFarm(slots))
        yield "stateful", 1e6 * one
        two = self._milliseconds("two steps", PaneFarm(slots, slots))
        yield "step", 1e6 * (two - one)

    def _milliseconds(self, name: str, how: Parallelism, *, elastic: Elastic | None = None) -> float:
        """The quickest micro-batch of a stream."""
        checkpoint = f"{self.given.folder}/{name.replace(' ', '-')}"
        query = start(
            StreamingSource(self.given.stream, parallelism=how), self.given.query(), NoopSink(),
            late=None, checkpoint=checkpoint, elastic=elastic, trigger="available now", name=None,
        )  # fmt: skip
        query.awaitTermination()
        took = [float(report.durationMs["triggerExecution"]) for report in query.recentProgress]
        return min(took[COLD:] or took)
