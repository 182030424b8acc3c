"""Run the experiments of the STRETCH paper; with --to, draw them and write their tables into a page.

python -m benchmarks.stretch [--quick] [--long] [--only N …] [--to DIRECTORY] [--json PATH]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Table, finish
from benchmarks.paper_table import PaperTable, publish
from benchmarks.stretch import (
    controller,
    counting,
    figures,
    forwarder,
    hedge,
    reconfigurations,
    scalejoin,
    stress,
    under_load,
)
from benchmarks.stretch.joining import Replay
from benchmarks.stretch.progress import PROGRESS

PAGE = "stretch.md"
Tables = tuple[PaperTable | Table, ...]
OVER_TIME = "rate, instances, comparisons and latency over time"


def _over_time(title: str, name: str, directory: Path, run: Replay) -> Path:
    return figures.over_time(title, name, directory, run, comparisons=run.comparisons)


def _counting(chosen: argparse.Namespace) -> Tables:
    table, found = counting.measure(quick=chosen.quick, rounds=chosen.rounds)
    if chosen.to:
        drawn = figures.throughput_and_latency(found, chosen.to)
        table.figures["throughput and latency by level of duplication"] = drawn
    return table, counting.judged(found)


def _forwarder(chosen: argparse.Namespace) -> PaperTable:
    table, found = forwarder.measure(quick=chosen.quick, rounds=chosen.rounds)
    if chosen.to:
        table.figures["throughput and latency of the forwarder by instances"] = figures.by_instances(
            "Q2: a forwarder of two inputs", "stretch-2", chosen.to,
            {
                "tuples a second": {"forwarder": {n: each.tuples for n, each in found.items()}},
                "latency, ms": {"forwarder": {n: 1e3 * each.latency for n, each in found.items()}},
            },
        )  # fmt: skip
    return table


def _scalejoin(chosen: argparse.Namespace) -> PaperTable:
    table, found = scalejoin.measure(quick=chosen.quick, rounds=chosen.rounds)
    if chosen.to:
        table.figures["sustained rate, comparisons and latency of ScaleJoin by instances"] = (
            figures.by_instances("Q3: ScaleJoin", "stretch-3", chosen.to, found.panels())
        )
    return table


def _under_load(chosen: argparse.Namespace) -> Tables:
    table, found = under_load.measure(quick=chosen.quick)
    for name, change in found.items():
        if chosen.to:
            short = name.partition(",")[0]
            title = f"Q4, {short}: another rate at {change.before:.0f} s, thresholds of 90, 70 and 45 %"
            table.figures[f"{short}: {OVER_TIME}"] = _over_time(
                title, f"stretch-4-{short}", chosen.to, change.replay
            )
    return table, under_load.judged(found)


def _controller(chosen: argparse.Namespace) -> PaperTable:
    table, found = controller.measure(quick=chosen.quick, long=chosen.long)
    if chosen.to:
        title = f"Q5: {table.title.partition(', ')[2]}, random rates, predictive controller"
        table.figures[f"random rates: {OVER_TIME}"] = _over_time(title, "stretch-5", chosen.to, found)
    return table


def _hedge(chosen: argparse.Namespace) -> Tables:
    table, found = hedge.measure(quick=chosen.quick, rounds=chosen.rounds)
    if chosen.to:
        title = "Q6: hedges under bursts, predictive controller"
        table.figures[f"bursts: {OVER_TIME}"] = _over_time(title, "stretch-6", chosen.to, found)
    return table, hedge.judged(found)


def _reconfigurations(chosen: argparse.Namespace) -> Table:
    table, switches = reconfigurations.measure(quick=chosen.quick, rounds=chosen.rounds)
    if chosen.to:
        figures.reconfiguration_times(switches, chosen.to)
    return table


def _stress(chosen: argparse.Namespace) -> Table:
    table = Table("stress: rows that are lost, repeated or out of order", yardstick="rows emitted")
    table.start()
    record = stress.stress(seconds=1.0 if chosen.quick else 120.0, seed=12, most=8)
    wrong = stress.disorder(record)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    mean = sum(latency for _, latency in record.latencies) / max(len(record.latencies), 1)
    what = f"{record.emitted.num_rows:,} rows, {record.reconfigurations} switches"
    table.add(what, mean, float(len(wrong)), limit=0.0)
    if chosen.to:
        title = f"Stress: abrupt rates, {record.reconfigurations} switches, every row once and in order"
        figures.over_time(title, "stretch-stress", chosen.to, record)
    return table


EXPERIMENTS: tuple[Callable[[argparse.Namespace], PaperTable | Table | Tables], ...] = (
    _counting, _forwarder, _scalejoin, _under_load, _controller, _hedge, _reconfigurations, _stress,
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="The experiments of the STRETCH paper.")
    numbers = range(1, len(EXPERIMENTS) + 1)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--long", action="store_true", help="experiment 5 for 20 minutes, as in the paper")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of how many rounds counts")
    parser.add_argument(
        "--only", type=int, nargs="+", choices=numbers, metavar="N", help=f"which of 1 to {numbers[-1]}"
    )
    parser.add_argument(
        "--to", type=Path, metavar="DIRECTORY", help=f"draw figures there, write tables into its {PAGE}"
    )
    chosen = parser.parse_args()
    if chosen.to:
        chosen.to.mkdir(parents=True, exist_ok=True)
    judged: list[Table] = []
    for number in chosen.only or numbers:
        experiment = EXPERIMENTS[number - 1]
        PROGRESS.begin(f"experiment {number} of {numbers[-1]}: {experiment.__name__.lstrip('_')}")
        began = time.perf_counter()
        found = experiment(chosen)
        PROGRESS.end(time.perf_counter() - began)
        for table in found if isinstance(found, tuple) else (found,):
            if isinstance(table, PaperTable):
                publish([table], None if chosen.to is None else chosen.to / PAGE)
            else:
                judged.append(table)
    return finish(judged, chosen)


if __name__ == "__main__":
    sys.exit(main())
