"""Streams with a hot key: what finding it costs, what happens when another key becomes hot, who is busy.

Part of `python -m benchmarks.hot_key`. `turned` counts in this process, with functions that are taken to
need 1 ms per window; the others run streams, whose times need cores that have nothing else to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, race
from benchmarks.hot_key_streams import BUCKETS, KEYS, PROMISED, SHARES, bucket_of, events, queries, timed
from benchmarks.spark.inputs import written
from sash.operators.engine import WindowOperator
from sash.runtimes.spark.epochs import epoch_run
from sash.runtimes.spark.epochs.epoch_metering import metrics_of
from sash.runtimes.spark.epochs.epoch_step import TaskReport
from sash.runtimes.spark.patterns.agnostic import RANGES, WORKER, BatchWorker, Dealer
from sash.runtimes.spark.streaming import start
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import Sharing
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import BucketLoad
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COSTS, BATCHES = 1.03, 5
"""Of a run without the machinery; of the batches after a skew has turned."""
EACH = 0.001
"""Seconds that a window is taken to need."""


def turned(*, quick: bool) -> Table:
    """The hot key is another one from the middle of the run on: batches until no task has 1.5 times the
    mean. The answer must be that of a run in which nothing is handed out."""
    table = Table("streams, the skew turns to another key: batches until balanced", "5 batches")
    table.start()
    rows, batches = (20_000, 8) if quick else (40_000, 12)
    for share in SHARES:
        parts = [_batch(number, rows, share, hot=2 * number // batches) for number in range(batches)]
        kept, shared = (list(_run_of(parts, shares=shares)) for shares in (False, True))
        rows_of = [pa.concat_tables([answer for answer, _ in run]) for run in (kept, shared)]
        same, other = (one.sort_by([("k", "ascending"), ("id", "ascending")]) for one in rows_of)
        assert same.equals(other), "windows that are handed out have another answer"
        after = [float(done.max() / (done.sum() / BUCKETS)) for _, done in shared[batches // 2 :]]
        until = next((at for at, ratio in enumerate(after) if ratio <= PROMISED), inf)
        table.add(f"{share:.0%}: apply", 0.0, until / BATCHES, limit=1.0)
    return table


def _batch(number: int, rows: int, share: float, *, hot: int) -> pa.Table:
    random = np.random.default_rng(number)
    keys = np.where(random.random(rows) < share, hot, random.integers(0, KEYS, rows))
    times = (np.arange(rows) + number * rows) * 1000
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": keys, "v": random.random(rows)})


def _run_of(parts: list[pa.Table], *, shares: bool) -> Iterator[tuple[pa.Table, np.ndarray[Any, Any]]]:
    """The reports of each batch, and how many windows each task of the step, or of the stage after it, has
    computed."""
    bound = queries(parts[0], steps=0)["apply"].bound
    operators = [WindowOperator.load(bound, None, {}) for _ in range(BUCKETS)]
    sharing, compute = Sharing(BUCKETS, BUCKETS), BatchWorker(bound)
    for part in parts:
        places, newest = bucket_of(part["k"].to_numpy()), part["ts"].cast(pa.int64())[-1].as_py()
        in_step, after = np.zeros(BUCKETS, np.int64), np.zeros(BUCKETS, np.int64)
        loads, answers = {}, [bound.output.empty_table()]
        for bucket, operator in enumerate(operators):
            hands_out = shares and bucket in sharing.handing
            operator.hand_out = Dealer(BUCKETS, bucket) if hands_out else None
            mine = part.filter(pa.array(places == bucket)).select(bound.columns)
            before = operator.emitted
            operator.insert(mine, np.arange(mine.num_rows))
            answer = operator.advance(newest)
            windows = 0
            if answer.handed is None:
                answers.append(answer.reports)
                windows = operator.emitted - before
                in_step[bucket] += windows
            else:
                answers.append(pa.Table.from_batches(compute(answer.handed.to_batches()), bound.output))
                for worker, ranges in zip(answer.handed[WORKER], answer.handed[RANGES], strict=True):
                    held = pa.ipc.open_stream(ranges.as_buffer()).read_all().num_rows
                    after[worker.as_py()] += held
                    windows += held
            loads[bucket] = BucketLoad(windows, windows * EACH, windows * EACH / 100 * hands_out)
        sharing.see(loads)
        reports = pa.concat_tables(answers)
        number = pa.chunked_array([reports["window"].combine_chunks().field("id")])
        yield reports.drop_columns("window").append_column("id", number), np.concatenate([in_step, after])


def costs(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> Table:
    """Even keys: with what would find and share out a hot one, against without it."""
    table = Table("streams of even keys: what finding hot keys costs", "without")
    table.start()
    rows, batches = (20_000, 2) if quick else (1_200_000, 6)
    for name in ("sliding", "apply"):
        size = rows if name == "sliding" else rows // 4
        path = written(folder / f"costs {name}", events(size, 0.0), files=batches)

        def run(name: str = name, path: Path = path, *, found: bool) -> None:
            with nullcontext() if found else _without(name):
                timed(spark, path, name, 0)

        ways = {"without": partial(run, found=False), "with": partial(run, found=True)}
        seconds = race(ways, rounds=rounds)
        for way, spent in seconds.items():
            limit = COSTS if way == "with" else None
            table.add(f"{name}: {way}", spent, spent / seconds["without"], limit=limit)
    return table


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Streams that fold no panes before the shuffle, or measure no windows."""
    if name == "apply":
        with patch.object(start, "SharingOut", lambda deliver, windows: deliver):
            yield
    else:
        with patch.object(StreamingSource, "folds_early", lambda source, bound: False):
            yield


def busy(spark: SparkSession, folder: Path, *, quick: bool) -> Table:
    """Seconds of the busiest task of the step against the mean of a task for each bucket, over all batches;
    a batch that one task computes alone has that many times the mean."""
    table = Table(f"streams, {BUCKETS} buckets, no hint: seconds of the busiest task", "mean of all")
    table.start()
    rows, batches = (20_000, 2) if quick else (1_200_000, 6)
    for share in SHARES:
        path = written(folder / f"busy {share}", events(rows, share), files=batches)
        for name in ("sliding", "count", "rolling"):
            seen: list[list[float]] = []

            def metered(
                reports: list[TaskReport], *more: Any, seen: list[list[float]] = seen, **words: Any
            ) -> Any:
                seen.append([report.busy for report in reports])
                return metrics_of(reports, *more, **words)

            with patch.object(epoch_run, "metrics_of", metered):
                timed(spark, path, name, 0)
            busiest = sum(max(tasks) for tasks in seen if tasks)
            mean = sum(sum(tasks) / BUCKETS for tasks in seen)
            table.add(f"{share:.0%}: {name}", busiest, busiest / mean if mean else 0.0, limit=PROMISED)
    return table
