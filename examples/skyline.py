"""Skyline over packets: which of the last second were extreme, in six features at once, every 10 ms?

    skyline  =  packets that no other packet of the window is at least as extreme as in every feature

    python examples/skyline.py [--events 5000] [--workers 2]

A skyline is a monoid: the skyline of two sets is that of their two skylines. Windows of 1 s that slide by
10 ms share 99 of their 100 panes, so a pane farm computes the skyline of each pane once and merges small
skylines for the windows, where a window farm compares packets with packets. Packets are generated: the
features of one go together, as they do in traffic.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import sash

FEATURES = ("bytes", "gap", "flags", "entropy", "ports", "retries")
SECOND = 1_000_000


def packet_table(events: int, *, rate: int = 5_000, seed: int = 2) -> pa.Table:
    """Packets at `rate` a second. Features follow one load, give or take a twentieth."""
    random = np.random.default_rng(seed)
    load = random.random(events)
    columns = {name: load + random.normal(0.0, 0.05, events) for name in FEATURES}
    times = np.sort(random.integers(0, max(1, events * SECOND // rate), events))
    return pa.table({"time": pa.array(times, pa.timestamp("us")), **columns})


def query(packets: pa.Table) -> sash.WindowQuery:
    """The skyline of the last second, every 10 ms; extreme is large in every feature."""
    return (
        sash.stream(packets, time="time")
        .window(sash.sliding("1 second", every="10 milliseconds"))
        .agg(n=sash.count(), extreme=sash.skyline(*FEATURES, prefer="max"))
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The skyline of the last second of packets, every 10 ms.")
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--workers", type=int, default=2, help="of each stage of the pane farm")
    arguments = parser.parse_args(argv)
    farm = sash.PaneFarm(arguments.workers, arguments.workers)
    begin = time.perf_counter()
    found = query(packet_table(arguments.events)).parallel(farm).collect()
    seconds = time.perf_counter() - begin
    sizes = [len(points) for points in found["extreme"].to_pylist()]
    print(f"{found.num_rows:,} windows of {arguments.events:,} packets in {seconds:.2f} s by {farm}")
    print(f"packets in a window: at most {max(found['n'].to_pylist(), default=0):,}")
    print(f"packets in its skyline: {min(sizes, default=0)} to {max(sizes, default=0)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
