"""A skew that turns to another key in the middle of a stream: how many batches until it is shared out.

Part of `python -m benchmarks.hot_key`. It counts in this process, with functions that are taken to need
1 ms per window.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table
from benchmarks.hot_key_streams import BUCKETS, KEYS, PROMISED, SHARES, bucket_of, queries
from sash.operators.engine import WindowOperator
from sash.runtimes.spark.patterns.agnostic import RANGES, WORKER, BatchWorker, Dealer
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import Sharing
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import BucketLoad

BATCHES = 5
"""After a skew has turned."""
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
