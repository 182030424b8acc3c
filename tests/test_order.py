"""In which order tests run, where two processes share them by file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.conftest import pytest_collection_modifyitems


def item(path: str, *, spark: bool) -> Any:
    return SimpleNamespace(path=Path(path), get_closest_marker=lambda name: spark or None)


def test_each_process_begins_with_one_half_of_the_kills_of_operators() -> None:
    """pytest-xdist gives the first file to the first process and the second one to the other."""
    files = {
        "tests/cli/test_help.py": False,
        "tests/faults/test_bad_input.py": False,
        "tests/faults/test_more_operator_kills.py": True,
        "tests/faults/test_operator_kills.py": True,
        "tests/runtimes/test_console.py": True,
    }
    items = [item(path, spark=spark) for path, spark in files.items()]
    pytest_collection_modifyitems(cast(Any, items))
    assert [each.path.stem for each in items] == [
        "test_more_operator_kills",
        "test_operator_kills",
        "test_bad_input",
        "test_console",
        "test_help",
    ]
