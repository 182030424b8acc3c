"""SECRET: the same ten events, the same window, and what each engine reports.

    reports  =  Pick( Report( Content( Scope(t) ) ) )     for the instants t of every Tick

    python examples/secret_comparison.py [--events 10] [--size 3] [--slide 3]

'A window of 3, sliding by 3' is one sentence and many programs: where does the first window begin,
which end is open, what makes it report? SECRET (Botan et al., PVLDB 2010) has four parameters for that:
scope, content, report and tick; pick, for count windows, was added by Dindar et al. (VLDB Journal 2013).
Sash has engines as values of them. So a pipeline that moves from one engine to another can keep its
answers: `.semantics("flink")` makes the very query report as Flink does, in process and on Spark.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pyarrow as pa

import sash

SHOWN = ("flink", "storm", "spark_structured", "beam", "bytewax", "stream", "coral8")
MOST = 40
"""Events that fit into a picture of text."""


def alike(times: Sequence[int], size: int, slide: int) -> dict[str, list[str]]:
    """What engines report, as event numbers, and who reports it."""
    answers: dict[str, list[str]] = {}
    for engine in sash.secret.names():
        answers.setdefault(_reports(engine, times, size, slide), []).append(engine)
    return answers


def _reports(engine: str, times: Sequence[int], size: int, slide: int) -> str:
    try:
        reports = sash.secret.simulate(engine, times, size, slide)
    except sash.errors.Unsupported as error:
        return f"not known: {error.hint.split(';')[0]}"
    sets = ("{" + ",".join(f"t{index + 1}" for index in each) + "}" for each in reports)
    return " ".join(sets) or "nothing"


def reported_as(engine: str, times: Sequence[int], size: int, slide: int) -> list[list[int]]:
    """Not simulated: a query of Sash over the events, which reports as that engine does."""
    events = pa.table({"t": times, "number": range(len(times))})
    window = sash.sliding(size, every=slide)
    query = sash.stream(events, time="t").window(window, flush=False).agg(held=sash.collect("number"))
    return [row["held"] for row in query.semantics(engine).collect().to_pylist()]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What engines report for the same windows.")
    parser.add_argument("--events", type=int, default=10, help=f"at most {MOST} are looked at")
    parser.add_argument("--size", type=int, default=3)
    parser.add_argument("--slide", type=int, default=3)
    arguments = parser.parse_args(argv)
    times = range(10, 10 + min(arguments.events, MOST))
    print(sash.secret.draw(SHOWN, times, arguments.size, arguments.slide))
    answers = alike(times, arguments.size, arguments.slide)
    print(f"\nwhat {len(sash.secret.names())} engines report for the same windows:")
    for contents, engines in answers.items():
        print(f"  {', '.join(engines)}\n    {contents}")
    print(
        f"\nthis query as Flink reports it: {reported_as('flink', times, arguments.size, arguments.slide)}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
