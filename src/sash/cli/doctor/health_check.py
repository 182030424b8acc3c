"""One check, and how to fix what it found. `all_checks.py` lists the checks and prints them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class HealthCheck:
    """One check and its result."""

    name: str
    state: Literal["ok", "missing", "wrong"]
    found: str
    """What is there, in words."""
    fix: str = ""
    """The command that fixes it; empty when there is nothing to fix."""
    needed: bool = True

    @property
    def harms(self) -> bool:
        """Whether Sash cannot do its work because of it."""
        return self.needed and self.state != "ok"


def install(debian: str, brew: str) -> str:
    """The command of the package manager that is here; Debian's when none is known."""
    if shutil.which("brew") and not shutil.which("apt-get"):
        return f"brew install {brew}"
    root = "" if not hasattr(os, "geteuid") or os.geteuid() == 0 else "sudo "
    return f"{root}apt-get install -y {debian}"
