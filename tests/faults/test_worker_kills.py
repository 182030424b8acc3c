"""SIGKILL of a Python worker in the middle of a batch: what is tried again has the same result."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.faults import lose_workers
from tests.faults.lose_workers import DEADLY, IN_EPOCHS, PLACES
from tests.faults.operator_checks import published_rows
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = Path(lose_workers.__file__)
EVENTS, FILES = 40, 4


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files; the deadly event is in the middle of the third, when there is state to lose."""
    folder, choice = tmp_path_factory.mktemp("files"), random.Random(5)
    assert EVENTS * 2 < DEADLY < EVENTS * 3
    batches = []
    for file in range(FILES):
        numbers = range(file * EVENTS, (file + 1) * EVENTS)
        columns = {
            "at": pa.array([number - choice.randrange(6) for number in numbers], pa.int64()),
            "key": pa.array([choice.choice(["a", "b", "c", None]) for _ in numbers], pa.string()),
            "number": pa.array(numbers, pa.int64()),
        }
        batches.append(pa.table(columns))
    write_batches(folder, batches)
    return folder


@pytest.fixture(scope="module")
def undisturbed(
    by_value: None, spark: SparkSession, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """What the stream emits when nobody dies."""
    home = tmp_path_factory.mktemp("undisturbed")
    lose_workers.run(spark, files, home, place=None)
    rows = rows_in(spark, home)
    assert len(rows) > EVENTS * FILES / 5
    return rows


@pytest.fixture(scope="module")
def by_value() -> None:
    """Spark's workers need not be able to import the tests."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(lose_workers)


def rows_in(spark: SparkSession, home: Path) -> list[str]:
    return sorted(map(repr, spark.read.parquet(str(home / "sink")).collect()))


def somebody_died_in(home: Path) -> bool:
    return (home / "a worker died here").exists()


def test_differential_a_task_that_loses_its_worker_is_tried_again_in_place(
    spark: SparkSession, files: Path, undisturbed: list[str], tmp_path: Path
) -> None:
    with Victim(PROGRAM, files, tmp_path, log=tmp_path / "log") as program:
        program.finish()
    for place in PLACES:
        assert somebody_died_in(tmp_path / place)
        assert rows_in(spark, tmp_path / place) == undisturbed, place
    quiet = tmp_path / "undisturbed"
    lose_workers.run_in_epochs(spark, files, quiet, place=None)
    assert somebody_died_in(tmp_path / IN_EPOCHS)
    in_epochs, expected = (
        sorted(map(repr, published_rows(home / "sink"))) for home in (tmp_path / IN_EPOCHS, quiet)
    )
    assert in_epochs == expected
    assert len(expected) > EVENTS * FILES / 5
    assert not (quiet / "checkpoint" / "state").exists(), "Spark's state store"


def test_differential_a_query_that_stops_with_its_worker_goes_on_from_its_checkpoint(
    spark: SparkSession, files: Path, undisturbed: list[str], tmp_path: Path
) -> None:
    """The windows' own worker lives on, and must not go on from what it knew of the batch that failed."""
    from pyspark.errors import StreamingQueryException

    place = PLACES[2]
    with pytest.raises(StreamingQueryException):
        lose_workers.run(spark, files, tmp_path, place=place)
    assert somebody_died_in(tmp_path)
    lose_workers.run(spark, files, tmp_path, place=place)
    assert rows_in(spark, tmp_path) == undisturbed
