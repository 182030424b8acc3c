"""Look-backs of a hot key on static DataFrames and on streams: what each task gets, and the time of the
first against one bucket.

Part of `python -m benchmarks.hot_key`. Counted are rows and panes that reach a task, with blocks and panes
as on Spark; on a stream batch after batch, with the decisions of the driver. `against_one_bucket` needs two
cores that have nothing else to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table, race
from benchmarks.hot_key_streams import BUCKETS, PROMISED, SHARES, events
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import table_of
from sash.operators.columns.times import to_integers
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.operators.patterns.declared import PaneFarm
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.epochs.epoch_run import DEFAULT, FADING, FADING_SHARED
from sash.runtimes.spark.packing.blocks import ROWS as BLOCK, in_order_of_arrival, rows_of
from sash.runtimes.spark.packing.columns import BUCKET, HASH, ORDINAL, places
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.patterns.shared_look_backs import (
    COUNT,
    PANES,
    ROWS,
    SPAN,
    WORKER,
    LookBackRouter,
)
from sash.runtimes.spark.patterns.static_plan import plan_of
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import KeySharing, shared_panes
from sash.runtimes.spark.streaming.hot_keys.key_loads import loads_of
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys, hashes_of
from sash.runtimes.spark.streaming.hot_keys.look_back_buckets import ShareStage
from sash.runtimes.spark.streaming.hot_keys.look_back_packer import LookBackPacker
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REACH = 1 / 1.6


def rolling(data: Any) -> sash.WindowQuery:
    return (
        sash.stream(data, time="ts", key="k")
        .rolling("1 minute")
        .agg(n=sash.count(), s=sash.sum("v"), hi=sash.max("v"))
    )


def counted(*, quick: bool) -> Table:
    """The busiest of as many workers as streams have buckets."""
    table = Table(f"static rolling, {BUCKETS} workers: busiest task, counted", "mean of all")
    table.start()
    rows = 20_000 if quick else 400_000
    for share in SHARES:
        found = elements(events(rows, share))
        ratio = float(found.max() / found.mean())
        table.add(f"{share:.0%}: rows and panes", 0.0, ratio, limit=PROMISED)
        table.add(f"{share:.0%}: all that is sent, of the rows", 0.0, float(found.sum() / rows))
    return table


def counted_on_streams(*, quick: bool) -> Table:
    """The busiest of as many tasks as there are buckets, in batches of a stream."""
    table = Table(f"streams of rolling, {BUCKETS} buckets, no hint: busiest task, counted", "mean of all")
    table.start()
    rows = 160_000 if quick else 800_000
    for share in SHARES:
        data = events(rows, share)
        bound = rolling(data).bound
        found = of_batches(bound, [data.slice(at, rows // 8) for at in range(0, rows, rows // 8)])
        for what, batch, limit in (("first batch", 0, None), ("eighth batch", 7, PROMISED)):
            table.add(
                f"{share:.0%}: {what}", 0.0, float(found[batch].max() / found[batch].mean()), limit=limit
            )
    return table


def elements(data: pa.Table) -> Ints:
    """How many rows and panes each worker gets; key 0 is hot."""
    bound = rolling(data).bound
    panes = LookBackPanes.of(bound, workers=BUCKETS)
    assert panes is not None
    query, route = BucketQuery(bound, tuple(bound.columns)), plan_of(PaneFarm(BUCKETS, BUCKETS)).route
    keys, times = data["k"].to_numpy(), np.arange(data.num_rows) * 1000
    hot = keys == 0
    named = data.select(list(query.columns)).rename_columns(places(query.columns))
    known = {
        ORDINAL: np.arange(len(keys)),
        HASH: keys,
        COUNT: np.where(hot, hot.sum(), 0),
        SPAN: np.where(hot, np.ptp(times[hot]), 0),
    }
    for name, values in known.items():
        named = named.append_column(name, pa.array(values))
    router, counts = LookBackRouter(query, panes, route), np.zeros(BUCKETS, np.int64)
    for start in range(0, len(keys), BLOCK):
        for block in router.blocks(named.slice(start, BLOCK)).to_pylist():
            counts[block[WORKER]] += table_of(block[ROWS] or block[PANES]).num_rows
    return counts


def of_batches(bound: BoundQuery, batches: Sequence[pa.Table]) -> list[Ints]:
    """How many rows and elements each of as many tasks as there are buckets gets, batch after batch; keys
    are found, shared and left as on Spark."""
    panes = shared_panes(bound, buckets=BUCKETS)
    assert panes is not None
    stage = WindowStage.of(
        bound, (REPORTS,), buckets=tuple(range(BUCKETS)), clock=Clock.of(ticks=False), derived=False
    )
    stage = replace(stage, look_backs=panes)
    shares, packer = ShareStage.beside(stage), stage.packer
    assert isinstance(packer, LookBackPacker)
    sharing, shared = KeySharing(panes, least=batches[0].num_rows // 8), SharedKeys()
    mapping, load, counts = None, np.zeros(2 * BUCKETS), []
    for batch in batches:
        buckets = 2 * BUCKETS if shared.regimes else BUCKETS
        if mapping is not None and len(mapping) != buckets:
            mapping = np.append(mapping, np.full(buckets, -1))[:buckets]
        mapping = DEFAULT(buckets, range(BUCKETS), before=mapping, load=load[:buckets])
        keys, times = hashes_of(batch, bound.keys), to_integers(batch[bound.time])
        rows = batch.select(stage.columns).rename_columns(places(stage.columns))
        rows = rows.append_column(BUCKET, pa.array(keys % BUCKETS))
        load, found = load * (FADING_SHARED if shared.regimes else FADING), np.zeros(BUCKETS, np.int64)
        for table in in_order_of_arrival(rows.to_batches()):
            for blocks in packer.blocks(table, shared):
                for bucket, payload in zip(blocks["bucket"].to_pylist(), blocks["payload"], strict=True):
                    schema = stage.block if bucket < BUCKETS else shares.block
                    found[mapping[bucket]] += rows_of(bucket, [payload.as_buffer()], schema).num_rows
                    load[bucket] += payload.as_buffer().size
        counts.append(found)
        newest = int(times.max())
        regimes = sharing.next(
            shared.regimes, loads_of(keys, times), events=len(keys), tasks=BUCKETS, newest=newest,
            watermark=newest,
        )  # fmt: skip
        shared = SharedKeys(regimes, newest // 1000)
    return counts


def against_one_bucket(df: DataFrame, *, rounds: int) -> Table:
    """Two workers for the look-backs of a key with 90 % of the rows against one task that has all of it."""
    query = rolling(df)
    ways = {"one bucket": sash.KeyFarm(1), "by key": sash.KeyFarm(2), "shared": sash.PaneFarm(2, 2)}
    queries = {way: query.parallel(pattern) for way, pattern in ways.items()}
    table = Table("static rolling, one key with 90 % of the rows, two cores", "one bucket")
    table.start()
    seconds = race({way: lambda one=one: _nowhere(one) for way, one in queries.items()}, rounds=rounds)
    for way, spent in seconds.items():
        limit = REACH if way == "shared" else None
        table.add(way, spent, spent / seconds["one bucket"], limit=limit)
    return table


def _nowhere(query: sash.WindowQuery) -> None:
    query.dataframe().write.format("noop").mode("overwrite").save()
