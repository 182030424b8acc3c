"""ScaleJoin: which two tuples of two streams are near in two attributes, within a window of time?

    { (r, s) : |r.time − s.time| ≤ W,  |r.x − s.a| ≤ 10,  |r.y − s.b| ≤ 10 }     every pair once, in order

    python examples/scalejoin.py [--events 4000] [--shares 2]

Nothing here is an equality, so a hash finds nothing. Sash searches for the band in cells of width 10.
ScaleJoin itself (Gulisano, Nikolakopoulos, Papatriantafilou, Tsigas; IEEE Trans. Big Data 2021) works for
any predicate: it compares each tuple with all that are stored, shared out over threads. Both find the same
pairs. The streams and the predicate are those of the paper's benchmark; values are drawn here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import sash
from sash.operators import Input, Join

R = Input(pa.schema([("time", pa.int64()), ("x", pa.int64()), ("y", pa.float64())]), time="time")
S = Input(pa.schema([("time", pa.int64()), ("a", pa.int64()), ("b", pa.float64())]), time="time")
WINDOW = 5_000
"""Milliseconds."""


def tables(
    events: int, *, rate: int = 1_000, spread: int = 1_000, seed: int = 7
) -> tuple[pa.Table, pa.Table]:
    """Two streams of `rate` tuples a second, both attributes uniform up to `spread`."""
    random = np.random.default_rng(seed)

    def one(schema: pa.Schema) -> pa.Table:
        times = np.arange(events) * 1_000 // rate
        values = [random.integers(1, spread, events), random.uniform(1, spread, events)]
        return pa.table([times, *values], schema=schema)

    return one(R.schema), one(S.schema)


def searched(r: pa.Table, s: pa.Table) -> sash.JoinQuery:
    """The join as a query: Sash sees the band in the predicate, and searches for it."""
    return sash.stream(r, time="time").join(
        sash.stream(s, time="time"),
        within=WINDOW,
        where=lambda r, s: (abs(r.x - s.a) <= 10) & (abs(r.y - s.b) <= 10),
    )


def compared(shares: int) -> Join:
    """The join as an operator: everything is compared, in equal shares whatever the data are."""
    return Join(
        within=WINDOW,
        inputs=[R, S],
        shares=shares,
        # Python does not show an `and` to a library: the band cannot be searched for.
        where=lambda r, s: abs(r.x - s.a) <= 10 and abs(r.y - s.b) <= 10,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="A band join, searched for and compared exhaustively.")
    parser.add_argument("--events", type=int, default=4_000, help="of each stream")
    parser.add_argument("--shares", type=int, default=2, help="of the exhaustive join")
    arguments = parser.parse_args(argv)
    r, s = tables(arguments.events)
    query = searched(r, s)
    query.explain()
    begin = time.perf_counter()
    pairs = query.collect()
    print(f"\nsearched: {pairs.num_rows:,} pairs in windows of 5 s, in {time.perf_counter() - begin:.2f} s")
    begin = time.perf_counter()
    same = compared(arguments.shares).over(r, s)
    print(f"compared: {same.num_rows:,} pairs in {time.perf_counter() - begin:.2f} s")
    print(query.head(3))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
