"""One Spark session for all tests that need one, and one Kafka broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.broker import Broker

# How long an example takes says something about the machine, not about the code.
settings.register_profile("sash", deadline=None)
settings.load_profile("sash")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import sash
    from tests.kafka.broker import connector

    session = sash.session(
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
