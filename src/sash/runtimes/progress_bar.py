"""A bar for runs that take long, where somebody can see it: in a terminal or a notebook.

A thread reads every tenth of a second how far the run has come, beginning after the first second. Without a
terminal there is no thread and no output, but for runs of the command line: a line now and then on standard
error. With SASH_PROGRESS=0 there is nothing anywhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

BEGIN_AFTER = 1.0
"""Seconds; what is done by then needs no bar."""
EVERY = 0.1
LINE_EVERY = 10.0
"""Seconds between two lines where there is no bar."""


@dataclass(frozen=True)
class ProgressReading:
    """How far a run has come: the share of it that is done (None: not known), and in words."""

    share: float | None
    words: str = ""


@contextmanager
def shown(
    title: str, read: Callable[[], ProgressReading], *, after: float = BEGIN_AFTER, keep: bool = False,
    console: Console | None = None, lines: bool = False,
) -> Iterator[None]:  # fmt: skip
    """Show what `read` returns as long as the block runs; `keep` leaves the last reading where it is.
    `lines`: without a terminal a line is printed now and then."""
    seen_by = console or _console()
    finished = Event()
    target: Callable[[], None]
    if seen_by is not None:
        target = partial(_watch, title, read, finished, after, keep, seen_by)
    elif lines and os.environ.get("SASH_PROGRESS") != "0":
        target = partial(_print_lines, title, read, finished)
    else:
        yield
        return
    watcher = Thread(target=target, name="sash progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def _watch(
    title: str,
    read: Callable[[], ProgressReading],
    finished: Event,
    after: float,
    keep: bool,
    console: Console,
) -> None:
    if finished.wait(after) and not keep:
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=not keep) as bar:
        task = bar.add_task(title, total=None, words="")
        going = True
        while going:
            going = not finished.wait(EVERY)
            try:
                reading = read()
            except Exception:
                return  # the run itself raises what is wrong
            total = None if reading.share is None else 1.0
            bar.update(task, total=total, completed=reading.share or 0.0, words=reading.words)


def _print_lines(title: str, read: Callable[[], ProgressReading], finished: Event) -> None:
    while not finished.wait(LINE_EVERY):
        try:
            reading = read()
        except Exception:
            return  # the run itself raises what is wrong
        share = "" if reading.share is None else f"{reading.share:.0%} "
        print(f"{title}: {share}{reading.words or 'no batch yet'}", file=sys.stderr, flush=True)


def _console() -> Console | None:
    """Where a bar can be seen, or None. Standard output belongs to the results."""
    if os.environ.get("SASH_PROGRESS") == "0":
        return None
    in_notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    if not (in_notebook or sys.stderr.isatty()):
        return None
    from rich.console import Console

    return Console(stderr=True)
