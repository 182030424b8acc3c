"""`sash size` on a pipeline file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.pipeline_files import run_command, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_sums_are_printed_with_their_arithmetic(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "events").mkdir()
    types = pa.schema([("ts", pa.timestamp("us", "UTC")), ("who", pa.string()), ("x", pa.float64())])
    pq.write_table(types.empty_table(), tmp_path / "events" / "0.parquet")
    file = written(tmp_path, ("[run]", '[run]\ntrigger = "20 seconds"'))
    load = ("--rate", "1e4", "--keys", "1e5")
    shown = run_command("size", file, *load)
    assert shown.exit_code == 0, shown.output
    assert "for 10,000 events/s of 100,000 keys, a micro-batch every 20 s" in shown.output
    assert "100,000 keys · " in shown.output
    found = json.loads(
        run_command("size", file, *load, "--every", "5", "--partitions", "8", "--json").stdout
    )
    assert found["load"] == {"rate": 10_000, "keys": 100_000, "seconds": 5}
    disk = found["local disk"]
    assert disk["amount"] == pytest.approx(sum(term["amount"] for term in disk["terms"]))
    assert run_command("size", file, "--rate", "0", "--keys", "1").exit_code == 2
    batch = written(tmp_path, ('checkpoint = "checkpoint"', 'mode = "batch"'))
    assert "a batch keeps nothing" in run_command("size", batch, *load).output.lower()
