"""Parallel patterns on one key: workers against workers, and patterns against each other.

    python -m benchmarks.patterns [--quick] [--json PATH] [--rounds 3]

Three questions, each answered by a ratio inside one run, with all answers compared:
- a sum over sliding windows of one key: how much do two workers gain over one, pattern by pattern?
- the skyline of six features over 1 s / 10 ms windows: how much does a pane farm gain over a window farm of
  the same degree, which computes each window from its events?
- a Levenberg-Marquardt fit of each window in worker processes: how much do two gain over one?
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table, finish, options, race
from examples import algo_trader, skyline
from sash.operators.patterns.declared import Pattern


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


def compare(
    title: str, query: sash.WindowQuery, patterns: dict[str, Pattern], *, rounds: int,
    limits: Mapping[str, float] = MappingProxyType({}),
) -> Table:  # fmt: skip
    """Race the patterns; the first is the yardstick, and all must give the same answer."""
    yardstick = next(iter(patterns))
    queries = {name: query.parallel(pattern) for name, pattern in patterns.items()}
    answers = [each.collect() for each in queries.values()]
    for name, answer in zip(queries, answers, strict=True):
        assert close(answer, answers[0]), f"{name} answers differently"
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
    tables = [
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
            "skyline of six features, 1 s / 10 ms",
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
