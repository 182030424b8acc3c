"""The command line: one sentence and exit code 2 for what a user can mend, a traceback with --debug."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from sash._version import __version__
from sash.errors import SashError

app = typer.Typer(
    name="sash",
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
    if debug:
        os.environ["SASH_DEBUG"] = "1"


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1, help="How many trades to generate.")] = 1_000_000,
    symbols: Annotated[int, typer.Option(min=1, help="How many symbols they are spread over.")] = 50,
) -> None:
    """Run a sliding window over generated trades on Spark in local mode, and show where the time went."""
    from sash.cli.demo import run

    run(rows=rows, symbols=symbols)


def main() -> None:
    """The entry point of `sash` and of `python -m sash`."""
    try:
        app()
    except SashError as error:
        if os.environ.get("SASH_DEBUG"):
            raise
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        sys.exit(2)
