"""The course of the demo: start Spark, let the market run, show how the queries keep up, sum up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from sash.cli.demo.board import Board
from sash.cli.demo.queries import NAME, PIPELINE, queries, started
from sash.cli.demo.quote_feed import Feeder
from sash.cli.demo.summary import summary
from sash.cli.spark_session import spark_session
from sash.dashboard.feed import Feed
from sash.dashboard.live_page_messages import name_in
from sash.dashboard.query_watcher import watch
from sash.errors import ArgumentError, MissingDependency
from sash.operators.arena.owned_folders import owning
from sash.runtimes.interrupts import interrupts

if TYPE_CHECKING:
    from sash.dashboard.server import Server

LOOK, LINE = 0.25, 5.0
"""Seconds between two looks, and between two lines where there is no terminal."""
WARM_UP, CATCH_UP = 120.0, 20.0
"""Seconds that the queries have to begin, and to finish what has arrived."""


def run(*, seconds: float, symbols: int, rate: float, out: Path | None, page: bool, debug: bool) -> None:
    """Stream quotes for so many seconds, or until an interrupt."""
    console = Console(soft_wrap=True)
    folder = _prepared(out)
    console.print(f"everything is written to {folder}", highlight=False)
    feeder = Feeder(folder / "quotes", symbols=symbols, rate=rate)
    with interrupts() as stop, ExitStack() as ending:
        if out is None:
            ending.enter_context(owning(folder))
        ending.callback(feeder.stop)
        with _status(console, "starting Spark"):
            session = spark_session(app="sash demo", debug=debug, log=folder / "spark.log")
            spark = ending.enter_context(session)
        feed = Feed()
        watching = watch(spark, feed)
        ending.callback(watching.stop)
        if page:
            server, about = _served(feed)
            if server is not None:
                ending.callback(server.stop)
            console.print(about, highlight=False)
        with _status(console, "starting three queries; the first time their aggregates are compiled"):
            feeder.begin()
            made = queries(spark, feeder.folder)
            folders = {name: folder / name for name in made.queries}
            handle = started(made, folders, checkpoint=folder / "checkpoint")
            ending.callback(handle.stop)
            watching.add(handle, query=made, reports=folders)
            board = Board(feed, {name_in(NAME, name): name for name in folders})
            _warmed_up(board, feeder, handle, stop=stop)
        if not stop.is_set():
            feeder.start()
            _watched(console, board, feeder, handle, seconds=seconds, stop=stop)
        board.update()
    summary(console, board, feeder, folder, early=stop.is_set())


def _prepared(out: Path | None) -> Path:
    """The folder to write to, with the pipeline file in it."""
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ArgumentError("out", str(out), "a folder that is empty, or not there yet")
    folder = out or Path(tempfile.mkdtemp(prefix="sash-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    return folder


@contextmanager
def _status(console: Console, what: str) -> Iterator[None]:
    """What is being done: with a spinner in a terminal, as a line elsewhere."""
    if not console.is_terminal:
        console.print(what)
        yield
        return
    with console.status(what):
        yield


def _warmed_up(board: Board, feeder: Feeder, handle: Any, *, stop: Event) -> None:
    """Until every query has reported something: by then Python workers have started, and compiled."""
    begun = time.monotonic()
    while board.silent() and time.monotonic() - begun < WARM_UP and not stop.wait(LOOK):
        board.update()
        _require_well(feeder, handle)


def _watched(
    console: Console, board: Board, feeder: Feeder, handle: Any, *, seconds: float, stop: Event
) -> None:
    """Until the time is over and the queries have caught up, or until an interrupt."""
    begun = time.monotonic()
    with shown(console, board) as show:
        while not stop.wait(LOOK):
            passed = time.monotonic() - begun
            board.update()
            _require_well(feeder, handle)
            if passed >= seconds:
                feeder.stop()
                behind = board.behind(feeder.quotes)
                if not behind or passed >= seconds + CATCH_UP:
                    show(_title(feeder, passed, "caught up" if not behind else "stopping"), True)
                    return
            show(_title(feeder, passed, "" if passed < seconds else "catching up"), False)
        show(_title(feeder, time.monotonic() - begun, "stopped"), True)


def _require_well(feeder: Feeder, handle: Any) -> None:
    from sash.runtimes.spark.failures import require_well

    feeder.require_well()
    require_well([handle])


@contextmanager
def shown(console: Console, board: Board) -> Iterator[Any]:
    """A function that shows the board under a title: at once in a terminal, now and then elsewhere."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda title, last: live.update(board.table(title), refresh=True)
        return
    printed = time.monotonic()

    def show(title: str, last: bool) -> None:
        nonlocal printed
        if last or time.monotonic() - printed >= LINE:
            printed = time.monotonic()
            console.print("\n".join([title, *(f"  {line}" for line in board.lines())]), highlight=False)

    yield show


def _title(feeder: Feeder, passed: float, state: str) -> str:
    burst = f", a burst at {1 + feeder.burst:.1f} times the usual rate" if feeder.burst > 1 else ""
    return f"{passed:.0f} s, {feeder.quotes:,} quotes have arrived" + (f", {state}" if state else burst)


def _served(feed: Feed) -> tuple[Server | None, str]:
    """The page, and the line about it. A demo needs no particular port, and runs without a page too."""
    from sash.dashboard.server import serve

    try:
        with suppress(ArgumentError):  # the usual port is in use
            page = serve(feed)
            return page, f"live page: {page.url}"
        page = serve(feed, port=0)
    except MissingDependency as missing:
        return None, f"no live page: {missing}"
    return page, f"live page: {page.url}"
