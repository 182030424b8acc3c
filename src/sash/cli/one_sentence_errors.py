"""Errors of commands: a sentence and exit code 2 for what a user can fix, a traceback with --debug."""

from __future__ import annotations

import os
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from sash.errors import PipelineErrors, SashError


class OneSentenceErrors(TyperGroup):
    """What a user can fix is one sentence and exit code 2; --debug or SASH_DEBUG shows where it arose."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (SashError, OSError) as error:
            # The reader of a pipe that closes it has read enough.
            if debugging(ctx) or isinstance(error, BrokenPipeError):
                raise
            console = Console(stderr=True, soft_wrap=True)
            for one in error.errors if isinstance(error, PipelineErrors) else [error]:
                console.print("[bold red]error:[/]", end=" ")
                console.print(_sentence(one), highlight=False, markup=False)
            raise typer.Exit(2) from None


def debugging(ctx: typer.Context) -> bool:
    return bool(ctx.find_root().params.get("debug") or os.environ.get("SASH_DEBUG"))


def _sentence(error: Exception) -> str:
    """What the system refuses (a full disk, a folder that is not ours) is shown without its number."""
    if isinstance(error, SashError) or not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
