"""The constants of the cost model: defaults, and what a calibration keeps."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from typer.testing import CliRunner

import sash
from sash.cli.main import app
from sash.errors import Unsupported
from sash.planner.costs.calibration import calibrated
from sash.planner.costs.constants import DEFAULTS, FILE, Costs, ProcessCosts, SparkCosts, costs, keep
from sash.runtimes.spark.calibration import static_jobs
from sash.runtimes.spark.calibration.generated_input import generated_input
from sash.runtimes.spark.calibration.measured_costs import measured_costs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    costs.cache_clear()
    yield tmp_path
    costs.cache_clear()


def test_without_a_calibration_plans_depend_on_the_defaults_alone(fresh: Path) -> None:
    assert costs() is DEFAULTS
    assert not costs().measured


def test_what_was_measured_is_kept_for_later_processes(fresh: Path) -> None:
    measured = replace(ProcessCosts(), combine=0.25)
    assert keep(measured) == fresh / FILE
    assert costs().process == measured
    assert costs().measured
    assert costs().spark == DEFAULTS.spark


@pytest.mark.parametrize(
    "content",
    ["", "not json", "[]", "{}", json.dumps({"process": asdict(ProcessCosts()) | {"combine": -1}}),
     json.dumps({"process": asdict(ProcessCosts()) | {"combine": "fast"}}),
     json.dumps({"process": {"combine": 1.0}}), json.dumps(asdict(ProcessCosts()))],
)  # fmt: skip
def test_a_damaged_file_is_like_none(fresh: Path, content: str) -> None:
    (fresh / FILE).write_text(content)
    assert costs() is DEFAULTS


def test_a_calibration_measures_positive_costs_that_relate_as_they_must() -> None:
    measured = calibrated(ProcessCosts())
    assert all(cost > 0 for cost in asdict(measured).values())
    # A call of Python costs far more than a combine of machine code, and the definition more than columns.
    assert measured.interpreted > 20 * measured.combine
    assert measured.definition > 5 * measured.arrange
    assert measured.function == ProcessCosts().function


def test_the_command_line_calibrates_and_says_where_the_numbers_are(fresh: Path) -> None:
    command = [sys.executable, "-m", "sash", "calibrate"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"SASH_CACHE_DIR": str(fresh)}
    )
    assert "combine" in done.stdout
    assert FILE in done.stdout.replace("\n", "")
    assert costs().measured


def test_the_constants_of_spark_lie_beside_those_of_the_process(fresh: Path) -> None:
    process, spark = replace(ProcessCosts(), combine=0.25), replace(SparkCosts(), stage=3e7)
    keep(process)
    keep(spark)
    assert costs() == Costs(process, spark, measured=True, spark_measured=True)
    keep(ProcessCosts())
    assert costs().spark == spark


def test_a_part_that_is_damaged_does_not_take_the_other_with_it(fresh: Path) -> None:
    keep(ProcessCosts())
    keep(SparkCosts())
    kept = json.loads((fresh / FILE).read_text())
    kept["spark"]["stage"] = "long"
    (fresh / FILE).write_text(json.dumps(kept))
    assert costs().measured
    assert not costs().spark_measured
    assert costs().spark == DEFAULTS.spark


def test_options_of_spark_are_refused_without_it() -> None:
    done = CliRunner().invoke(app, ["calibrate", "--master", "local[2]"])
    assert done.exit_code == 2
    assert "--master must be given with --spark" in done.output


def test_a_cluster_that_does_not_answer_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        done = CliRunner().invoke(app, ["calibrate", "--spark", "--master", master])
    assert done.exit_code == 2
    assert "--master must be one that answers" in done.output


@pytest.mark.spark
def test_spark_is_calibrated_with_a_line_per_constant(
    fresh: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured_costs, "__kwdefaults__", measured_costs.__kwdefaults__ | {"rows": 20_000})
    monkeypatch.setattr(static_jobs, "ROUNDS", 1)
    done = CliRunner().invoke(app, ["calibrate", "--spark"])
    assert done.exit_code == 0, done.output
    for name in asdict(SparkCosts()):
        assert f"\n{name:<10}" in done.output
    assert costs().spark_measured
    assert all(cost >= 1 for cost in asdict(costs().spark).values())
    # A micro-batch has more to do than a stage of a few rows: the state, the journal, the sink.
    assert costs().spark.stateful > costs().spark.python
    query = sash.stream(spark.range(10), time="id").window(sash.rows(2)).agg(n=sash.count())
    assert "constants of Spark calibrated on 20" in query.explain("plan")


@pytest.mark.spark
def test_a_cluster_needs_a_folder_for_the_calibration(spark: SparkSession) -> None:
    elsewhere = SimpleNamespace(
        sparkContext=SimpleNamespace(master="spark://host:7077"), _jsparkSession=spark._jsparkSession
    )
    with (
        pytest.raises(Unsupported, match=r"--folder hdfs:///tmp"),
        generated_input(cast(Any, elsewhere), None),
    ):
        pass
