"""The `sash` command."""

from sash.cli.main import main

__all__ = ["main"]
