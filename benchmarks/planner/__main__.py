"""The planner's choice against every other candidate, on generated workloads.

    python -m benchmarks.planner [--on process batch stream] [--quick] [--json PATH] [--rounds 3]
                                 [--minutes N] [--first N]

Twenty queries each in process, on Spark over files and on Spark over streams are drawn from a fixed seed:
keys and skew, window kind and overlap, aggregates from one count to eight regressions, lists, and functions
over whole windows. Raced are the candidates of the plan, each with the degree that the model has for it,
and the same patterns with other degrees: 2, 4 and 8 workers on two cores, and of two steps the second with
one worker too. They take turns after a run of each that warms up; those that are far behind leave (see
`contest`), and the best round of each counts. What was raced stands below each row. A choice is good when
it takes at most 15 % longer than the fastest of all that were raced; at least 18 of each 20 must be good.

A place has 10 (in process), 15 (files) or 25 minutes (streams), each workload a twentieth of that: where it
is short, other degrees are left out first, and the output says how many.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sash
from benchmarks.harness import Table, finish
from benchmarks.planner import process, spark_batch, spark_stream
from benchmarks.planner.contest import GOOD, NEEDED, WORKLOADS, Contest, raced
from sash.planner.costs.constants import costs

PLACES = {"process": 10.0, "batch": 15.0, "stream": 25.0}
"""Minutes that all workloads of a place may take."""
QUICK = 1.0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The planner's choices against every other candidate.")
    parser.add_argument("--on", nargs="+", choices=tuple(PLACES), default=["process"], metavar="PLACE")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of at most so many rounds counts")
    parser.add_argument("--first", type=int, default=WORKLOADS, help="only so many workloads, not judged")
    parser.add_argument("--minutes", type=float, help="for each place; default: 10, 15, 25")
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
    table, good, run = Table(f"choices of the planner: {place}", "the fastest that was raced"), 0, 0
    table.start()
    minutes = chosen.minutes or (QUICK if chosen.quick else PLACES[place])
    with contests(place, quick=chosen.quick) as every:
        for run, contest in enumerate(every, start=1):
            found = raced(contest, rounds=chosen.rounds, seconds=60 * minutes / WORKLOADS)
            seconds = found.seconds
            ratio = seconds[contest.choice] / seconds[found.fastest]
            good += ratio <= GOOD
            table.add(f"{run:>2}. {contest.choice}", seconds[contest.choice], ratio)
            others = ", ".join(f"{name} {took:.3g} s" for name, took in sorted(seconds.items(), key=_took))
            print(f"      {contest.name}; {found.about}; {others}", flush=True)
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
