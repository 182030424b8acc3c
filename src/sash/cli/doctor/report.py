"""Everything that was looked at, told: what is needed first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from sash.cli.doctor import software, surroundings
from sash.cli.doctor.health_check import HealthCheck

_MARKS = {"ok": ("ok", "green"), "missing": ("missing", "red"), "wrong": ("wrong", "red")}
_OPTIONAL = "yellow"


def run(*, as_json: bool) -> bool:
    """Look, tell, and answer whether everything that is needed is there."""
    findings = checkup()
    ready = not any(finding.harms for finding in findings)
    if as_json:
        print(json.dumps({"ready": ready, "findings": [asdict(each) for each in findings]}, indent=2))
        return ready
    console = Console(soft_wrap=True, highlight=False)
    for line in lines(findings):
        console.print(line)
    console.print()
    harmful = [each.name for each in findings if each.harms]
    console.print("everything that Sash needs is here" if ready else f"needed: {', '.join(harmful)}")
    return ready


def checkup() -> list[HealthCheck]:
    """Everything, what is needed first."""
    findings = [
        software.python(),
        software.java(),
        *software.packages(),
        surroundings.disk(),
        surroundings.machine_code(),
        surroundings.lmdb_store(),
        surroundings.machine(),
        surroundings.redis_server(),
        *software.extras(),
    ]
    return sorted(findings, key=lambda finding: not finding.needed)


def lines(findings: Sequence[HealthCheck]) -> list[Text]:
    """One for each finding, and one for each command."""
    width = max(len(finding.name) for finding in findings)
    said: list[Text] = []
    for finding in findings:
        word, colour = _MARKS[finding.state]
        if finding.state != "ok" and not finding.needed:
            colour = _OPTIONAL
        optional = "" if finding.needed or finding.state == "ok" else " (optional)"
        said.append(
            Text.assemble((f"{word:<8}", colour), f"{finding.name:<{width}}  {finding.found}{optional}")
        )
        if finding.fix:
            said.append(Text.assemble(" " * (width + 10), (finding.fix, "bold")))
    return said
