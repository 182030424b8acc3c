"""Parallel patterns on one key: workers against workers, and patterns against each other.

    python -m benchmarks.patterns [--quick] [--json PATH] [--rounds 3]

Questions, each answered by a ratio inside one run, with all answers compared:
- two agnostic workers against one: a sum, a maximum, skylines that overlap little, a function in Python;
  wanted: 1.6 times as fast;
- chunks of 512 events in the buffer of two agnostic workers against 65,536; wanted: 1.15 times the time;
- a sum over sliding windows of one key: how much do two workers gain over one, pattern by pattern?
- the skyline of six features over 1 s / 10 ms windows of 5,000 packets: how much does a pane farm gain over
  a window farm of the same degree, which computes each window from its events? Windows of the paper's size,
  300,000 packets, are judged by `benchmarks.pisa_papers --only 7`;
- a Levenberg-Marquardt fit of each window in worker processes: how much do two gain over one?
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table, finish, options, race
from examples import algo_trader, skyline
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.bounded_input import answer
from sash.operators.columns.layout import Layout
from sash.operators.folding.values import Values
from sash.operators.patterns.agnostic import handed_out
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.folding import Folding
from sash.operators.patterns.process_workers import ProcessWorkers
from sash.operators.patterns.window_share import WindowShare
from sash.operators.patterns.worker_pool import ThreadWorkers, WorkerPool
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window


def sums(events: int) -> sash.WindowQuery:
    """A compensated sum and a standard deviation over windows of 100,000 events, one for each ten."""
    random = np.random.default_rng(1)
    table = pa.table({"t": np.arange(events), "x": random.normal(size=events)})
    windows = sash.rows(max(events // 20, 100), every=10)
    return sash.stream(table, time="t").window(windows).agg(s=sash.sum("x"), sd=sash.stddev("x"))


def skylines(events: int) -> sash.WindowQuery:
    """Packets of six features at 5,000 a second; the last second, every 10 ms."""
    return skyline.query(skyline.packet_table(events))


def fits(events: int) -> sash.WindowQuery:
    """A parabola fitted to the last 1,000 quotes of one symbol, for each twenty."""
    return algo_trader.fits(algo_trader.quote_table(events, 1), every=20)


def each_event(events: int, aggregate: sash.Monoid) -> sash.WindowQuery:
    """An aggregate over the last 1,000 events of one key, for each of them."""
    return _of_one_key(events).window(sash.rows(1000, every=1)).agg(value=aggregate)


def short_skylines(events: int) -> sash.WindowQuery:
    """Of the last 50 ms, every 10 ms."""
    windowed = sash.stream(skyline.packet_table(events), time="time").window(
        sash.sliding("50 milliseconds", every="10 milliseconds")
    )
    return windowed.agg(extreme=sash.skyline(*skyline.FEATURES, prefer="max"))


def plain_python(events: int) -> sash.WindowQuery:
    """A loop of Python over the last 1,000 events, for each hundred."""
    return _of_one_key(events).window(sash.rows(1000, every=100)).apply(rises, schema="rises bigint")


def rises(events: pa.Table) -> dict[str, int]:
    """How often a value is greater than the one before it."""
    values = events["x"].to_pylist()
    return {"rises": sum(b > a for a, b in pairwise(values))}


def _of_one_key(events: int) -> sash.Stream:
    random = np.random.default_rng(1)
    return sash.stream(pa.table({"t": np.arange(events), "x": random.normal(size=events)}), time="t")


def chunks(query: sash.WindowQuery, *, rounds: int) -> Table:
    """Small chunks against large ones, in the buffer of two agnostic workers."""
    rows = query.source.rows(query.bound.columns)
    runs = {
        size: partial(answer, query.bound, rows, evaluate=partial(in_chunks, size, 2))
        for size in (2**16, 512)
    }
    seconds = race({str(size): run for size, run in runs.items()}, rounds=rounds)
    table = Table("sum and stddev, two agnostic workers, by events in a chunk", str(2**16))
    table.start()
    for size, spent in seconds.items():
        table.add(size, spent, spent / seconds[str(2**16)], limit=1.15 if size == "512" else None)
    return table


def in_chunks(
    chunk: int, workers: int, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges,
    *, span: int | None = None,
) -> Values:  # fmt: skip
    """Agnostic workers over a buffer of chunks of that many events, or of so much time."""
    share = WindowShare.whole(bound, window, layout, ranges)
    with _home(share, workers) as home:
        return handed_out(share, home, workers=workers, chunk=chunk, span=span)


def _home(share: WindowShare, workers: int) -> AbstractContextManager[WorkerPool]:
    bound, rows = share.bound, share.layout.rows
    if isinstance(bound, BoundWhole):
        return ProcessWorkers.of(bound.computation, rows.schema, workers=workers)
    return nullcontext(ThreadWorkers(Folding.of(bound, rows, share.ranges), rows.schema))


def compare(
    title: str, query: sash.WindowQuery, patterns: dict[str, Pattern], *, rounds: int,
    limits: Mapping[str, float] = MappingProxyType({}),
) -> Table:  # fmt: skip
    """Race the patterns; the first is the yardstick, and all must give the same answer."""
    yardstick = next(iter(patterns))
    queries = {name: query.parallel(pattern) for name, pattern in patterns.items()}
    answers = [each.collect() for each in queries.values()]
    for name, found in zip(queries, answers, strict=True):
        assert close(found, answers[0]), f"{name} answers differently"
    table = Table(title, yardstick)
    table.start()
    seconds = race({name: each.collect for name, each in queries.items()}, rounds=rounds)
    for name, spent in seconds.items():
        table.add(name, spent, spent / seconds[yardstick], limit=limits.get(name))
    return table


def close(one: pa.Table, two: pa.Table) -> bool:
    """Equal, but for what rounding in another order changes."""
    if one.drop_columns(["window"]).equals(two.drop_columns(["window"])):
        return one["window"].equals(two["window"])
    floats = [name for name in one.column_names if pa.types.is_floating(one.schema.field(name).type)]
    return all(np.allclose(one[name], two[name], rtol=1e-9, equal_nan=True) for name in floats)


def main() -> int:
    chosen = options("Parallel patterns: degrees and patterns against each other.")
    quick = chosen.quick
    two = sash.WinFarm(2, model="agnostic")
    one, gain = sash.WinFarm(1, model="agnostic"), {"2 workers": 1 / 1.6}
    shared = {
        "sum of the last 1,000 events": each_event(20_000 if quick else 4_000_000, sash.sum("x")),
        "maximum of the last 1,000 events": each_event(20_000 if quick else 4_000_000, sash.max("x")),
        "skyline of the last 50 ms": short_skylines(500 if quick else 20_000),
        "a function in plain Python": plain_python(5_000 if quick else 200_000),
    }
    workers: dict[str, Pattern] = {"1 worker": one, "2 workers": two}
    tables = [
        *(
            compare(title, query, workers, rounds=chosen.rounds, limits=gain)
            for title, query in shared.items()
        ),
        chunks(sums(20_000 if quick else 2_000_000), rounds=chosen.rounds),
        compare(
            "sum and stddev over sliding windows of one key",
            sums(20_000 if quick else 2_000_000),
            {
                "one worker": sash.WinFarm(1, model="agnostic"),
                "window farm, 2 agnostic": two,
                "window farm, 2 active": sash.WinFarm(2),
                "pane farm 2 + 2": sash.PaneFarm(2, 2),
                "map-reduce 2 + 2": sash.WinMapReduce(2, 2),
            },
            rounds=chosen.rounds,
        ),
        compare(
            "skyline of six features, 1 s / 10 ms, 10,000 packets (300,000: pisa_papers)",
            skylines(200 if quick else 10_000),
            {
                "window farm, 2": sash.WinFarm(2),
                "pane farm 1 + 1": sash.PaneFarm(1, 1),
                "window farm of 2 pane farms": sash.WinFarm(sash.PaneFarm(1, 1), replicas=2),
            },
            rounds=chosen.rounds,
            limits={"pane farm 1 + 1": 1 / 4},
        ),
        compare(
            "Levenberg-Marquardt fit of each window, in worker processes",
            fits(1_000 if quick else 20_000),
            {
                "one worker": sash.WinFarm(1),
                "window farm, 2 active": sash.WinFarm(2),
                "window farm, 2 agnostic": two,
            },
            rounds=chosen.rounds,
            limits={"window farm, 2 active": 1 / 1.7, "window farm, 2 agnostic": 1 / 1.7},
        ),
    ]
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
