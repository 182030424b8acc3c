"""`sash calibrate`: measure what the planner's estimates are made of, once per machine or cluster.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from sash.cli.doctor.cluster import unreachable_reason
from sash.cli.spark_session import spark_session
from sash.errors import ArgumentError
from sash.planner.costs.calibration import calibrated
from sash.planner.costs.constants import ProcessCosts, SparkCosts, keep

LOCAL = "local[*]"
LONG = 1e6
"""Nanoseconds from which on a constant is shown in milliseconds."""


def run() -> None:
    """Measure the process, keep, and show."""
    defaults = ProcessCosts()
    measured = calibrated(defaults)
    table = Table("constant", "here, ns", "default, ns")
    for name, cost in asdict(measured).items():
        table.add_row(name, f"{cost:,.1f}", f"{asdict(defaults)[name]:,.1f}")
    console = Console(soft_wrap=True)
    console.print(table)
    _kept(console, measured)


def run_on_spark(master: str | None, *, folder: str | None, debug: bool) -> None:
    """Measure Spark, with a line per constant as it is found; keep."""
    unreachable = "" if master is None else unreachable_reason(master)
    if unreachable:
        raise ArgumentError("--master", master, "one that answers", hint=unreachable)
    from sash.runtimes.spark.calibration.measured_costs import measured_costs

    console, defaults = Console(soft_wrap=True), asdict(SparkCosts())

    def found(name: str, cost: float) -> None:
        here = _amount(cost) if cost > 0 else "not found"
        console.print(f"{name:<10}{here:>12}   default {_amount(defaults[name])}", highlight=False)

    with spark_session(app="sash calibrate", debug=debug, master=master or LOCAL) as spark:
        slots = spark.sparkContext.defaultParallelism
        console.print(f"{spark.sparkContext.master}, {slots} tasks at a time: about half a minute")
        measured = measured_costs(spark, folder=folder, found=found)
    _kept(console, measured)


def _kept(console: Console, measured: ProcessCosts | SparkCosts) -> None:
    console.print(f"kept in {keep(measured)}; delete the file to go back to the defaults")


def _amount(cost: float) -> str:
    """
    >>> _amount(478.2), _amount(52_400_000.0)
    ('478 ns', '52.4 ms')
    """
    return f"{cost / 1e6:,.1f} ms" if cost >= LONG else f"{cost:,.0f} ns"
