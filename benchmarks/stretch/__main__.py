"""Run the experiments of the STRETCH paper; with --to, draw them.

python -m benchmarks.stretch [--quick] [--only N …] [--to DIRECTORY] [--json PATH]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.harness import Table, finish
from benchmarks.stretch import figures, hedge, paircount, reconfigurations, stress

EXPERIMENTS = ("reconfigurations", "paircount", "hedge", "stress")


def main() -> int:
    parser = argparse.ArgumentParser(description="The experiments of the STRETCH paper.")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of how many rounds counts")
    parser.add_argument(
        "--only", type=int, nargs="+", choices=range(1, 5), metavar="N", help="which of 1 to 4"
    )
    parser.add_argument("--to", type=Path, metavar="DIRECTORY", help="draw the figures there")
    chosen = parser.parse_args()
    wanted = [EXPERIMENTS[n - 1] for n in chosen.only or range(1, 5)]
    tables: list[Table] = []
    if "reconfigurations" in wanted:
        table, switches = reconfigurations.measure(quick=chosen.quick, rounds=chosen.rounds)
        tables.append(table)
        if chosen.to:
            figures.reconfiguration_times(switches, chosen.to)
    if "paircount" in wanted:
        tables.append(paircount.measure(quick=chosen.quick, rounds=chosen.rounds))
    if "hedge" in wanted:
        table, replay = hedge.measure(quick=chosen.quick, rounds=chosen.rounds)
        tables.append(table)
        if chosen.to:
            figures.over_time(
                "Hedge query: self-join over 30 seconds under bursts, predictive controller",
                "stretch-hedge",
                chosen.to, seconds=replay.seconds, rates=replay.rates, degrees=replay.degrees,
                latencies=replay.latencies, bound=hedge.BOUND,
            )  # fmt: skip
    if "stress" in wanted:
        tables.append(_stressed(chosen.to, quick=chosen.quick))
    return finish(tables, chosen)


def _stressed(directory: Path | None, *, quick: bool) -> Table:
    table = Table("stress: rows that are lost, repeated or out of order", yardstick="rows emitted")
    table.start()
    record = stress.stress(seconds=1.0 if quick else 120.0, seed=12, most=8)
    wrong = stress.disorder(record)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    mean = sum(latency for _, latency in record.latencies) / max(len(record.latencies), 1)
    what = f"{record.emitted.num_rows:,} rows, {record.reconfigurations} switches"
    table.add(what, mean, float(len(wrong)), limit=0.0)
    if directory:
        figures.over_time(
            f"Stress: abrupt rates, {record.reconfigurations} switches, every row once and in order",
            "stretch-stress", directory, seconds=record.seconds, rates=record.rates, degrees=record.degrees,
            latencies=record.latencies,
        )  # fmt: skip
    return table


if __name__ == "__main__":
    sys.exit(main())
