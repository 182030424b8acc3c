"""The how-to's file and its Python are the same query, and a run of the file writes what the query means.

That the Python itself runs is tested with all other pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.pipeline import read
from sash.pipeline.binding import bound
from sash.runtimes.spark.state.fingerprint import describe
from tests.pipeline.pipeline_files import run_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "pipeline.md").read_text()
LATE = (399, 599)
"""Those of the second file whose time is behind the first."""


def fence(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return str(found)


def rows(spark: SparkSession, folder: str) -> list[dict[str, Any]]:
    found = spark.read.parquet(str(Path(folder).absolute())).drop("batch")
    return sorted(found.toArrow().to_pylist(), key=repr)


@pytest.mark.spark
def test_differential_the_file_is_the_python_and_writes_what_it_means(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declared, _, running = fence("python").partition("running = query.start(")
    assert running
    names: dict[str, Any] = {}
    exec(compile(declared, "pipeline.md", "exec"), names)
    Path("pipeline.toml").write_text(fence("toml"))
    from_file = bound(read("pipeline.toml"), spark)[""].bound
    written = names["query"].bound
    assert describe(from_file, buckets=1) == describe(written, buckets=1)

    answer = run_command("run", Path("pipeline.toml"))
    assert answer.exit_code == 0, answer.output
    quotes = pa.concat_tables([pq.read_table(f"quotes/{number}.parquet") for number in (0, 1)])
    late = np.isin(np.arange(quotes.num_rows), LATE)
    on_time = sash.stream(quotes.filter(pa.array(~late)), time="ts", key="symbol", delay="10 seconds")
    meant = on_time.window(*from_file.query.windows, flush=False).agg(**from_file.aggregates)
    assert rows(spark, "windows") == sorted(meant.collect().to_pylist(), key=repr)
    assert [row["ts"] for row in rows(spark, "late")] == quotes.filter(pa.array(late))["ts"].to_pylist()
