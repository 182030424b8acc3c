"""The queries of the month, over one folder of files each hour's rows are put into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sash
from benchmarks.month.events import SCHEMA
from sash.runtimes.spark.compat import struct_of

DEGREES = (1, 2, 4, 2)
SINKS = ("sliding", "sessions", "look_backs", "rows", "late", "elastic")


def degree(samples: Sequence[Any]) -> int:
    """Another one every six batches."""
    return DEGREES[len(samples) // 6 % len(DEGREES)]


def start(spark: Any, home: Path) -> list[Any]:
    """Both streams, from where their checkpoints are."""
    arriving = spark.readStream.schema(struct_of(SCHEMA)).parquet(f"{home}/files/[0-9]*")
    corrected = _stream(arriving, allowed_lateness="2 hours")
    stream, forgetful = _stream(arriving), _stream(arriving, forget_after="1 day")
    totals = {"n": sash.count(), "total": sash.sum("x")}
    sliding = sash.sliding("3 hours", every="1 hour")
    together = sash.together(
        sliding=corrected.window(sliding).agg(**totals),
        sessions=stream.window(sash.session("2 hours")).agg(**totals, high=sash.max("x")),
        look_backs=stream.rolling("1 hour", "6 hours").agg(**totals),
        rows=forgetful.window(sash.rows(3, every=1)).agg(**totals),
    ).start(
        {name: home / "sinks" / name for name in ("sliding", "sessions", "look_backs", "rows")},
        late={"sliding": home / "sinks" / "late"},
        checkpoint=home / "checkpoints" / "together",
    )
    elastic = (
        _stream(arriving)
        .window(sliding)
        .agg(**totals, middle=sash.mean("x"))
        .start(
            home / "sinks" / "elastic",
            checkpoint=home / "checkpoints" / "elastic",
            elastic=sash.Elastic(max=max(DEGREES), controller=degree, store="lmdb", buckets=8),
        )
    )
    return [together, elastic]


def _stream(arriving: Any, **options: Any) -> sash.Stream:
    return sash.stream(arriving, time="at", key="key", delay="15 minutes", **options)
