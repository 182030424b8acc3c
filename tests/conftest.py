"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How long an example takes says something about the machine, not about the code.
settings.register_profile("sash", deadline=None)
settings.load_profile("sash")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import sash

    session = sash.session(master="local[2]", app="sash tests", spark_sql_shuffle_partitions="2")
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
