"""One hot key on a stream, 8 buckets, no hint: what the busiest task has to do.

    python -m benchmarks.hot_key --only counted ranges   a few seconds, without Spark

Counted is what holds on any number of cores: the elements that a bucket has to work on (rows, or the panes
that rows were folded into before the shuffle), and for a function over whole windows the windows that a
task computes. What a run takes is measured by `hot_key_runs`. `ranges` is what sharing look-backs and count
windows of numbers by ranges could save of the owner's time, and what it would take to write and read these
ranges (decision 42).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine import WindowOperator, holds_whole_windows
from sash.runtimes.spark.packing.blocks import ROWS
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL, places
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.patterns.agnostic import RANGES, WORKER, Dealer
from sash.runtimes.spark.streaming.panes_before_shuffle import PanePacker
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage

BUCKETS, KEYS = 8, 96
SHARES = (0.5, 0.9, 0.99)
PROMISED = 1.5


def events(rows: int, hottest: float, *, keys: int = KEYS, seed: int = 5) -> pa.Table:
    """A row a millisecond; the key 0 has this part of them, and the others share the rest evenly."""
    random = np.random.default_rng(seed)
    key = np.where(random.random(rows) < hottest, 0, random.integers(0, keys, rows))
    times = pa.array(np.arange(rows) * 1000, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "k": key, "v": random.random(rows)})


def queries(data: Any, steps: int) -> dict[str, sash.WindowQuery]:
    """The four kinds of the issue."""

    def fit(events: pa.Table) -> dict[str, float]:
        total = 0
        for step in range(steps):
            total += step & 7
        return {"slope": float(total)}

    stream = sash.stream(data, time="ts", key="k")
    sums: dict[str, Any] = {"n": sash.count(), "s": sash.sum("v"), "hi": sash.max("v")}
    return {
        "sliding": stream.window(sash.sliding("10 seconds", every="1 second")).agg(**sums),
        "count": stream.window(sash.rows(100, every=10)).agg(**sums),
        "rolling": stream.rolling("10 seconds").agg(**sums),
        "apply": stream.window(sash.rows(100, every=50)).apply(fit, schema="slope double"),
    }


def bucket_of(keys: Ints) -> Ints:
    """Even enough, whatever the hash."""
    return keys % BUCKETS


def elements(bound: BoundQuery, rows: pa.Table) -> Ints:
    """How many elements each bucket gets: panes of rows that were folded before, and the other rows."""
    clock = Clock.of(ticks=False)
    stage = WindowStage.of(
        bound, (REPORTS,), buckets=tuple(range(BUCKETS)), clock=clock, derived=False, early=True
    )
    shares = bucket_of(rows["k"].to_numpy())
    packer, counts = stage.packer, np.zeros(BUCKETS, np.int64)
    if not isinstance(packer, PanePacker):
        return np.bincount(shares, minlength=BUCKETS)
    for start in range(0, rows.num_rows, ROWS):
        part, own = rows.slice(start, ROWS), shares[start : start + ROWS]
        named = part.select(stage.columns).rename_columns(places(stage.columns))
        named = named.append_column(ORDINAL, pa.array(np.arange(len(own)))).append_column(
            BUCKET, pa.array(own)
        )
        chosen = packer.chosen(named, 0)
        if chosen is None:
            counts += np.bincount(own, minlength=BUCKETS)
            continue
        folded, codes = chosen
        counts += np.bincount(own[~folded], minlength=BUCKETS)
        _, firsts = np.unique(codes, return_index=True)
        counts += np.bincount(own[folded][firsts], minlength=BUCKETS)
    return counts


def computed(bound: BoundQuery, rows: pa.Table, *, shared: bool) -> Ints:
    """How many windows each task computes, of the step and of the stage after it, in one batch."""
    assert holds_whole_windows(bound)
    shares = bucket_of(rows["k"].to_numpy())
    in_step, after = np.zeros(BUCKETS, np.int64), np.zeros(BUCKETS, np.int64)
    busiest = int(np.bincount(shares, minlength=BUCKETS).argmax())
    for bucket in range(BUCKETS):
        operator = WindowOperator.load(bound, None, {})
        hands_out = shared and bucket == busiest
        operator.hand_out = Dealer(BUCKETS, bucket) if hands_out else None
        mine = rows.filter(pa.array(shares == bucket)).select(bound.columns)
        operator.insert(mine, np.arange(mine.num_rows))
        handed = operator.advance(2**60).handed
        if handed is None:
            in_step[bucket] = operator.emitted
            continue
        for worker, ranges in zip(handed[WORKER].to_pylist(), handed[RANGES].to_pylist(), strict=True):
            after[worker] += table_of(pa.py_buffer(ranges)).num_rows
    return np.concatenate([in_step, after])


def counted(*, quick: bool) -> Table:
    table = Table(f"streams, {BUCKETS} buckets, no hint: busiest task, counted", "mean of all")
    table.start()
    rows = 20_000 if quick else 400_000
    for share in SHARES:
        data = events(rows, share)
        for name, query in queries(data, steps=0).items():
            bound = query.bound
            if name == "apply":
                few = data.slice(0, rows // 4)
                for what, shared in (("windows, kept", False), ("windows, handed out", True)):
                    done = computed(bound, few, shared=shared)
                    ratio = float(done.max() / (done.sum() / BUCKETS))
                    limit = PROMISED if shared else None
                    table.add(f"{share:.0%}: {name}, {what}", 0.0, ratio, limit=limit)
                continue
            found = elements(bound, data)
            ratio = float(found.max() / found.mean())
            # A key is shared after some batches, which `hot_key_look_backs.counted_on_streams` counts.
            limit = None if name == "rolling" else PROMISED
            table.add(f"{share:.0%}: {name}, elements", 0.0, ratio, limit=limit)
    return table


class Measured(WindowOperator):
    """An operator that knows how much of its time windows and look-backs take."""

    inside = 0.0

    def _emit(self, *args: Any) -> None:
        began = time.process_time()
        super()._emit(*args)
        self.inside += time.process_time() - began

    def _features(self, *args: Any) -> None:
        began = time.process_time()
        super()._features(*args)
        self.inside += time.process_time() - began


def ranges(*, quick: bool, rounds: int) -> Table:
    """Processor time of the second of two batches of one key, as parts of the whole step."""
    rows = 4_000 if quick else 120_000
    table = Table(f"one key, a batch of {rows:,} rows: what could be shared by ranges", "the owner's step")
    table.start()
    data = events(2 * rows, 1.0)
    for name, back in (("rolling", 10_000), ("count", 100)):
        bound, best = queries(data.slice(0, 0), steps=0)[name].bound, [float("inf")] * 3
        for _ in range(rounds):
            operator = Measured.load(bound, None, {})
            for first in (0, rows):
                operator.inside, began = 0.0, time.process_time()
                operator.insert(data.slice(first, rows).select(bound.columns), np.arange(rows) + first)
                operator.advance((first + rows) * 1000)
                operator.save()
                step = time.process_time() - began
            began = time.process_time()
            for part in range(BUCKETS):
                sent = data.slice(part * rows // BUCKETS, rows // BUCKETS + back).select(bound.columns)
                table_of(pa.py_buffer(bytes_of(sent)))
            moved = time.process_time() - began
            best = [min(pair) for pair in zip(best, (step, operator.inside, moved), strict=True)]
        for what, spent in zip(("step", "folds and rows", "write and read ranges"), best, strict=True):
            table.add(f"{name}: {what}", spent, spent / best[0])
    return table
