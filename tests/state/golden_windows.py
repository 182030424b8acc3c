"""Operators of window kinds that no golden checkpoint has, saved in the middle of their stream.

    name    {"header": bytes, "chunks": {number: bytes}}, in Base64

Each once as a journal and once as a snapshot. An operator is written once, by `make golden`, and later
versions must go on from it.
"""

from __future__ import annotations

import json
import lzma
import random
from base64 import b64decode, b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.folding.whole_windows import Apply, Fold
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import LEASTS, TYPES, Runtime, small_journals
from tests.runtimes.tables import table_of

FILE = Path(__file__).with_name("windows.json.xz")
BATCHES, ARCHIVED, EVENTS = 6, 3, 14
DELAY = 3
LEAST = {"journal": max(LEASTS), "snapshot": 1}
SCHEMA = table_of([], TYPES).schema
AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}
FOLDED = {"n": built_in.count(), "s": built_in.sum("x"), "newest": built_in.max("e")}
KINDS: dict[str, Window] = {
    "threshold": windows.threshold(lambda row: row.x > 3),
    "punctuated": windows.punctuated(lambda row: row.x == 3),
    "cumulate": windows.cumulate(30, step=10),
    "slide by tuple": windows.slide_by_tuple(20, 3),
    "slide by time": windows.slide_by_time(5, 10),
}
WHOLE = {"apply": "slide by tuple", "fold": "threshold"}
"""Functions of whole windows, and which windows."""


def stream() -> list[Batch]:
    """With events out of order, and some that are late."""
    choice, arrived = random.Random(6), []
    for batch in range(BATCHES):
        numbers = range(batch * EVENTS, (batch + 1) * EVENTS)
        times = [e - choice.choice([0, 0, 1, DELAY, 12 if batch else 0]) for e in numbers]
        arrived.append(
            Batch(
                tuple(
                    Arrival(time, choice.choice(["a", "b", None]), {"e": e, "x": choice.randrange(8)})
                    for e, time in zip(numbers, times, strict=True)
                )
            )
        )
    return arrived


def runtimes() -> dict[str, Runtime]:
    """An operator at its beginning, of every kind and order."""
    found: dict[str, Runtime] = {}
    for kind, window in KINDS.items():
        for order in sorted(window.orders, key=lambda order: order.name):
            found[f"{kind} in {order.name.lower()} order"] = Runtime(_bound(window, order))
        if Order.EVENT_TIME in window.orders:
            found[f"{kind} in columns"] = Runtime(_bound(window, Order.EVENT_TIME, FOLDED))
    for name, kind in WHOLE.items():
        shown = _bound(KINDS[kind], Order.EVENT_TIME, FOLDED)
        schema = pa.schema([(name, pa.int64()) for name in FOLDED])
        how = Apply(_computed, schema) if name == "apply" else Fold((0, 0, 0), _step, schema)
        query = replace(shown.query, aggregates={})
        found[f"{name} of {kind}"] = Runtime(BoundWhole(query, SCHEMA, "t", ("k",), how))
        found[f"{name} of {kind}"].shown_as = shown
    return found


def _bound(window: Window, order: Order, aggregates: dict[str, Any] = AGGREGATES) -> BoundQuery:
    delay = Duration(DELAY if order is Order.EVENT_TIME else 0, Unit.TICKS)
    query = Query((window.named("w"),), aggregates, order=order, delay=delay)
    return BoundQuery(query, SCHEMA, "t", ("k",))


def _computed(events: pa.Table) -> dict[str, int]:
    numbers, values = events["e"].to_pylist(), events["x"].to_pylist()
    return {"n": len(numbers), "s": sum(values), "newest": max(numbers)}


def _step(total: tuple[int, int, int], row: Any) -> tuple[int, int, int]:
    count, values, newest = total
    return count + 1, values + row.x, max(newest, row.e)


def resumed(runtime: Runtime, saved: Any) -> None:
    """The operator as it was saved after the batches that are archived."""
    for batch in stream()[:ARCHIVED]:
        runtime.watermark.observe(arrival.time for arrival in batch.arrivals)
    runtime.header = b64decode(saved["header"])
    runtime.store.kept = {int(number): b64decode(chunk) for number, chunk in saved["chunks"].items()}
    runtime.operator = runtime.loaded(None)


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(FILE.read_bytes())) if FILE.exists() else {}
    return found


def complete() -> None:
    """Write the operators that are not there."""
    known = recorded()
    for held, least in LEAST.items():
        for name, runtime in runtimes().items():
            if f"{name}, {held}" in known:
                continue
            with small_journals(least):
                for batch in stream()[:ARCHIVED]:
                    runtime.step(batch)
            chunks = {str(number): _text(chunk) for number, chunk in sorted(runtime.store.kept.items())}
            known[f"{name}, {held}"] = {"header": _text(runtime.header), "chunks": chunks}
    FILE.write_bytes(lzma.compress(json.dumps(known, indent=0, sort_keys=True).encode()))


def _text(data: bytes) -> str:
    return b64encode(data).decode()
