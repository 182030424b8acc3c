"""How far Spark has come: the tasks of a job, the batches of a stream.

Spark's status tracker knows the stages of jobs that run for a classic session; Spark Connect calls back.
A session that shows Spark's own bar (spark.ui.showConsoleProgress) keeps it: two would write on one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import SparkSession

from sash.errors import ArgumentError
from sash.runtimes.observed_counts import counts_by_query, in_all
from sash.runtimes.progress_bar import ProgressReading, shown
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.packing.blocks import COUNTS

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.console import Console

OWN_BAR = "spark.ui.showConsoleProgress"
NOT_YET = 0.99
"""The share of a batch whose tasks are done."""


@contextmanager
def jobs_shown(
    spark: SparkSession, *, console: Console | None = None, lines: bool = False
) -> Iterator[None]:
    """A bar over the tasks of what Spark runs in the block; `lines`: see `shown`."""
    if is_connect(spark):
        tasks = _TasksOfConnect()
        handler: Any = tasks.handle
        spark.registerProgressHandler(handler)
        try:
            with shown("windows", tasks.read, console=console, lines=lines):
                yield
        finally:
            spark.removeProgressHandler(handler)
    elif spark.sparkContext.getConf().get(OWN_BAR) == "true":
        yield
    else:
        with shown("windows", _TasksOfJobs(spark).read, console=console, lines=lines):
            yield


class _Tasks:
    """Tasks done, of those that are known: later stages come to light as earlier ones end."""

    def __init__(self) -> None:
        self._most = 0.0

    def reading(self, done: int, known: int) -> ProgressReading:
        self._most = max(self._most, done / known if known else 0.0)
        return ProgressReading(self._most, f"{done} of {known} tasks")


class _TasksOfJobs(_Tasks):
    """Of the jobs that this thread, its group of jobs, or the group that is named, has begun since."""

    def __init__(self, spark: SparkSession, group: str | None = None) -> None:
        super().__init__()
        self._tracker = spark.sparkContext.statusTracker()
        self._group = group or spark.sparkContext.getLocalProperty("spark.jobGroup.id")
        self._before = set(self._tracker.getJobIdsForGroup(self._group))

    def read(self) -> ProgressReading:
        begun = set(self._tracker.getJobIdsForGroup(self._group)) - self._before
        jobs = [job for number in sorted(begun) if (job := self._tracker.getJobInfo(number))]
        numbers = {number for job in jobs for number in job.stageIds}
        stages = [stage for number in numbers if (stage := self._tracker.getStageInfo(number))]
        return self.reading(
            sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
        )


class _TasksOfConnect(_Tasks):
    """As the server of Spark Connect sends them to a progress handler."""

    def __init__(self) -> None:
        super().__init__()
        self._last = ProgressReading(None)

    def handle(self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        """The names of the arguments are Spark's."""
        if stages:
            self._last = self.reading(
                sum(stage.num_completed_tasks for stage in stages), sum(stage.num_tasks for stage in stages)
            )

    def read(self) -> ProgressReading:
        return self._last


def progress(query: StreamingQuery, *, console: Console | None = None) -> None:
    """Wait until a streaming query ends, as `query.awaitTermination()` does, and show how it goes.

    In a terminal or a notebook: batches, events, events per second, how many were late, reports, and the
    watermark, after every micro-batch. Elsewhere: nothing. The counts are Sash's; of a query without Sash
    in it the rows are shown. An interrupt (Ctrl-C) stops a query that Sash started.
    """
    if not hasattr(query, "recentProgress"):
        raise ArgumentError("query", type(query).__name__, "a StreamingQuery, such as writeStream.start()")
    batches = BatchesSeen(query)
    with shown(query.name or "stream", batches.read, after=0.0, keep=True, console=console):
        query.awaitTermination()


class BatchesSeen:
    """The progress reports of a query, added up."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._batch = -1
        self._watermark = ""
        self.batches, self.seconds = 0, 0.0
        self.rows = 0
        self.by_query: dict[str, dict[str, int]] = {}
        """Counts of each query that runs in it; of one that runs alone under the empty name."""

    def read(self) -> ProgressReading:
        for report in self._new():
            self._batch = report.batchId
            self.batches += 1
            self.seconds += report.batchDuration / 1000
            self.rows += report.numInputRows
            self._watermark = report.eventTime.get("watermark", "")
            observed = {name: _named(row) for name, row in report.observedMetrics.items()}
            for query, counts in counts_by_query(observed, COUNTS).items():
                totals = self.by_query.setdefault(query, dict.fromkeys(COUNTS, 0))
                for count, value in counts.items():
                    totals[count] += value
        return ProgressReading(None, self._words())

    def _new(self) -> list[Any]:
        last = self._query.lastProgress
        if last is None or last.batchId <= self._batch:
            return []
        if last.batchId == self._batch + 1:
            return [last]
        # Only now: a hundred reports are too many for ten times a second.
        return [report for report in self._query.recentProgress if report.batchId > self._batch]

    def _words(self) -> str:
        counts = {count: in_all(self.by_query, count) for count in ("events", "late", "reports")}
        events = self.rows if counts["events"] is None else counts["events"]
        words = [
            f"{self.batches:,} batches",
            f"{events:,} {'events' if self.by_query else 'rows'}",
            f"{events / self.seconds if self.seconds else 0:,.0f}/s",
        ]
        words += [f"{counts[count]:,} {count}" for count in ("late", "reports") if self.by_query]
        # Spark's watermark is 1970 until it knows better.
        if self._watermark and not self._watermark.startswith("1970-01-01T00:00:00"):
            words.append(f"watermark {self._watermark}")
        return "  ".join(words)


class TasksOfBatch:
    """For a stream that ends by itself: its progress reports, and a bar over the tasks of a batch."""

    def __init__(self, spark: SparkSession, query: StreamingQuery, seen: BatchesSeen) -> None:
        self._spark, self._seen = spark, seen
        self._group = str(query.runId)  # which Spark makes the group of a stream's jobs
        self._begin()

    def _begin(self) -> None:
        self._batches, self._tasks = self._seen.batches, _TasksOfJobs(self._spark, self._group)

    def read(self) -> ProgressReading:
        reading = self._seen.read()
        if self._seen.batches > self._batches:
            self._begin()
        # A batch is done when Spark has noted it, and not with its last task.
        return ProgressReading(min(self._tasks.read().share or 0.0, NOT_YET), reading.words)


def _named(row: Any) -> Mapping[str, Any]:
    """One observation by name. Spark Connect gives it as values and a schema."""
    found = row.asDict()
    if found.keys() == {"values", "schema"}:
        names = [field["name"] for field in found["schema"]["fields"]]
        found = dict(zip(names, found["values"], strict=True))
    return cast(Mapping[str, Any], found)
