"""Abrupt changes of rate and of degree, and a judge who has seen everything.

Rates jump every half second between nothing and many thousand tuples per second, the instances change some
twenty times per second, at random. Afterwards the input is handed to the operator again, in one piece and
to a single instance: what the elastic one emitted must be the same rows, each once, in the order of time.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from threading import Thread

import numpy as np
import pyarrow as pa

import sash
from benchmarks.stretch.progress import PROGRESS
from sash.operators import Aggregate, Input, setup

EVENTS = Input(pa.schema([("t", pa.int64()), ("keys", pa.list_(pa.int64())), ("x", pa.int64())]), time="t")
RATES = (0, 500, 2_000, 5_000, 20_000, 40_000)
TICK = 0.01


@dataclass
class Record:
    """What went in, what came out, and how the run went, by seconds since its begin."""

    sent: pa.Table
    emitted: pa.Table
    expected: pa.Table
    reconfigurations: int = 0
    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    degrees: list[int] = field(default_factory=list)
    latencies: list[tuple[float, float]] = field(default_factory=list)


def operator() -> Aggregate:
    return Aggregate(
        advance=50_000, size=200_000, inputs=EVENTS, keys="keys", shares=16, n=sash.count(), s=sash.sum("x")
    )


def stress(*, seconds: float, seed: int, most: int) -> Record:
    """Run for so many seconds with up to `most` instances."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    record = Record(*(EVENTS.schema.empty_table() for _ in range(3)))
    sent: list[pa.Table] = []
    emitted: list[pa.Table] = []
    with setup(operator(), 1, most) as elastic:
        began = time.perf_counter()

        def read() -> None:
            while (rows := elastic.get("reader")) is not None:
                emitted.append(rows)
                now = time.perf_counter() - began
                record.latencies.append((now, now - rows["time"][-1].as_py() / 1e6))

        def reconfigure() -> None:
            while time.perf_counter() - began < seconds:
                elastic.reconfigure(sorted(draw.sample(range(most), draw.randrange(1, most + 1)))).wait(10)
                time.sleep(draw.random() * 0.1)

        threads = [Thread(target=read), Thread(target=reconfigure)]
        for thread in threads:
            thread.start()
        rate, change, last = 0, 0.0, 0
        while (now := time.perf_counter() - began) < seconds:
            PROGRESS.step(f"{now:.0f} of {seconds:.0f} s")
            if now >= change:
                rate, change = draw.choice(RATES), now + 0.5
            upto = int(now * 1e6)
            batch = _batch(numbers, int(rate * (upto - last) / 1e6), last, upto)
            sent.append(batch)
            elastic.add("source", batch, watermark=upto)
            record.seconds.append(now)
            record.rates.append(rate)
            record.degrees.append(elastic.degree)
            last = upto
            time.sleep(TICK)
        threads[1].join()
        elastic.stop()
        threads[0].join()
        record.reconfigurations = len(elastic.epochs.history)
    record.sent, record.emitted = pa.concat_tables(sent), pa.concat_tables(emitted)
    record.expected = operator().over(record.sent)
    return record


def _batch(draw: np.random.Generator, n: int, begin: int, end: int) -> pa.Table:
    counts = draw.integers(0, 4, n)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    keys = pa.ListArray.from_arrays(offsets, pa.array(draw.integers(0, 300, offsets[-1])))
    times = np.sort(draw.integers(begin, max(end, begin + 1), n))
    return pa.table([times, keys, draw.integers(-99, 99, n)], schema=EVENTS.schema)


def disorder(record: Record) -> list[str]:
    """What is wrong with the output: nothing, if the list is empty."""
    wrong = []
    times = record.emitted["time"].to_numpy()
    if (np.diff(times) < 0).any():
        wrong.append(f"{int((np.diff(times) < 0).sum())} rows are out of order")
    by = [(name, "ascending") for name in record.emitted.column_names]
    emitted, expected = record.emitted.sort_by(by), record.expected.sort_by(by)
    if not emitted.equals(expected):
        wrong.append(
            f"{emitted.num_rows} rows were emitted, and not the {expected.num_rows} that should be"
        )
    return wrong
