"""All checks of `sash doctor`, what is needed first, and how they are printed. One is a `HealthCheck`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from sash.cli.doctor import disk_and_stores, software
from sash.cli.doctor.cluster import cluster
from sash.cli.doctor.health_check import HealthCheck
from sash.cli.doctor.leftovers import left_here

_MARKS = {"ok": ("ok", "green"), "missing": ("missing", "red"), "wrong": ("wrong", "red")}
_OPTIONAL = "yellow"


def run(*, as_json: bool, master: str | None = None) -> bool:
    """Check, print, and return whether everything that is needed is there, also on a cluster."""
    checks = checkup() + ([] if master is None else cluster(master))
    ready = not any(check.harms for check in checks)
    if as_json:
        print(json.dumps({"ready": ready, "findings": [asdict(each) for each in checks]}, indent=2))
        return ready
    console = Console(soft_wrap=True, highlight=False)
    for line in lines(checks):
        console.print(line)
    console.print()
    harmful = [each.name for each in checks if each.harms]
    console.print("everything that Sash needs is here" if ready else f"needed: {', '.join(harmful)}")
    return ready


def checkup() -> list[HealthCheck]:
    """Everything, what is needed first."""
    checks = [
        software.python(),
        software.java(),
        *software.packages(),
        disk_and_stores.disk(),
        disk_and_stores.machine_code(),
        disk_and_stores.lmdb_store(),
        disk_and_stores.machine(),
        *left_here(),
        disk_and_stores.redis_server(),
        *software.extras(),
    ]
    return sorted(checks, key=lambda check: not check.needed)


def lines(checks: Sequence[HealthCheck]) -> list[Text]:
    """One for each check, and one for each command."""
    width = max(len(check.name) for check in checks)
    shown: list[Text] = []
    for check in checks:
        word, colour = _MARKS[check.state]
        optional = ""
        if check.state != "ok" and not check.needed:
            # Nothing is wrong where something that nobody needs is not there.
            word, colour = ("-" if check.state == "missing" else word), _OPTIONAL
            optional = " (optional, not installed)" if check.state == "missing" else " (optional)"
        shown.append(
            Text.assemble((f"{word:<8}", colour), f"{check.name:<{width}}  {check.found}{optional}")
        )
        if check.fix:
            shown.append(Text.assemble(" " * (width + 10), (check.fix, "bold")))
    return shown
