"""`sash calibrate`: measure what the planner's estimates are made of, once per machine."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from sash.planner.costs.calibration import calibrated
from sash.planner.costs.constants import ProcessCosts, keep


def run() -> None:
    """Measure, keep, and show."""
    defaults = ProcessCosts()
    measured = calibrated(defaults)
    table = Table("constant", "here, ns", "default, ns")
    for name, cost in asdict(measured).items():
        table.add_row(name, f"{cost:,.1f}", f"{asdict(defaults)[name]:,.1f}")
    console = Console(soft_wrap=True)
    console.print(table)
    console.print(f"kept in {keep(measured)}; delete the file to go back to the defaults")
