"""`sash state PLACE`: what a checkpoint or a store holds, without running the query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console

from sash.display import tables
from sash.errors import StoreError
from sash.operators.elastic.declaration import SERVER

if TYPE_CHECKING:
    from sash.aggregation.stores.lmdb_view import Namespace
    from sash.runtimes.spark.inspection.checkpoint import Checkpoint
    from sash.runtimes.spark.inspection.checkpoint_contents import BucketSeen, StageSeen


def run(place: str, *, as_json: bool, verify: bool = False, debug: bool = False) -> int:
    """Look, and print; the exit code. What is neither a checkpoint nor a store is a StoreError."""
    found = list(_on_server(place) if place.startswith(SERVER) else [_in_folder(Path(place), debug=debug)])
    if not verify:
        for facts, stages, namespaces in found:
            _print_all(as_json, facts, stages, namespaces=namespaces)
        return 0
    wrong = [line for _, stages, _ in found for stage in stages for line in _wrong(stage)]
    chunks = sum(stage.chunks for _, stages, _ in found for stage in stages)
    if as_json:
        print(json.dumps({"chunks": chunks, "wrong": wrong}, indent=2))
    else:
        print("\n".join(wrong) or f"{place}: nothing is wrong with {chunks:,} chunks")
    return 1 if wrong else 0


Found: TypeAlias = "tuple[dict[str, Any], Sequence[StageSeen], Sequence[Namespace]]"
"""Facts, and what belongs to them."""


def _wrong(stage: StageSeen) -> Iterator[str]:
    """What would make a query fail, or would stay for ever. Damaged values do not come this far."""
    for bucket in stage.buckets:
        own = bucket.inventory
        if own.missing:
            yield f"{stage.where}: bucket {bucket.number} lacks {own.missing:,} of its chunks"
        if own.orphaned:
            chunks = f"{own.orphaned:,} orphaned chunk{'s' * (own.orphaned != 1)}"
            yield f"{stage.where}: bucket {bucket.number} has {chunks}"


def _on_server(url: str) -> Iterator[Found]:
    """The elastic queries of a Redis server."""
    from sash.runtimes.spark.inspection.elastic_state import stages_on
    from sash.runtimes.spark.inspection.leftovers import served_queries

    for served in served_queries(url):
        kept = stages_on(url, served)
        facts = {"query": served.query, "checkpoint": served.checkpoint or None, "state": served.state}
        yield facts | {"batch": kept and kept[0]}, [] if kept is None else kept[1], ()


def _in_folder(place: Path, *, debug: bool) -> Found:
    from sash.aggregation.stores.lmdb_environment import DATA
    from sash.runtimes.spark.inspection.checkpoint import Checkpoint
    from sash.runtimes.spark.inspection.elastic_state import namespaces_in, stages_in

    if not place.is_dir():
        raise StoreError(
            f"{place} is not a folder; give a checkpoint of a streaming query, or an LMDB store"
        )
    if Checkpoint.looks_like_one(place):
        return *_checkpoint(Checkpoint.of(place), debug=debug), ()
    kept = stages_in(place)
    if kept is not None:
        return {"store": str(place), "batch": kept[0]}, kept[1], ()
    if (place / DATA).is_file():
        return {"store": str(place)}, (), namespaces_in(place)
    raise StoreError(
        f"{place} is neither a checkpoint of a streaming query (with metadata and offsets) nor an LMDB "
        f"store (with {DATA})"
    )


def _checkpoint(checkpoint: Checkpoint, *, debug: bool) -> tuple[dict[str, Any], list[StageSeen]]:
    """What is known of a checkpoint, and the state that belongs to it."""
    from sash.runtimes.spark.inspection.elastic_state import stages_in, store_of

    facts = {
        "checkpoint": str(checkpoint.path),
        "query": checkpoint.query,
        "batch": checkpoint.committed,
        "to be executed again": checkpoint.begun if checkpoint.begun != checkpoint.committed else None,
    }
    kept = stages_in(store_of(checkpoint.path))
    if kept is not None:
        return facts, kept[1]
    if checkpoint.committed is None:
        raise StoreError(f"the checkpoint at {checkpoint.path} has no state yet: no micro-batch is done")
    if not (checkpoint.path / "state").is_dir():
        raise StoreError(
            f"the checkpoint at {checkpoint.path} has no state: its query keeps none, or in a Redis server"
        )
    return facts, _on_spark(checkpoint, debug=debug)


def _on_spark(checkpoint: Checkpoint, *, debug: bool) -> list[StageSeen]:
    """With the session of this process, or one that lasts as long as this takes."""
    from sash.cli.spark_session import spark_session
    from sash.runtimes.spark.inspection.state_store import stages_of

    with spark_session(app="sash state", debug=debug) as spark:
        return stages_of(spark, checkpoint)


def _print_all(
    as_json: bool,
    facts: dict[str, Any],
    stages: Sequence[StageSeen] = (),
    *,
    namespaces: Sequence[Namespace] = (),
) -> None:
    if as_json:
        found = {
            **facts,
            "stages": [_data(stage) for stage in stages],
            "namespaces": [asdict(each) | {"committed": each.committed._asdict()} for each in namespaces],
        }
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = Console(soft_wrap=True, highlight=False)
    _print(console, *(f"{name}: {fact}" for name, fact in facts.items() if fact is not None))
    for stage in stages:
        _print_stage(console, stage)
    if namespaces:
        rows = [(n.name, str(n.committed.epoch), f"{n.keys:,}", f"{n.bytes:,}") for n in namespaces]
        _print(console, "", *tables.as_text(("namespace", "epoch", "keys", "bytes"), rows))


def _print_stage(console: Console, stage: StageSeen) -> None:
    from sash.runtimes.spark.inspection.query_words import has_ticks, in_words

    ticks, count = has_ticks(stage.description), len(stage.buckets)
    keys = "" if stage.keys is None else f", {stage.keys:,} key{'s' * (stage.keys != 1)}"
    held = f"{count} bucket{'s' * (count != 1)}{keys}, {stage.chunks:,} chunks, {stage.bytes:,} bytes"
    facts = {"identity": stage.fingerprint[:16], "watermark": _time(stage.watermark, ticks=ticks)}
    lines = [*in_words(stage.description), *(f"{name:<9}  {words}" for name, words in facts.items())]
    _print(console, "", f"{stage.where}: {held}", *(f"  {line}" for line in lines), "")
    heads = ("bucket", "partition", "keys", "holds", "rows", "chunks", "bytes", "watermark")
    _print(console, *tables.as_text(heads, [_row(bucket, ticks=ticks) for bucket in stage.buckets]))


def _row(bucket: BucketSeen, *, ticks: bool | None) -> tuple[str, ...]:
    own = bucket.inventory
    return (
        str(bucket.number),
        "–" if bucket.partition is None else str(bucket.partition),
        "–" if own.keys is None else f"{own.keys:,}",
        own.holds,
        f"{own.rows:,}",
        f"{own.chunks:,}",
        f"{own.bytes:,}",
        _time(own.watermark, ticks=ticks),
    )


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, markup=False)


def _data(stage: StageSeen) -> dict[str, Any]:
    return {
        "where": stage.where,
        "fingerprint": stage.fingerprint,
        "description": dict(stage.description),
        "keys": stage.keys,
        "chunks": stage.chunks,
        "bytes": stage.bytes,
        "watermark": stage.watermark,
        "buckets": [asdict(bucket) for bucket in stage.buckets],
    }


def _time(time: int | None, *, ticks: bool | None) -> str:
    """A time as the query counts it: on the calendar when that is known.

    >>> _time(1_500_000, ticks=False), _time(42, ticks=True), _time(None, ticks=None)
    ('1970-01-01 00:00:01.500000', '42', 'none yet')
    """
    if time is None:
        return "none yet"
    if ticks is not False:
        return str(time)
    return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)).removesuffix("+00:00")
