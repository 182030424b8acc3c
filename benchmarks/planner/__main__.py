"""The planner's choice against every other candidate, on generated workloads.

    python -m benchmarks.planner [--on process batch stream] [--quick] [--json PATH] [--rounds 3]

Twenty queries each in process, on Spark over files and on Spark over streams are drawn from a fixed seed:
keys and skew, window kind and overlap, aggregates from one count to eight regressions, lists, and functions
over whole windows. Each candidate of a plan computes each of them, on Spark batch also the chosen pattern
with other degrees; they take turns after a round that warms up, and the best round of each counts. A choice
is good when it takes at most 15 % longer than the fastest contender; at least 18 of each 20 must be good.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sash
from benchmarks.harness import Table, finish, race
from benchmarks.planner import process, spark_batch, spark_stream
from benchmarks.planner.contest import GOOD, NEEDED, WORKLOADS, Contest
from sash.planner.costs.constants import costs

PLACES = "process", "batch", "stream"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The planner's choices against every other candidate.")
    parser.add_argument("--on", nargs="+", choices=PLACES, default=["process"], metavar="PLACE")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of how many rounds counts")
    parser.add_argument("--first", type=int, default=WORKLOADS, help="only so many workloads, not judged")
    return parser.parse_args()


@contextmanager
def contests(place: str, *, quick: bool) -> Iterator[Iterator[Contest]]:
    if place == "process":
        yield process.contests(quick=quick)
        return
    spark = sash.spark_session(app="sash planner")
    with tempfile.TemporaryDirectory(prefix="sash-planner-") as folder:
        of = spark_batch.contests if place == "batch" else spark_stream.contests
        yield of(spark, Path(folder), quick=quick)


def judged(place: str, chosen: argparse.Namespace) -> Table:
    """All workloads of a place."""
    table, good, run = Table(f"choices of the planner: {place}", "the fastest candidate"), 0, 0
    table.start()
    with contests(place, quick=chosen.quick) as every:
        for run, contest in enumerate(every, start=1):
            seconds = race(contest.contenders, rounds=chosen.rounds)
            fastest = min(seconds, key=lambda name: seconds[name])
            ratio = seconds[contest.choice] / seconds[fastest]
            good += ratio <= GOOD
            table.add(f"{run:>2}. {contest.choice}", seconds[contest.choice], ratio)
            others = ", ".join(f"{name} {took:.2f} s" for name, took in sorted(seconds.items(), key=_took))
            print(f"      {contest.name}; {others}", flush=True)
            if run == chosen.first:
                break
    known = costs()
    measured = known.measured if place == "process" else known.spark_measured
    print(f"\n{good} of {run} within {GOOD - 1:.0%} of the fastest; ", end="")
    print(f"constants: {'measured here' if measured else 'the defaults'}")
    if run == WORKLOADS:
        bad = WORKLOADS - good
        table.add("choices that are not good, of 20", 0.0, bad, limit=WORKLOADS - NEEDED)
    return table


def _took(named: tuple[str, float]) -> float:
    return named[1]


def main() -> int:
    chosen = options()
    return finish([judged(place, chosen) for place in chosen.on], chosen)


if __name__ == "__main__":
    sys.exit(main())
