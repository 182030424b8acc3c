"""`sash doctor`: on this machine, on poorer ones, and what it makes of versions."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from sash.cli.doctor import all_checks, disk_and_stores, software, warm_kernels
from sash.cli.doctor.cluster import cluster
from sash.cli.doctor.health_check import HealthCheck
from sash.cli.doctor.requirement_parser import Requirement
from sash.cli.main import app
from tests.aggregation.conftest import RedisServer

versions = st.lists(st.integers(0, 30), min_size=1, max_size=4)


def run_doctor(**environment: str) -> subprocess.CompletedProcess[str]:
    """`sash doctor --json` as a process of its own in another environment."""
    kept = {"HOME": os.environ.get("HOME", "/"), **environment}
    command = [sys.executable, "-m", "sash", "doctor", "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=kept)


def finding(run: subprocess.CompletedProcess[str], name: str) -> dict[str, object]:
    return next(each for each in json.loads(run.stdout)["findings"] if each["name"] == name)


def test_the_machine_that_runs_these_tests_has_what_sash_needs() -> None:
    answer = CliRunner().invoke(app, ["doctor"])
    assert answer.exit_code == 0, answer.output
    assert "everything that Sash needs is here" in answer.output
    for name in ("Python", "Java", "pyspark", "numba", "pandas", "LMDB store", "machine", "extra redis"):
        assert any(name in line for line in answer.output.splitlines()), name


def test_the_help_says_what_the_exit_code_means() -> None:
    answer = CliRunner().invoke(app, ["doctor", "--help"])
    assert "exit code is 0 if everything that is needed is there, and 1 otherwise" in " ".join(
        answer.output.replace("│", " ").split()
    )


def test_without_java_the_exit_code_is_one_and_the_command_that_installs_it_is_told(tmp_path: Path) -> None:
    run = run_doctor(PATH=str(tmp_path))
    assert run.returncode == 1
    assert not json.loads(run.stdout)["ready"]
    java = finding(run, "Java")
    assert java["state"] == "missing"
    assert str(java["fix"]).endswith("apt-get install -y openjdk-17-jre-headless")


def test_a_java_home_without_java_is_wrong_even_if_the_path_has_one(tmp_path: Path) -> None:
    run = run_doctor(PATH=os.environ["PATH"], JAVA_HOME=str(tmp_path))
    assert run.returncode == 1
    assert (finding(run, "Java")["state"], finding(run, "Java")["fix"]) == ("wrong", "unset JAVA_HOME")


@pytest.mark.parametrize(
    ("message", "version", "state"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "17.0.15", "ok"),
        ('openjdk version "21" 2023-09-19', "21", "ok"),
        ('java version "1.8.0_402"', "8.0", "wrong"),
        ("no version at all", None, "wrong"),
    ],
)
def test_the_version_of_java_is_read_from_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, version: str | None, state: str
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{message}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert software.java_version(str(program)) == version
    assert software.java().state == state


def test_a_spark_home_of_another_spark_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (spark,) = [each for each in software.packages() if each.name == "Spark"]
    assert (spark.state, spark.fix) == ("wrong", "unset SPARK_HOME")


def test_a_disk_that_cannot_be_written_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere/at/all")
    assert disk_and_stores.disk().state == "wrong"
    assert disk_and_stores.disk().harms


def test_a_cache_that_cannot_be_written_harms_nothing_but_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", "relative")
    found = disk_and_stores.machine_code()
    assert found.state == "wrong"
    assert found.fix.startswith("export SASH_CACHE_DIR=/")
    assert not found.harms


@pytest.mark.redis
def test_a_redis_server_is_found_by_its_answer(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    try:
        assert disk_and_stores.redis_server(("127.0.0.1", server.port)).state == "ok"
    finally:
        server.kill()


def test_something_else_that_answers_is_not_taken_for_redis() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(64)
                connection.sendall(b"HTTP/1.1 400\r\n")

        other = Thread(target=answer)
        other.start()
        found = disk_and_stores.redis_server(server.getsockname())
        other.join()
    assert found.state == "wrong"
    assert disk_and_stores.redis_server(("127.0.0.1", 1)).state == "missing"


@pytest.mark.parametrize(
    ("requirement", "version", "state"),
    [
        ("pandas>=2.2,<3", "2.3.1", "ok"),
        ("pandas>=2.2,<3", "3.0.0", "wrong"),
        ("pandas>=2.2,<3", "2.1.9", "wrong"),
        ("pandas>=2.2,<3", None, "missing"),
        ("protobuf>=6.33.5", "6.33.5", "ok"),
        ("pyspark<4.4,>=4.1", "4.3.0.dev1", "ok"),
        ("anything", "0", "ok"),
    ],
)
def test_a_package_is_there_missing_or_of_the_wrong_version(
    requirement: str, version: str | None, state: str
) -> None:
    found = software.package(Requirement.parse(requirement), version)
    assert found.state == state
    assert (found.fix == "") == (state == "ok")
    if found.fix:
        assert found.fix.startswith(sys.executable)
        assert requirement.partition(">")[0] in found.fix


@settings(deadline=None)
@given(versions, versions)
def test_oracle_bounds_compare_versions_number_by_number(one: list[int], other: list[int]) -> None:
    length = max(len(one), len(other))
    wide = [each + [0] * (length - len(each)) for each in (one, other)]
    version, bound = (".".join(map(str, each)) for each in (one, other))
    for sign, expected in (
        (">=", wide[0] >= wide[1]),
        ("<", wide[0] < wide[1]),
        ("==", wide[0] == wide[1]),
        ("!=", wide[0] != wide[1]),
    ):
        assert Requirement.parse(f"x{sign}{bound}").allows(version) == expected


def test_everything_that_the_distribution_asks_for_is_looked_at() -> None:
    requirements = [Requirement.parse(text) for text in metadata.requires("sash") or ()]
    needed = {each.name for each in requirements if each.extra in (None, "spark")}
    assert needed <= {each.name for each in all_checks.checkup() if each.needed}
    assert {"pyspark", "protobuf", "pandas", "numba", "lmdb"} <= needed


def test_a_pyspark_that_is_on_the_path_and_not_installed_has_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clusterspark").mkdir()
    (tmp_path / "clusterspark" / "__init__.py").touch()
    (tmp_path / "clusterspark" / "version.py").write_text('__version__: str = "4.2.1"\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert software._version("clusterspark") == "4.2.1"
    assert software._version("nothing_of_that_name") is None


def test_an_optional_thing_that_is_missing_is_told_and_does_not_harm() -> None:
    lines = [
        str(line)
        for line in all_checks.lines([HealthCheck("kettle", "missing", "none", "buy one", needed=False)])
    ]
    assert lines[0] == "-       kettle  none (optional, not installed)"
    assert lines[1].strip() == "buy one"
    assert not HealthCheck("kettle", "missing", "none", needed=False).harms
    assert HealthCheck("kettle", "missing", "none").harms


@pytest.mark.soak
@pytest.mark.spark
def test_a_cluster_is_looked_at_with_its_workers_and_settings() -> None:
    """A plain session, in a process of its own: this one has a session already."""
    command = [sys.executable, "-m", "sash", "doctor", "--json", "--master", "local[1]"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    findings = json.loads(run.stdout[run.stdout.index("{") :])["findings"]
    found = {each["name"]: each for each in findings}
    assert found["cluster"]["state"] == found["workers"]["state"] == "ok"
    fixes = [each["fix"] for each in findings if each["name"] == "setting"]
    assert "spark.conf.set('spark.sql.shuffle.partitions', '1')" in fixes


def test_a_master_that_does_not_answer_is_one_line() -> None:
    (only,) = cluster("spark://127.0.0.1:1")
    assert only.state == "wrong"
    assert only.found.startswith("nothing answers at spark://127.0.0.1:1")


def test_warm_compiles_kernels_and_names_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = next(warm_kernels.queries())
    monkeypatch.setattr(warm_kernels, "queries", lambda: iter([first]))
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SASH_PROGRESS", "0")
    result = CliRunner().invoke(app, ["doctor", "--warm"])
    assert result.exit_code == 0
    assert f" kernels in {tmp_path / 'cache'}, " in result.output.replace("\n", "")
