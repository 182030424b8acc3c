"""The demo's three queries over its market: how far the watermark is behind the clock.

watermark lag     from the watermark of a micro-batch to the clock when it begins, as the live page has it
micro-batch       the longest: for so long it catches up
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.harness import Table
from sash.cli.demo.board import Board
from sash.cli.demo.queries import NAME, queries, started
from sash.cli.demo.quote_feed import Feeder
from sash.dashboard.feed import Feed
from sash.dashboard.live_page_messages import name_in
from sash.dashboard.query_watcher import watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE, SYMBOLS = 20_000, 400
WARM_UP, SETTLE = 120.0, 5.0
"""Seconds until every query has reported something, and until its pace is that of the clock."""


def tables(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    seconds, rate = (10, 500) if quick else (60, RATE)
    frames = measured(spark, folder, seconds=seconds, rate=rate)
    lags = [(frame["at"] - frame["watermark"]) / 1000 for frame in frames]
    p99, longest = float(np.percentile(lags, 99)), max(frame["latency"] for frame in frames) / 1000
    table = Table(f"the demo: three queries, {rate:,} quotes per second and bursts", "1 s")
    table.start()
    table.add("watermark lag, p50", float(np.percentile(lags, 50)), float(np.percentile(lags, 50)))
    table.add("watermark lag, p99", p99, p99, limit=4.0)
    table.add("the longest micro-batch", longest, longest, limit=3.0)
    return [table]


def measured(spark: SparkSession, folder: Path, *, seconds: float, rate: float) -> list[dict[str, Any]]:
    """The frames of all queries, once they are warm."""
    feed, feeder = Feed(), Feeder(folder / "quotes", symbols=SYMBOLS, rate=rate)
    watching = watch(spark, feed)
    feeder.begin()
    made = queries(spark, feeder.folder)
    folders = {name: folder / name for name in made.queries}
    handle = started(made, folders, checkpoint=folder / "checkpoint")
    try:
        watching.add(handle, query=made)
        board, begun = Board(feed, {name_in(NAME, name): name for name in folders}), time.monotonic()
        while board.silent() and time.monotonic() - begun < WARM_UP:
            time.sleep(0.25)
            board.update()
        feeder.start()
        time.sleep(SETTLE)
        begun, since = time.monotonic(), time.time() * 1000
        while time.monotonic() - begun < seconds or not _frames(feed, since):
            time.sleep(0.25)
            if time.monotonic() - begun > seconds + WARM_UP:
                raise TimeoutError(f"no micro-batch was done in {seconds + WARM_UP:.0f} s")
        frames = _frames(feed, since)
    finally:
        feeder.stop()
        handle.stop()
        watching.stop()
    return frames


def _frames(feed: Feed, since: float) -> list[dict[str, Any]]:
    """Micro-batches that began since then, in milliseconds since 1970."""
    every = (message for message in feed.since(0)[1] if message["kind"] == "frame")
    return [frame for frame in every if frame["at"] >= since and frame["watermark"] is not None]
