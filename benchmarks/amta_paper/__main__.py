"""`python -m benchmarks.amta_paper`: run the experiments, write a figure and its numbers for each."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.amta_paper import (
    analytics,
    bulk_eviction,
    decoupled,
    dimensions,
    latency,
    memory,
    six_monoids,
)
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.amta_paper.plotting import draw
from benchmarks.paper_table import publish

EXPERIMENTS = (latency, bulk_eviction, six_monoids, memory, dimensions, decoupled, analytics)
ROOT = Path(__file__).parents[2]


def environment() -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    packages = ("numba", "numpy", "lmdb", "matplotlib")
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{package: importlib.metadata.version(package) for package in packages},
    }


def circumstances() -> dict[str, Any]:
    """By which a figure that is out of date, or was measured beside other programs, is recognised.

    The load is the mean number of programs that wanted a core in the minute before: on a quiet machine
    that of an earlier experiment of the same run, at most.
    """
    return {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 2),
    }


def commit() -> str:
    """Of the checkout that is measured, with a plus if files of `src` or `benchmarks` differ from it."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    if found.returncode:
        return "unknown"
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "benchmarks", "examples"])
    return found.stdout.strip() + "+" * bool(changed.returncode)


def main(arguments: Sequence[str] | None = None) -> int:
    return run(
        EXPERIMENTS, arguments, description="The five experiments of the AMTA paper.", page="README.md"
    )


def run(experiments: Sequence[Any], arguments: Sequence[str] | None, *, description: str, page: str) -> int:
    """The command line over modules that each have `run(quick, progress) -> Chart`. Their tables are
    written into `page`, if the directory has it. The exit code is 1 where a chart is judged and misses."""
    parser = argparse.ArgumentParser(description=description)
    numbers = range(1, len(experiments) + 1)
    parser.add_argument("--quick", action="store_true", help="small sizes; the figures mean nothing then")
    parser.add_argument(
        "--only",
        type=int,
        nargs="+",
        choices=numbers,
        default=list(numbers),
        metavar="N",
        help=f"some experiments, 1 to {len(experiments)}",
    )
    parser.add_argument(
        "--to", type=Path, metavar="DIRECTORY", help="default: docs/benchmarks; build/benchmarks if quick"
    )
    options = parser.parse_args(arguments)
    directory = options.to or ROOT / ("build" if options.quick else "docs") / "benchmarks"
    directory.mkdir(parents=True, exist_ok=True)
    progress, kept = ProgressPrinter(), True
    for number, experiment in zip(numbers, experiments, strict=True):
        if number in options.only:
            title = f"experiment {number} of {len(experiments)}"
            kept = _run(experiment, title, directory, page, progress, options.quick) and kept
    return 0 if kept or options.quick else 1


def _run(
    experiment: Any, title: str, directory: Path, page: str, progress: ProgressPrinter, quick: bool
) -> bool:
    """Whether all that is promised of it was measured."""
    progress.begin(f"{title}: {experiment.__name__.rpartition('.')[2]}")
    measured = circumstances()
    begin = time.perf_counter()
    chart = experiment.run(quick=quick, progress=progress)
    measured["seconds"] = round(time.perf_counter() - begin, 1)
    figure = draw(chart, directory)
    if chart.table is not None:
        chart.table.measured = "commit {commit}, {date}, load {load} at the start".format(**measured)
        publish([chart.table], directory / page)
    data = chart.as_json() | {"environment": environment(), "measured": measured, "quick": quick}
    figure.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    progress.end(measured["seconds"])
    print(figure)
    return chart.judged is None or all(row.reached for row in chart.judged.rows)


if __name__ == "__main__":
    sys.exit(main())
