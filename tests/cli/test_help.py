"""`--help`: what a user reads is what was written."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from sash.cli.main import app


@pytest.mark.parametrize("command", ["run", "check"])
def test_names_in_brackets_are_no_markup(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], terminal_width=120).stdout
    assert "Refuse anything that can run code: [spark], select" in shown
