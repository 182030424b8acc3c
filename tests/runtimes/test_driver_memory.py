"""What would bring gigabytes to the driver is warned of before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import sash
from sash.errors import SashWarning
from sash.runtimes.spark.batch import driver_memory
from sash.runtimes.spark.compat import estimated_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_look_backs_and_explanations_of_many_rows_are_warned_of(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(1_000).selectExpr("id AS t", "id % 3 AS k")
    size = estimated_bytes(rows)
    assert size is not None
    assert 8_000 <= size < 100_000
    stream = sash.stream(rows, time="t", key="k")
    features, windows = stream.rolling(5).agg(n=sash.count()), stream.window(sash.tumbling(500))
    monkeypatch.setattr(driver_memory, "MANY", 1_000)
    with pytest.warns(SashWarning, match=r"collect\(\) brings about"):
        assert features.collect().num_rows == 1_000
    with pytest.warns(SashWarning, match="explain_window brings about"):
        windows.agg(n=sash.count()).explain_window(key=1, at=7)
    windows.agg(n=sash.count()).collect()  # six rows, however many events there are
