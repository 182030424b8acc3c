"""`sash state PLACE`: what a checkpoint or a store holds, without running the query.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urldefrag

from rich.console import Console

from sash.aggregation.stores.redis_package import address_of
from sash.display import tables
from sash.errors import SashError, StoreError, StoreUnavailable
from sash.operators.elastic.declaration import SERVER
from sash.semantics.time_format import EPOCH

if TYPE_CHECKING:
    from sash.aggregation.stores.lmdb_view import Namespace
    from sash.runtimes.spark.inspection.checkpoint import Checkpoint
    from sash.runtimes.spark.inspection.checkpoint_contents import BucketSeen, StageSeen, StateSeen
    from sash.serving.published_state import PublishedSeen


T = TypeVar("T")
UNKNOWN = "–"
"""In a cell; a column of nothing else is left out."""


@dataclass(frozen=True)
class Found:
    """Facts, and what belongs to them."""

    facts: dict[str, Any]
    stages: Sequence[StageSeen] = field(default=())
    namespaces: Sequence[Namespace] = field(default=())
    published: Sequence[PublishedSeen] = field(default=())
    unreadable: Sequence[str] = field(default=())
    """What could not be read, and why."""
    wrong: Sequence[str] = field(default=())
    """What keeps its query from going on."""


def run(place: str, *, as_json: bool, verify: bool = False, debug: bool = False) -> int:
    """Look, and print; the exit code. What is neither a checkpoint nor a store is a StoreError."""
    if verify and not place.startswith(SERVER):
        _require_readable(place)
    found = list(_on_server(place) if place.startswith(SERVER) else [_in_folder(place, debug=debug)])
    if not verify:
        for each in found:
            _print_all(as_json, each)
        return 1 if any(each.unreadable for each in found) else 0
    wrong = [line for each in found for line in (*each.unreadable, *each.wrong)]
    wrong += [line for each in found for stage in each.stages for line in _wrong(stage)]
    wrong += [f"{seen.where}: {line}" for each in found for seen in each.published for line in seen.wrong]
    checked = _checked(found)
    if as_json:
        print(json.dumps({**checked, "wrong": wrong}, indent=2))
    else:
        words = ", ".join(f"{count:,} {what}" for what, count in checked.items() if count)
        whole = f"nothing is wrong with {words}" if words else "there is nothing to check yet"
        last = f"checked {words or 'nothing else'}" if wrong else whole
        print("\n".join([*wrong, f"{place}: {last}"]))
        for seen in (seen for each in found for seen in each.published if seen.unread):
            print(f"{seen.where}: elements were not checked, because the code of an aggregate is not there")
    return 1 if wrong else 0


def _checked(found: Sequence[Found]) -> dict[str, int]:
    """How many of what were read."""
    stages = [stage for each in found for stage in each.stages]
    namespaces = [namespace for each in found for namespace in each.namespaces]
    published = [seen for each in found for seen in each.published]
    return {
        "chunks": sum(stage.chunks for stage in stages),
        "buckets": sum(len(stage.buckets) for stage in stages),
        "values": sum(namespace.keys for namespace in namespaces),
        "namespaces": len(namespaces),
        "published keys": sum(seen.keys for seen in published),
        "published pages": sum(seen.pages for seen in published),
        "due entries": sum(seen.due for seen in published),
    }


def _wrong(stage: StageSeen) -> Iterator[str]:
    """What would make a query fail, or would stay for ever. Damaged values do not come this far."""
    for bucket in stage.buckets:
        own = bucket.inventory
        if own.missing:
            yield f"{stage.where}: bucket {bucket.number} lacks {own.missing:,} of its chunks"
        if own.orphaned:
            chunks = f"{own.orphaned:,} orphaned chunk{'s' * (own.orphaned != 1)}"
            yield f"{stage.where}: bucket {bucket.number} has {chunks}"


def _on_server(place: str) -> Iterator[Found]:
    """The elastic queries, other stores and published features of a Redis server; of `…#name` the features
    of this name."""
    from sash.aggregation.stores.redis_namespaces import RedisNamespaces
    from sash.runtimes.spark.inspection.elastic_state import namespaces_on, stages_on
    from sash.runtimes.spark.inspection.leftovers import ServedQuery, served_queries
    from sash.serving.published_state import published_names, published_on

    url, name = urldefrag(place)
    queries, others, names, unreadable = dict[str, ServedQuery](), list[str](), [name], list[str]()
    if not name:
        queries, names = {each.query: each for each in served_queries(url)}, published_names(url)
        with closing(RedisNamespaces(url)) as server:
            others = sorted(set(server.names()).difference(*(each.namespaces for each in queries.values())))
    published = _each("features", names, lambda each: published_on(url, name=each), unreadable)
    namespaces = _each("namespace", others, lambda each: namespaces_on(url, [each]), unreadable)
    if not (published or queries or others or unreadable):
        raise StoreError(f"there is nothing of Sash at {address_of(url)}{'#' * bool(name)}{name}")
    for query, served in queries.items():
        cannot = list[str]()
        read = _each("query", [query], lambda each: stages_on(url, queries[each]), cannot)
        facts = {"query": query, "checkpoint": served.checkpoint or None, "state": served.state}
        seen = _of_state(facts | {"why": served.why or None}, next(iter(read), None))
        yield replace(seen, unreadable=cannot)
    if published or others or unreadable:
        yield Found(
            {"store": address_of(url)}, (), list(chain.from_iterable(namespaces)), published, unreadable
        )


def _each(
    what: str, names: Iterable[str], read: Callable[[str], T | None], unreadable: list[str]
) -> list[T]:
    """What is read of each. What cannot be is named in `unreadable`, and not in the way of others."""
    found = []
    for name in names:
        try:
            found.append(read(name))
        except StoreUnavailable:
            raise
        except SashError as error:
            unreadable.append(f"{what} {name} cannot be read: {error}")
    return [item for item in found if item is not None]


def _of_state(facts: dict[str, Any], kept: StateSeen | None) -> Found:
    """With the batch that is done, if one is."""
    if kept is None:
        return Found(facts | {"batch": None})
    batch = kept.epoch if kept.stages else None
    return Found(facts | {"batch": batch}, kept.stages, wrong=kept.wrong)


def _require_readable(place: str) -> None:
    """A damaged LMDB file may end the process that reads it: then another one than this."""
    from sash.aggregation.stores.lmdb_damage import DATA, require_readable
    from sash.aggregation.stores.lmdb_environment import DATABASES
    from sash.runtimes.spark.inspection.arrow_folder import ArrowFolder
    from sash.runtimes.spark.inspection.elastic_state import store_of

    for folder in map(ArrowFolder.of, (place, store_of(place))):
        if folder.local is not None and folder.has_file(DATA):
            require_readable(folder.local, databases=DATABASES)


def _in_folder(place: str, *, debug: bool) -> Found:
    from sash.aggregation.stores.lmdb_damage import DATA
    from sash.runtimes.spark.inspection.arrow_folder import ArrowFolder
    from sash.runtimes.spark.inspection.checkpoint import Checkpoint
    from sash.runtimes.spark.inspection.elastic_state import namespaces_in, stages_in
    from sash.serving.published_state import published_in

    folder = ArrowFolder.of(place)
    if not folder.is_there:
        raise StoreError(f"{place} is not a folder; give a checkpoint of a streaming query, or a store")
    if Checkpoint.looks_like_one(place):
        return _checkpoint(Checkpoint.of(place), debug=debug)
    facts: dict[str, Any] = {"store": folder.place}
    if folder.local is not None and folder.has_file(DATA):
        published = published_in(folder.local)
        if published is not None:
            return Found(facts, published=[published])
    found = _of_state(facts, stages_in(place))
    if found.stages:
        return found
    namespaces = namespaces_in(place)
    if namespaces is not None:
        return replace(found, facts=facts, namespaces=namespaces)
    raise StoreError(
        f"{place} is neither a checkpoint of a streaming query (with metadata and offsets) nor a store of "
        f"Sash's (with {DATA}, or with folders of .state and .data files)"
    )


def _checkpoint(checkpoint: Checkpoint, *, debug: bool) -> Found:
    """What is known of a checkpoint, and the state that belongs to it."""
    from sash.runtimes.spark.inspection.arrow_folder import ArrowFolder
    from sash.runtimes.spark.inspection.elastic_state import stages_in, store_of

    facts = {
        "checkpoint": checkpoint.place,
        "query": checkpoint.query,
        "batch": checkpoint.committed,
        "to be executed again": checkpoint.begun if checkpoint.begun != checkpoint.committed else None,
    }
    kept = stages_in(store_of(checkpoint.place), checkpoint=checkpoint.place)
    if kept is not None:
        return Found(facts, kept.stages, wrong=kept.wrong)
    if checkpoint.committed is None:
        raise StoreError(f"the checkpoint at {checkpoint.place} has no state yet: no micro-batch is done")
    if not ArrowFolder.of(checkpoint.place).has_folder("state"):
        raise StoreError(
            f"the checkpoint at {checkpoint.place} has no state: its query keeps none, or in a Redis server"
        )
    return Found(facts, _on_spark(checkpoint, debug=debug))


def _on_spark(checkpoint: Checkpoint, *, debug: bool) -> list[StageSeen]:
    """With the session of this process, or one that lasts as long as this takes."""
    from sash.cli.spark_session import spark_session
    from sash.runtimes.spark.inspection.state_store import stages_in_state_store

    with spark_session(app="sash state", debug=debug) as spark:
        return stages_in_state_store(spark, checkpoint)


def _print_all(as_json: bool, found: Found) -> None:
    namespaces = found.namespaces
    if as_json:
        content = {
            **found.facts,
            "stages": [_data(stage) for stage in found.stages],
            "namespaces": [asdict(each) | {"committed": each.committed._asdict()} for each in namespaces],
            "published": [asdict(seen) for seen in found.published],
            "unreadable": list(found.unreadable),
            "wrong": list(found.wrong),
        }
        print(json.dumps(content, indent=2, ensure_ascii=False))
        return
    console = Console(soft_wrap=True, highlight=False)
    _print(console, *(f"{name}: {fact}" for name, fact in found.facts.items() if fact is not None))
    _print(console, *(f"wrong: {line}" for line in found.wrong))
    for stage in found.stages:
        _print_stage(console, stage)
    if namespaces:
        rows = [(n.name, str(n.committed.epoch), f"{n.keys:,}", f"{n.bytes:,}") for n in namespaces]
        _print(console, "", *tables.as_text(("namespace", "epoch", "keys", "bytes"), rows))
    for seen in found.published:
        _print_published(console, seen)
    _print(console, *found.unreadable)


def _print_published(console: Console, seen: PublishedSeen) -> None:
    lines = {
        "look-backs": ", ".join(seen.look_backs),
        "computes": ", ".join(seen.aggregates),
        "batch": "none yet" if seen.batch is None else str(seen.batch),
        "wrong": f"{len(seen.wrong)} things: sash state --verify names them" if seen.wrong else "",
    }
    held = (
        f"{seen.keys:,} keys, {seen.pages:,} further pages, {seen.due:,} due entries, {seen.bytes:,} bytes"
    )
    words = (f"  {name:<10}  {line}" for name, line in lines.items() if line)
    _print(console, "", f"{seen.where}: {held}", *words)


def _print_stage(console: Console, stage: StageSeen) -> None:
    from sash.operators.saved_operator_contents import NOTES
    from sash.runtimes.spark.inspection.query_words import bucket_count, has_ticks, query_lines

    ticks, used = has_ticks(stage.description), len(stage.buckets)
    count = bucket_count(stage.description) or used
    of_all = f"{used} of {count}" if used < count else f"{used}"
    keys = "" if stage.keys is None else f", {stage.keys:,} key{'s' * (stage.keys != 1)}"
    held = f"{of_all} bucket{'s' * (count != 1)}{keys}, {stage.chunks:,} chunks, {stage.bytes:,} bytes"
    facts = {"identity": stage.fingerprint[:16], "watermark": _time(stage.watermark, ticks=ticks)}
    lines = [*query_lines(stage.description), *(f"{name:<9}  {words}" for name, words in facts.items())]
    _print(console, "", f"{stage.where}: {held}", *(f"  {line}" for line in lines), "")
    heads = ("bucket", "partition", "keys", "holds", "rows", "chunks", "bytes", "watermark")
    rows = [_row(bucket, ticks=ticks) for bucket in stage.buckets]
    known = [column for column in zip(heads, *rows, strict=True) if set(column[1:]) != {UNKNOWN}]
    _print(console, *tables.as_text([name for name, *_ in known], list(zip(*known, strict=True))[1:]))
    held_here = {bucket.inventory.holds for bucket in stage.buckets}
    _print(console, *(f"{holds}: {note}" for holds, note in NOTES.items() if holds in held_here))


def _row(bucket: BucketSeen, *, ticks: bool | None) -> tuple[str, ...]:
    own = bucket.inventory
    return (
        str(bucket.number),
        UNKNOWN if bucket.partition is None else str(bucket.partition),
        UNKNOWN if own.keys is None else f"{own.keys:,}",
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
    return str(EPOCH + timedelta(microseconds=time)).removesuffix("+00:00")
