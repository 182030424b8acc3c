"""Windows of the clock whose panes Spark folds, against Spark's own windows; rows shuffled, counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Opponent, Table, turns
from benchmarks.spark import sql_panes
from benchmarks.spark.inputs import events, written
from benchmarks.spark.runs import finish as run_to_end, stream, to_folder
from benchmarks.spark.streaming import against_spark, three, three_of_spark, worded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, KEYS, SECONDS = 5_000_000, 1_000, 3_600
TUMBLING, SLIDING = ("10 seconds", None), ("60 seconds", "1 second")


def tables(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    rows, rounds = (ROWS // 100, 1) if quick else (ROWS, rounds)
    path = written(folder / "rows", events(rows, KEYS, SECONDS), files=8)
    return [
        # First: Spark keeps the metrics of a thousand stages.
        shuffled(spark, folder, rows=rows),
        static(spark, path, TUMBLING, rows=rows, rounds=rounds, limit=1.2),
        static(spark, path, SLIDING, rows=rows, rounds=rounds, limit=1 / 15),
        against_spark(spark, path, TUMBLING, rows=rows, rounds=rounds, limit=0.85),
    ]


def static(
    spark: SparkSession, path: Path, lengths: tuple[str, str | None],
    *, rows: int, rounds: int, limit: float,
) -> Table:  # fmt: skip
    """Windows that overlap are also compared with panes in SQL, whose answer is the same."""
    df = spark.read.parquet(str(path))
    contenders: dict[str, Callable[[], None]] = {
        "sash": lambda: run_to_end(three(df, *lengths).dataframe()),
        "Spark, F.window": lambda: run_to_end(three_of_spark(df, *lengths)),
    }
    limits = {"Spark, F.window": limit}
    if lengths == SLIDING:
        assert sql_panes.digest(sql_panes.three(df)) == sql_panes.digest(three(df, *lengths).dataframe())
        contenders |= sql_panes.contenders(spark, lambda: run_to_end(sql_panes.three(df)))
        limits |= dict.fromkeys(sql_panes.FRAMES, 1.0)
    times = turns(contenders, rounds=rounds)
    table = Table(f"Spark batch: {worded(*lengths)}, {KEYS:,} keys, count, sum and max", "opponent")
    table.start()
    for name, most in limits.items():
        table.against(Opponent(name, rows, times["sash"], times[name]), limit=most)
    return table


def shuffled(spark: SparkSession, folder: Path, *, rows: int) -> Table:
    """Records that a stage writes for another, of all stages, for each row that is read."""
    one_hot = _with_hot_key(events(rows, KEYS, SECONDS), share=0.99)
    path = written(folder / "hot", one_hot, files=8)
    table = Table(f"{rows:,} rows, sliding 60 s every 1 s: rows shuffled for a row read", "rows read")
    table.start()
    for what, key in (("no key", None), ("one key with 99 % of the rows", "k")):
        static, streamed = spark.read.parquet(str(path)), stream(spark, path)
        runs: dict[str, Callable[[], None]] = {
            "batch": lambda static=static, key=key: run_to_end(three(static, *SLIDING, key).dataframe()),
            "elastic": lambda streamed=streamed, key=key: to_folder(
                three(streamed, *SLIDING, key), elastic=sash.Elastic(min=2, max=2)
            ),
        }
        for where, run in runs.items():
            # With few rows there are as many panes as rows, which shows nothing.
            limit = 0.05 if rows == ROWS else None
            table.add(f"{where}, {what}", 0.0, _records_shuffled(spark, run) / rows, limit=limit)
    return table


def _with_hot_key(table: pa.Table, *, share: float) -> pa.Table:
    keys = table["k"].to_numpy()
    hot = np.random.default_rng(11).random(len(keys)) < share
    return table.set_column(table.schema.get_field_index("k"), "k", pa.array(np.where(hot, 0, keys)))


def _records_shuffled(spark: SparkSession, run: Callable[[], None]) -> int:
    """What Spark's own metrics count while `run` lasts."""
    before = _stages(spark)
    run()
    after = _stages(spark)
    return sum(records - before.get(stage, 0) for stage, records in after.items())


def _stages(spark: SparkSession) -> dict[int, int]:
    from py4j.protocol import Py4JJavaError

    jvm_context: Any = spark.sparkContext._jsc
    store, found, missing, stage = jvm_context.sc().statusStore(), {}, 0, 0
    while missing < 50:
        try:
            found[stage] = int(store.lastStageAttempt(stage).shuffleWriteRecords())
            missing = 0
        except Py4JJavaError:
            missing += 1
        stage += 1
    return found
