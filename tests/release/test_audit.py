"""The audit of dependencies: what is looked up, what fails, and what a machine without a network prints."""

from __future__ import annotations

import tomllib
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

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


def failing(error: Exception) -> audit.Lookup:
    def answers(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        raise error

    return answers


def answered(code: int) -> HTTPError:
    return HTTPError(audit.SERVER, code, "a reason", Message(), None)


@pytest.mark.parametrize(
    "error",
    [
        URLError("no network"),
        URLError(OSError("Tunnel connection failed: 403 Forbidden")),
        TimeoutError("timed out"),
        answered(403),
        answered(407),
    ],
    ids=["no network", "no tunnel", "no answer", "refused by a proxy", "a proxy wants a password"],
)
def test_without_a_way_to_the_server_it_says_that_nothing_was_audited(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NOT_RUN_HERE", str(tmp_path / "list"))
    assert audit.main(failing(error)) == 0
    assert capsys.readouterr().out.startswith("not audited: no way to https://api.osv.dev")
    assert (tmp_path / "list").read_text().startswith("the audit of dependencies")


@pytest.mark.parametrize("code", [400, 404, 500, 503])
def test_an_error_that_the_server_answers_with_fails(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(failing(answered(code))) == 1
    assert "answers with an error" in capsys.readouterr().out


def test_what_users_can_install_is_audited() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for_us = {"engines", "bench", "docs", "test", "dev"}
    assert set(audit.EXTRAS) == project["optional-dependencies"].keys() - for_us
