"""One Spark session for all tests that need one, one Kafka broker, one folder for all arenas."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.faults.victim import QUICK_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.broker import Broker

# How long an example takes depends on the machine, not on the code.
settings.register_profile("sash", deadline=None)
settings.load_profile("sash")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kills first, then files that need Spark: they wait for long, and what is short fills up the end,
    where one of two processes would otherwise have nothing left to do.

    The two halves of the kills of operators come before all others: each process is given one file to begin
    with, and so they run side by side. A process that has one test left is given the next file too, and
    would have both later.
    """
    slow = {item.path for item in items if item.get_closest_marker("spark")}

    def place(item: pytest.Item) -> tuple[bool, ...]:
        halves = item.path.stem.endswith("operator_kills")
        return (not halves, "faults" not in item.path.parts, item.path not in slow)

    items.sort(key=place)


@pytest.fixture(scope="session", autouse=True)
def arenas() -> Iterator[None]:
    """Spark's workers inherit it, so it is set before a session is made."""
    with tempfile.TemporaryDirectory(prefix="sash-arenas-") as folder:
        os.environ["SASH_ARENA_DIR"] = folder
        yield
        del os.environ["SASH_ARENA_DIR"]


@pytest.fixture(scope="session", autouse=True)
def constants_as_they_are() -> Iterator[None]:
    """Queries of tests tell the planner of this machine nothing; programs that tests run inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SASH_LEARN", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_jvms() -> Iterator[None]:
    """Of this process and of programs that tests run: unlike JDK_JAVA_OPTIONS, nothing is printed of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", QUICK_START, prepend=" ")
        yield


@pytest.fixture(scope="session", autouse=True)
def importable() -> Iterator[None]:
    """Spark's workers import the tests' functions, whatever folder the JVM was started in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module", autouse=True)
def quick_collections() -> None:
    """What earlier files have left (kernels, plans, millions of objects) is not walked over again by every
    collection of garbage: a full one took two seconds at the end of a run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def spark(arenas: None, importable: None, quick_jvms: None) -> Iterator[SparkSession]:
    import sash
    from tests.kafka.broker import connector

    session = sash.spark_session(
        master="local[2]", app="sash tests", spark_sql_shuffle_partitions="2", **connector()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    from tests.kafka.broker import Broker

    one = Broker(tmp_path_factory.mktemp("kafka"))
    yield one
    one.kill()
