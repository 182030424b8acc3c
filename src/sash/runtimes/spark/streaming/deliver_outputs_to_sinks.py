"""The one place where the outputs of a pass are separated: rows of all outputs → a sink for each.

    one output, a sink that reads all     the step runs inside the job that writes
    one output on arrival, a function     the step runs inside its first job, and the rows are kept
    any other                             the step runs first, its rows are kept, and each sink reads its
                                          part, if there is one: functions in turn, the others at once

The step must run exactly once for a batch, and as a whole: it moves state. A sink that has the batch
already is left out, and the step runs all the same, since state and sinks are done at different moments.
Late rows and their reasons are made in `operators/late_rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F

from sash.runtimes.spark.compat import all_cached
from sash.runtimes.spark.micro_batch_jobs import WholeJobs, all_at_once, kept
from sash.runtimes.spark.packing.blocks import OUTPUT
from sash.runtimes.spark.packing.outputs import Outputs
from sash.runtimes.spark.sinks.online import OnlineSink
from sash.runtimes.spark.sinks.protocol import BatchSink, Reads
from sash.runtimes.spark.sinks.wrapped_sinks import skip

BatchFunction: TypeAlias = Callable[[DataFrame, int], None]
"""Of `foreachBatch`: the rows of a batch, and its number."""


@dataclass
class Delivery:
    """The function of `foreachBatch`, for one run of a query."""

    outputs: Outputs
    opened: Callable[[DataFrame, str], DataFrame]
    sinks: Mapping[str, BatchSink]
    on_arrival: bool = False
    """Whether nearly every batch with events has rows, so that a function is called for each of them."""
    jobs: WholeJobs | None = None
    """What plans the jobs; None: they are planned as the user has set it."""
    marked: bool = True
    """Whether rows have the number of their output; otherwise there is one output, and all are its."""
    _first: bool = field(default=True, init=False)
    """Only the first batch of a run can be one that was executed before: Spark has written down who may
    execute the others. What is published for requests is compared in each: others can write there."""

    def __call__(self, emitted: DataFrame, batch: int) -> None:
        self.deliver(emitted, self.waiting(emitted.sparkSession, batch), batch)

    def waiting(self, spark: SparkSession, batch: int) -> dict[str, BatchSink]:
        """The sinks that do not have the batch yet, by output."""
        done = {
            output
            for output, sink in self.sinks.items()
            if (self._first or isinstance(sink, OnlineSink)) and sink.has(spark, batch)
        }
        self._first = False
        return {output: sink for output, sink in self.sinks.items() if output not in done}

    def deliver(self, emitted: DataFrame, waiting: dict[str, BatchSink], batch: int) -> None:
        """Run the step, and give these sinks their rows."""
        if not waiting:
            compute_all(emitted)
            return
        (output, sink), *others = waiting.items()
        if not others and sink.reads.all_in_one_job:
            sink.write(self.opened(emitted, output), batch)
            return
        rows = kept(emitted)
        try:
            if not others and self.on_arrival and sink.reads is Reads.ANYHOW:
                self._write(sink, rows, output, batch)
                if not all_cached(rows):
                    compute_all(rows)
            else:
                self._deliver(rows, waiting, batch)
        finally:
            rows.unpersist()

    def _deliver(self, rows: DataFrame, waiting: dict[str, BatchSink], batch: int) -> None:
        """Rows that are kept once evaluated, which the first sink does if it counts all of them."""
        seen = Observation()
        observed = rows.observe(seen, *self._counts())
        first = next((output for output, sink in waiting.items() if sink.reads is Reads.COUNTED), None)
        if first is None:
            compute_all(observed)
        else:
            waiting.pop(first).write(self.opened(observed, first), batch)
        counts, writes = seen.get, list[Callable[[], None]]()
        for output, sink in waiting.items():
            if not counts[output]:
                skip(sink, batch)
            elif sink.reads.all_in_one_job:
                writes.append(partial(self._write, sink, rows, output, batch))
            else:
                self._write(sink, rows, output, batch)  # a function need not be safe in threads
        all_at_once(rows.sparkSession, writes)

    def _write(self, sink: BatchSink, rows: DataFrame, output: str, batch: int) -> None:
        if self.jobs is not None and not sink.reads.all_in_one_job:
            self.jobs.restore(rows.sparkSession)
        sink.write(self.opened(rows, output), batch)

    def _counts(self) -> list[Column]:
        """How many rows were emitted for each output: its own, or blocks of them."""
        if not self.marked:
            return [F.count(F.lit(1)).alias(output) for output in self.outputs]
        return [
            F.count_if(F.col(OUTPUT) == number).alias(output) for number, output in enumerate(self.outputs)
        ]


def compute_all(rows: DataFrame) -> None:
    """Every row, in one job that writes nothing."""
    rows.write.format("noop").mode("overwrite").save()
