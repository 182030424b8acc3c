"""Windows as datasets of Spark Declarative Pipelines: what the page has is run, what it calls refused is.

Of the soak tests, because each run starts two JVMs.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pyspark
import pytest

import sash

pytestmark = [pytest.mark.spark, pytest.mark.soak]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "declarative-pipelines.md"
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("symbol", pa.string()), ("size", pa.int64())])
PATIENCE = 600


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("transformations", "trades", "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(block("yaml").replace("/data", str(tmp_path)))
    return tmp_path


def define(home: Path, source: str) -> None:
    (home / "transformations" / "bars.py").write_text(source.replace("/data", str(home)))


def pipelines(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    program = Path(pyspark.__file__).parent / "bin" / "spark-pipelines"
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [str(program), command, "--spec", str(home / "spark-pipeline.yml")], cwd=home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
        env=os.environ | {
            "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
        },
    )  # fmt: skip


def arrive(home: Path, number: int) -> None:
    """Forty trades, one a second."""
    rows = [
        {"ts": OPENING + dt.timedelta(seconds=40 * number + at), "symbol": "AB"[at % 2], "size": at}
        for at in range(40)
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), home / "trades" / f"{number}.parquet")


def expected(home: Path) -> list[tuple[Any, ...]]:
    trades = ds.dataset(home / "trades").to_table().cast(SCHEMA)
    stream = sash.stream(trades, time="ts", key="symbol", delay="5 seconds")
    windows = stream.window(sash.sliding("20 seconds", every="10 seconds"), flush=False)
    return plain(windows.agg(n=sash.count(), volume=sash.sum("size")).collect())


def plain(reports: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(
        (row["symbol"], row["window"]["id"], row["n"], row["volume"]) for row in reports.to_pylist()
    )


def rows(home: Path, table: str) -> list[tuple[Any, ...]]:
    return plain(ds.dataset(home / "spark-warehouse" / table, format="parquet").to_table())


def test_a_view_and_a_streaming_table_of_windows(home: Path) -> None:
    """One run: the catalog ends with its process, and a second would refuse the folders of the tables."""
    define(home, block("python"))
    arrive(home, 0)
    run = pipelines(home, "run")
    assert run.returncode == 0, run.stdout[-4000:]
    for table in ("bars_of_all", "bars_as_they_close"):
        assert rows(home, table) == expected(home)


INSIDE = """
@dp.materialized_view
def inside():
    return bars(spark.read.schema(COLUMNS).parquet(TRADES))
"""
OF_THE_PIPELINE = """
@dp.table
def trades():
    return spark.readStream.schema(COLUMNS).parquet(TRADES)

of_trades = bars(spark.readStream.table("trades"))
"""
SETTING = """
spark.conf.set("spark.sql.shuffle.partitions", "3")
"""


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (INSIDE, "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"),
        (OF_THE_PIPELINE, "TABLE_OR_VIEW_NOT_FOUND"),
        (SETTING, "SESSION_MUTATION_IN_DECLARATIVE_PIPELINE"),
    ],
    ids=["a query in a function", "over a dataset of the pipeline", "a setting"],
)
def test_what_the_page_calls_refused(home: Path, more: str, error: str) -> None:
    arrive(home, 0)
    define(home, block("python") + more)
    run = pipelines(home, "dry-run")
    assert run.returncode != 0
    assert error in run.stdout
