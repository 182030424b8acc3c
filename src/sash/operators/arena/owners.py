"""Whose arena it is: the JVM that a worker of Spark belongs to, or the process itself.

An owner is `boot namespace pid start`, so that neither a process of another container nor one that got the
same number later is taken for it. Where there is no /proc, no owner is known, and only age counts.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sash.operators.arena.head import this_boot

_JVM = {"java", "jsvc"}
_ENDED = {"Z", "X"}


class _Process(NamedTuple):
    name: str
    state: str
    parent: int
    start: str


def _process(pid: int) -> _Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return _Process(name, fields[0], int(fields[1]), fields[19])


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return "-"


def this_owner() -> str:
    """The owner of what this process makes; '' if none can be known."""
    return _owner_of(os.getpid())


@cache
def _owner_of(pid: int) -> str:
    process = here = _process(pid)
    owner = pid
    while process is not None and process.name not in _JVM:
        owner, process = process.parent, _process(process.parent)
    if process is None:
        owner, process = pid, here
    return f"{this_boot().hex()} {_namespace()} {owner} {process.start}" if process else ""


def is_gone(owner: str) -> bool:
    """Whether this owner certainly runs no more."""
    parts = owner.split()
    if len(parts) != 4:
        return False
    boot, namespace, pid, start = parts
    if boot != this_boot().hex():
        return True
    if namespace != _namespace():
        return False
    process = _process(int(pid))
    return process is None or process.start != start or process.state in _ENDED
