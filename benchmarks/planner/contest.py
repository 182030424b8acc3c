"""One workload: everything that could compute it, and what the planner chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

WORKLOADS = 20
GOOD = 1.15
"""A choice is good when it takes at most this many times what the fastest contender takes."""
NEEDED = 18
"""Of the choices must be good."""


@dataclass(frozen=True)
class Contest:
    """Contenders by name, each a run of the whole query."""

    name: str
    choice: str
    contenders: Mapping[str, Callable[[], Any]]
