"""A Spark session that knows Delta and Iceberg, where there are jars for this Spark: `make test-lakes`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.lakes.lakehouse import JARS, SPARK, lake_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def lake(arenas: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    import pyspark

    import sash

    if not pyspark.__version__.startswith(SPARK):
        pytest.skip(f"Delta and Iceberg are tested with Spark {SPARK}: make test-lakes")
    if not JARS:
        pytest.skip("Delta and Iceberg were not fetched: make lakes")
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = sash.spark_session(
        master="local[2]", app="sash lakes", spark_sql_shuffle_partitions="2", **lake_settings(warehouse)
    )
    session.sparkContext.setLogLevel("OFF")
    session.sql("CREATE DATABASE IF NOT EXISTS lake.db")
    yield session
    session.stop()
