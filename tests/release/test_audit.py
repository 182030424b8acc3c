"""The audit of dependencies: what is looked up, what fails, and what a machine without a network prints."""

from __future__ import annotations

from typing import Any
from urllib.error import URLError

import pytest

from tools import audit


def none_known(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{} for _ in queries]


def test_dependencies_of_dependencies_are_looked_up_in_their_versions() -> None:
    found = audit.installed()
    assert {
        "pyarrow",
        "numba",
        "llvmlite",
        "pyspark",
        "py4j",
        "redis",
        "starlette",
        "anyio",
    } <= found.keys()
    assert not {"sash", "pytest", "mkdocs", "duckdb"} & found.keys()


def test_a_known_weakness_fails_unless_it_is_accepted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_known(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {"vulns": [{"id": "GHSA-1"}]} if query["package"]["name"] == "redis" else {}
            for query in queries
        ]

    assert audit.main(none_known) == 0
    assert audit.main(one_known) == 1
    assert "https://osv.dev/GHSA-1" in capsys.readouterr().out
    monkeypatch.setitem(audit.ACCEPTED, "GHSA-1", "a reason")
    assert audit.main(one_known) == 0


def test_without_a_server_it_says_that_nothing_was_audited(capsys: pytest.CaptureFixture[str]) -> None:
    def no_way(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        raise URLError("no network")

    assert audit.main(no_way) == 0
    assert capsys.readouterr().out.startswith("not audited: no way to https://api.osv.dev")
