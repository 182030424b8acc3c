"""Q2: an operator of two inputs that forwards each tuple: what sharing and sorting cost by themselves.

    O+(δ, δ, 2, f_MK = {1 … n}, single, f_U = t.φ)        Operator 6 of the paper, n the number of instances

Two sources send the halves of one stream of tweets. Every tuple has n keys, one for each instance, so that
each instance meets every tuple and forwards it; tuples that entered are counted, not those that leave. f_U
is a Python function: what is measured here beside the gates is a call of it for each tuple and key.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Thread

import numpy as np
import pyarrow as pa

from benchmarks.paper_table import PaperTable
from benchmarks.stretch.progress import PROGRESS
from benchmarks.stretch.tweets import TWEETS, tweets
from sash.operators import InBulk, InputEvent, Stateful, WindowSet, setup

BATCH = 250
AHEAD = 4 * BATCH
DEGREES = (1, 2, 4)


@dataclass
class Forwarded:
    tuples: float
    """A second."""
    latency: float
    """Mean over batches, from sending to the last of its rows."""


def forwarder(n: int) -> Stateful:
    def forward(windows: WindowSet, arrival: InputEvent) -> dict[str, object]:
        return {"id": arrival.row.id, "user": arrival.row.user, "text": arrival.row.text}

    def keys(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(rows.num_rows + 1) * n, np.tile(np.arange(n), rows.num_rows)

    payload = pa.schema([TWEETS.schema.field(name) for name in ("id", "user", "text")])
    return Stateful(
        advance=1, size=1, inputs=[TWEETS, TWEETS], window="single", keys=InBulk(keys, distinct=True),
        update=forward, schema=payload, shares=n,
    )  # fmt: skip


def forwarded(data: pa.Table, n: int) -> Forwarded:
    PROGRESS.step(f"{n} instances")
    halves = [data.take(pa.array(range(half, data.num_rows, 2))) for half in (0, 1)]
    sent = np.full(data.num_rows, np.inf)
    waited: list[float] = []
    counted = 0

    with setup(forwarder(n), n, n, sources={"0": 0, "1": 1}, capacity=AHEAD) as elastic:

        def send(half: int) -> None:
            for at in range(0, halves[half].num_rows, BATCH):
                batch = halves[half].slice(at, BATCH)
                sent[batch["id"].to_numpy()] = time.perf_counter()
                elastic.add(str(half), batch)
            elastic.entry.remove_sources([str(half)])

        def read() -> None:
            nonlocal counted
            while (rows := elastic.get("reader")) is not None:
                counted += rows.num_rows
                waited.append(time.perf_counter() - float(sent[rows["id"].to_numpy()].mean()))

        began = time.perf_counter()
        senders = [Thread(target=send, args=(half,)) for half in (0, 1)]
        reader = Thread(target=read)
        for thread in (*senders, reader):
            thread.start()
        for thread in senders:
            thread.join()
        elastic.stop()
        reader.join()
        seconds = time.perf_counter() - began
    if counted != n * data.num_rows:
        raise AssertionError(f"{counted} rows left, and not {n} × {data.num_rows}")
    return Forwarded(data.num_rows / seconds, float(np.mean(waited)))


def measure(*, quick: bool, rounds: int) -> tuple[PaperTable, dict[int, Forwarded]]:
    data = tweets(2_000 if quick else 40_000)
    runs = [{n: forwarded(data, n) for n in DEGREES} for _ in range(1 if quick else rounds)]
    best = {n: max((run[n] for run in runs), key=lambda each: each.tuples) for n in DEGREES}
    table = PaperTable("stretch-2", "Q2, forwarder of two inputs")
    throughputs = ", ".join(f"{best[n].tuples:,.0f}" for n in DEGREES)
    latencies = ", ".join(f"{1e3 * best[n].latency:.0f}" for n in DEGREES)
    table.add(
        "tuples a second", paper="120,000, falling to 100,000 with more instances; Flink 40,000 to 2,000",
        here=f"{throughputs} with 1, 2, 4",
        why="f_U is Python and n instances call it n times for a tuple, under one interpreter lock",
    )  # fmt: skip
    table.add(
        "1 → 2 instances", paper="falls slowly", here=f"{best[2].tuples / best[1].tuples:.2f} ×",
        why="the same lock",
    )  # fmt: skip
    table.add(
        "latency, ms", paper="below 30; Flink above 100", here=f"{latencies} with 1, 2, 4",
        why=f"gates hold {AHEAD:,} tuples of a source, and that many wait",
    )  # fmt: skip
    return table, best
