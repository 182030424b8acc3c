"""The command line: one sentence and exit code 2 for what a user can mend, a traceback with --debug."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from sash._version import __version__
from sash.cli import secret
from sash.errors import SashError


class _OneSentence(TyperGroup):
    """What a user can mend is one sentence and exit code 2; --debug or SASH_DEBUG shows where it arose."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SashError as error:
            if ctx.params.get("debug") or os.environ.get("SASH_DEBUG"):
                raise
            console = Console(stderr=True, soft_wrap=True)
            console.print("[bold red]error:[/]", end=" ")
            console.print(str(error), highlight=False, markup=False)
            raise typer.Exit(2) from None


app = typer.Typer(
    name="sash",
    cls=_OneSentence,
    help="Every sliding window that streaming research knows, for PySpark.",
    no_args_is_help=True,
    add_completion=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"sash {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Every sliding window that streaming research knows, for PySpark."""


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, help="How many trades to generate.")] = 1_000_000,
    symbols: Annotated[int, typer.Option(min=1, help="How many symbols they are spread over.")] = 50,
) -> None:
    """Run a sliding window over generated trades on Spark in local mode, and show where the time went."""
    from sash.cli.demo import run

    run(rows=rows, symbols=symbols)


@app.command()
def why(
    file: Annotated[
        Path, typer.Argument(help="Recorded events: Parquet, CSV or JSON, in order of arrival.")
    ],
    time: Annotated[str, typer.Option("--time", help="The column with the event time.")],
    at: Annotated[str, typer.Option("--at", help="The time of the event: '2026-01-05 10:05:00', or 42.")],
    window: Annotated[
        list[str], typer.Option("--window", help="In words: 'sliding 1 hour every 1 second'. Repeatable.")
    ],
    key: Annotated[
        list[str] | None, typer.Option("--key", help="Whose window: 'symbol=ACME'. Repeatable.")
    ] = None,
    delay: Annotated[str, typer.Option("--delay", help="How far events may be out of order.")] = "0",
    allowed_lateness: Annotated[
        str, typer.Option("--allowed-lateness", help="How much later they may come and still correct.")
    ] = "0",
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="Only the first so many events have arrived.")
    ] = None,
    at_once: Annotated[
        bool,
        typer.Option("--at-once", help="The file is a whole input, as collect() takes it, not a stream."),
    ] = False,
    profile: Annotated[
        list[str] | None, typer.Option("--profile", help="An engine to compare with (all). Repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data, not sentences.")] = False,
) -> None:
    """Say why the windows that hold an event were reported, or what they are waiting for."""
    from sash.cli.why import run

    run(
        file,
        time=time,
        at=at,
        windows=window,
        keys=key or [],
        delay=delay,
        allowed_lateness=allowed_lateness,
        as_of=as_of,
        at_once=at_once,
        profiles=profile or [],
        as_json=as_json,
    )


@app.command()
def calibrate() -> None:
    """Measure this machine for the planner's estimates, once; plans work without it."""
    from sash.cli.calibrate import run

    run()


app.add_typer(secret.app)


def main() -> None:
    """The entry point of `sash` and of `python -m sash`."""
    app()
