"""`sash ui`: the live page, from the command line.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import webbrowser
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from sash.dashboard import Feed, serve
from sash.dashboard.message_folder import FolderReader
from sash.runtimes.interrupts import interrupts


def run(*, host: str, port: int, watch: Path | None, open_browser: bool) -> None:
    """Serve until an interrupt (Ctrl-C)."""
    feed, console = Feed(), Console(soft_wrap=True, highlight=False)
    with ExitStack() as ending, interrupts() as stop:
        if watch is not None:
            ending.callback(FolderReader(watch, feed).stop)
        page = ending.enter_context(serve(feed, host=host, port=port))
        console.print(f"the page is at {page.url}", markup=False)
        shown = "the window lab" if watch is None else f"the window lab, and the queries of {watch}"
        console.print(f"it shows {shown}; Ctrl-C ends it", markup=False)
        if open_browser:
            webbrowser.open(page.url)
        stop.wait()
