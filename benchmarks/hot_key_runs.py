"""Streams with and without a hot key: what their batches take, and what it costs to look for hot keys.

    python -m benchmarks.hot_key --only streams costs

A time is that of all batches of a run, as Spark reports them: to start and to end a query takes as long for
all of them, and would hide what differs. Contenders take turns after a round that warms up.

`streams`: the same number of rows with a hot key against even ones, on two cores.
`costs`: even keys, with and without all that finds and shares out a hot one. What looks for it:

    sliding           packers number keys and panes of a block, and fold what pays
    sliding, count,   tasks look for many ranges of one key among those of a batch
    rolling
    apply             tasks measure their windows, and the driver decides

Of 96 keys folding saves more than looking costs; of 100,000 a window has one row of a key, so that nothing
pays.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import sash
from benchmarks.harness import Table, returned, turns
from benchmarks.hot_key_steps import stepping
from benchmarks.hot_key_streams import SHARES, events, queries
from benchmarks.spark.inputs import written
from benchmarks.user_functions import steps_of
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.streaming.hot_keys import choose_busy_buckets
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COSTS = 1.03
"""Of a run that does not look for hot keys."""
MANY = 100_000
"""Keys, of which hardly any has two rows in a window."""
CHEAP = ("sliding", "count", "rolling")


def streamed(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Against even keys; functions also without handing out."""
    batches, steps = (2, 0) if quick else (6, steps_of(1.0))
    tables = []
    for name in (*CHEAP, "apply"):
        rows = 20_000 if quick else 300_000 if name == "apply" else 1_200_000
        ways: dict[str, Callable[[], float]] = {}
        for share in (0.0, *SHARES):
            path = written(folder / f"{name} {share}", events(rows, share), files=batches)
            run = partial(timed, spark, path, lambda df, name=name: queries(df, steps)[name])
            if not share:
                ways["even keys"] = run
            elif name != "apply":
                ways[f"{share:.0%}"] = run
            else:
                ways[f"{share:.0%}, kept"] = partial(run, least=float("inf"))
                ways[f"{share:.0%}, shared"] = run
        limit = 1 / 0.8 if name == "apply" else 1 / 0.9
        limits = {way: limit for way in ways if way != "even keys" and not way.endswith("kept")}
        table = Table(f"streams on two cores, 8 buckets: batches of {name}", "even keys")
        table.start()
        table.compare(turns(ways, rounds=rounds, clock=returned), limits=limits)
        tables.append(table)
    return tables


def timed(
    spark: SparkSession,
    path: Path,
    query_over: Callable[[Any], sash.WindowQuery],
    *,
    least: float = choose_busy_buckets.STAGE,
    then: Callable[[Path], None] | None = None,
) -> float:
    """Seconds of the batches of a stream over these files, one of them a batch. `then` gets the folder that
    was written."""
    schema = struct_of(events(0, 0.0).schema)
    df = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
    with (
        patch.object(choose_busy_buckets, "STAGE", least),
        tempfile.TemporaryDirectory(prefix="sash-bench-") as home,
    ):
        out = Path(home) / "out"
        query = query_over(df).start(out, checkpoint=Path(home) / "c", trigger="available now")
        query.awaitTermination()
        spent = [batch["durationMs"]["triggerExecution"] for batch in query.recentProgress]
        if then is not None:
            then(out)
    return sum(spent) / 1000


def costs(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    """Even keys: with what would find and share out a hot one, against without it."""
    batches = 2 if quick else 6
    tables = []
    for keys in (96, MANY):
        for name in (*CHEAP, "apply") if keys == 96 else CHEAP:
            rows = 20_000 if quick else 300_000 if name == "apply" else 1_200_000
            path = written(folder / f"costs {name} {keys}", events(rows, 0.0, keys=keys), files=batches)

            def run(
                name: str = name, path: Path = path, keys: int = keys,
                *, within: Callable[[], Any] = nullcontext, looks: bool = True,
            ) -> float:  # fmt: skip
                with within(), stepping(looks=looks):
                    return timed(spark, path, partial(query_of, name, keys))

            ways = {"without": partial(run, within=partial(_without, name), looks=False), "with": run}
            table = Table(f"streams of {keys:,} even keys: looking for hot ones, {name}", "without")
            table.start()
            table.compare(turns(ways, rounds=rounds, clock=returned), limits={"with": COSTS})
            tables.append(table)
    return tables


def query_of(name: str, keys: int, df: Any) -> sash.WindowQuery:
    """Windows of many keys do not overlap: their reports would take longer than all else."""
    if name != "sliding" or keys < MANY:
        return queries(df, 0)[name]
    windowed = sash.stream(df, time="ts", key="k").window(sash.tumbling("10 seconds"))
    return windowed.agg(n=sash.count(), s=sash.sum("v"), hi=sash.max("v"))


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Streams that fold no panes before the shuffle, or measure no windows."""
    with ExitStack() as stack:
        if name == "apply":
            stack.enter_context(
                patch.object(StreamingSource, "shares_windows", lambda source, bound: False)
            )
        else:
            stack.enter_context(patch.object(StreamingSource, "folds_early", lambda source, bound: False))
        yield
