"""`sash bench`: the benchmarks of the repository where they are, a small comparison where they are not.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import sash
from sash.cli.commands.bench_comparison import Measured, compare
from sash.errors import ArgumentError

REPOSITORY = Path(sash.__file__).parents[2]
EVENTS, QUICK = 50_000, 5_000


def run(names: list[str], *, quick: bool, listed: bool, built_in: bool) -> int:
    """Run what there is; the exit code."""
    if not built_in and (REPOSITORY / "benchmarks" / "__main__.py").is_file():
        options = [*(["--list"] if listed else []), *(["--quick"] if quick else [])]
        command = [sys.executable, "-m", "benchmarks", *options, *names]
        return subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    if names or listed:
        raise ArgumentError(
            "names", names, "left out: the benchmarks are in the repository, not in the package",
            hint="Without a name there is a small comparison.",
        )  # fmt: skip
    events = QUICK if quick else EVENTS
    show(compare(events=events), events=events)
    return 0


def show(measured: list[Measured], *, events: int) -> None:
    """One row for each width of the window."""
    table = Table(
        title=f"mean and maximum of the last n events, for each of {events:,} events, in one process",
        title_justify="left",
    )
    for column in ("n", "Sash, ns per event", "numpy, ns per event", "times faster"):
        table.add_column(column, justify="right")
    for one in measured:
        ratio = one.scratch / one.incremental
        table.add_row(f"{one.width:,}", f"{one.incremental:,.0f}", f"{one.scratch:,.0f}", f"{ratio:,.1f}")
    console = Console(soft_wrap=True)
    console.print(table)
    console.print("Both gave the same answers. They took turns, and the best of three counts.")
