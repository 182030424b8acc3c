"""Tests that are skipped because this machine lacks something: `.ci/run` ends with a list of them."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tools.not_run_here import note


def skip_and_note(what: str) -> NoReturn:
    """`what` has the tests, and what they lack."""
    note(what)
    pytest.skip(what)
