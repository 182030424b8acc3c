"""Hedging: which trades of different symbols, within 30 seconds, moved against each other?

    { (l, r) : l.symbol < r.symbol,  |l.move + r.move| ≤ ε }    a self-join, by as many threads as it needs

    python examples/hedging.py [--events 60000] [--most 2] [--speed 10]

Trades come in bursts, and each is compared with every other one of the window: the cost of a trade
grows with the load. A controller that waits until instances are busy is late by a burst. The predictive
one counts the trades that wait and those that are to come, and what a window of them will cost. The
number of instances changes while the stream runs: no state moves, and the pairs are the same. After the
hedge query of the STRETCH paper (Gulisano et al., IEEE TPDS 2022); trades are drawn here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Thread

import numpy as np
import pyarrow as pa

from sash.operators import Input, Join, Sample, predictive, setup

TRADES = Input(pa.schema([("t", pa.int64()), ("symbol", pa.int64()), ("move", pa.float64())]), time="t")
WINDOW = 30.0
BURSTS = (1, 1, 8, 12, 8, 1, 1, 1)
"""How the rate rises and falls, again and again."""


@dataclass(frozen=True)
class Second:
    """What the controller saw and did in one second of the stream."""

    trades: int
    pending: int
    degree: int


def trade_table(events: int, *, seconds: int = 24, seed: int = 8) -> pa.Table:
    """Trades of ten symbols, in bursts. Times are microseconds."""
    random = np.random.default_rng(seed)
    odds = np.resize(np.array(BURSTS, float), seconds)
    second = np.sort(random.choice(seconds, events, p=odds / odds.sum()))
    times = np.sort((second + random.random(events)) * 1e6).astype(np.int64)
    columns = [times, random.integers(0, 10, events), random.uniform(-1, 1, events)]
    return pa.table(columns, schema=TRADES.schema)


def hedges(*, shares: int = 8) -> Join:
    return Join(
        within=int(WINDOW * 1e6),
        inputs=TRADES,
        shares=shares,
        # Every trade is on both sides: < finds two trades once, != would find them both ways.
        where=lambda l, r: (l.symbol < r.symbol) & (abs(l.move + r.move) <= 0.00002),  # noqa: E741
    )


def seconds_of(trades: pa.Table) -> Iterator[pa.Table]:
    """The trades of each second."""
    times = trades["t"].to_numpy()
    last = int(times[-1] // 1_000_000) if len(times) else -1
    cuts = np.searchsorted(times, np.arange(last + 2) * 1_000_000)
    return (trades.slice(lo, hi - lo) for lo, hi in pairwise(cuts.tolist()))


def replay(trades: pa.Table, *, most: int, speed: float) -> tuple[pa.Table, list[Second]]:
    """All pairs, and what the controller did, while the stream passes by `speed` times as fast."""
    controller, samples = predictive(window=WINDOW / speed, horizon=2 / speed, patience=2), list[Sample]()
    pairs, story = [hedges().over(trades.slice(0, 0))], list[Second]()  # and the machine code is loaded
    with setup(hedges(), 1, most) as elastic:

        def read() -> None:
            while (rows := elastic.get("reader")) is not None:
                pairs.append(rows)

        reader = Thread(target=read)
        reader.start()
        began = time.perf_counter()
        for number, rows in enumerate(seconds_of(trades)):
            time.sleep(max(0.0, began + number / speed - time.perf_counter()))
            elastic.add("source", rows)
            samples.append(elastic.sample())
            wanted = max(1, min(most, controller(samples)))
            if wanted != elastic.degree:
                elastic.reconfigure(wanted)
            story.append(Second(rows.num_rows, samples[-1].pending, wanted))
        elastic.stop()
        reader.join()
    return pa.concat_tables(pairs), story


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="An elastic self-join of trades in bursts.")
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--most", type=int, default=2, help="instances at the same time")
    parser.add_argument("--speed", type=float, default=10.0, help="of the replay: 1 is real time")
    arguments = parser.parse_args(argv)
    begin = time.perf_counter()
    pairs, story = replay(trade_table(arguments.events), most=arguments.most, speed=arguments.speed)
    print(f"{'second':>6} {'trades':>8} {'waiting':>8}  instances")
    for number, second in enumerate(story):
        print(f"{number:>6} {second.trades:>8,} {second.pending:>8,}  {'█' * second.degree}")
    took = time.perf_counter() - begin
    print(
        f"{pairs.num_rows:,} hedges in windows of 30 s among {arguments.events:,} trades, in {took:.2f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
