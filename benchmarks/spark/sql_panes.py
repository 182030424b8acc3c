"""Sliding windows in SQL without copies of rows: panes of a second, and a RANGE frame over them.

    panes     groupBy(key, second)
    filled    a pane and the seconds after it without events, until the next pane or until no window has it
    windows   the fold of the last 60 seconds of each of them, rangeBetween(-59, 0)

`F.window` reports every window that has an event, and so do we: also one whose last second has none. Only a
row has a frame, so those seconds become rows without values, and the answers have the same rows. Frames are
folded from their rows, or by Spark's segment tree, which is off by default: each is an opponent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SEGMENT_TREE = "spark.sql.window.segmentTree.enabled"
FRAMES = {
    "Spark, panes and a RANGE frame, segment tree on": True,
    "Spark, panes and a RANGE frame, segment tree off": False,
}
NEVER = 2**62


@contextmanager
def segment_tree(spark: SparkSession, *, enabled: bool = True) -> Iterator[None]:
    spark.conf.set(SEGMENT_TREE, str(enabled).lower())
    try:
        yield
    finally:
        spark.conf.unset(SEGMENT_TREE)


def contenders(spark: SparkSession, run: Callable[[], None]) -> dict[str, Callable[[], None]]:
    """`run` with the segment tree, and without."""

    def with_frames(enabled: bool) -> None:
        with segment_tree(spark, enabled=enabled):
            run()

    return {name: partial(with_frames, enabled) for name, enabled in FRAMES.items()}


def sliding(df: DataFrame, folds: Mapping[str, tuple[Column, Any]], *, size: int = 60) -> DataFrame:
    """Windows of `size` seconds every second, with the columns of `F.window` by key.

    Each name in `folds` has the aggregate of a pane's rows, and the function that folds those of panes."""
    from pyspark.sql import Window, functions as F

    panes = df.groupBy("k", F.unix_seconds("ts").alias("second")).agg(
        *(of_rows.alias(name) for name, (of_rows, _) in folds.items())
    )
    following = F.lead("second", default=NEVER).over(Window.partitionBy("k").orderBy("second"))
    seconds = F.sequence("second", F.least(following - 1, F.col("second") + size - 1))
    spans = panes.withColumn("seconds", seconds)
    each = spans.select("k", F.posexplode("seconds").alias("after", "last"), *folds)
    filled = each.select(
        "k", "last", *(F.when(F.col("after") == 0, F.col(name)).alias(name) for name in folds)
    )
    frame = Window.partitionBy("k").orderBy("last").rangeBetween(1 - size, 0)
    last = F.col("last")
    window = F.struct(
        F.timestamp_seconds(last - (size - 1)).alias("start"), F.timestamp_seconds(last + 1).alias("end")
    )
    folded = (of_panes(name).over(frame).alias(name) for name, (_, of_panes) in folds.items())
    return filled.select("k", window.alias("window"), *folded)


def three(df: DataFrame) -> DataFrame:
    """Count, sum and max: see `streaming.three_of_spark`."""
    from pyspark.sql import functions as F

    return sliding(df, {"n": (F.count("*"), F.sum), "s": (F.sum("x"), F.sum), "hi": (F.max("v"), F.max)})


def one(df: DataFrame) -> DataFrame:
    """A sum."""
    from pyspark.sql import functions as F

    return sliding(df, {"s": (F.sum("x"), F.sum)})


def digest(df: DataFrame) -> tuple[int, int]:
    """How many rows, and a number that does not depend on their order: two results are compared by it."""
    from pyspark.sql import functions as F

    values = [name for name in df.columns if name not in ("k", "window")]
    row = F.xxhash64("k", "window.start", "window.end", *sorted(values))
    count, hashes = df.agg(F.count("*"), F.sum(row.cast("decimal(38, 0)"))).collect()[0]
    return int(count), int(hashes)
