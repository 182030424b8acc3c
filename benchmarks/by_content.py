"""Windows by content on a stream: on columns, against the same windows evaluated event by event.

    python -m benchmarks.by_content [--quick] [--json PATH] [--rounds 3]

200,000 events of 100 keys in micro-batches of 20,000, in process; after each batch the operator is saved,
and goes on as in a worker of Spark that keeps its buckets. Windows of rows, which never look at a value,
are the yardstick. A predicate of `&` has a tree and is computed on columns; one of `and` means the same
and has none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, finish, options, race
from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.kinds import KINDS
from sash.operators.kinds.delta_by_definition import ExactDeltaKind
from sash.semantics import windows
from sash.semantics.query import Query
from sash.semantics.window import Window

KEYS, BATCHES = 100, 10
AGGREGATES = {"n": built_in.count(), "s": built_in.sum("price")}
DELTA = windows.delta("volume", 20_000, 5_000)
LIMIT = 3.0
"""On columns: at most so many times what a window of rows takes. Event by event it is ten times or more."""


def quotes(number: int) -> pa.Table:
    """Prices around 100, and the volume of each key so far."""
    random = np.random.default_rng(1)
    keys, sizes = random.integers(0, KEYS, number), random.integers(0, 200, number)
    volume = np.zeros(number, np.int64)
    for key in range(KEYS):
        volume[keys == key] = np.cumsum(sizes[keys == key])
    side = np.array(["buy", "sell", "done"])[random.integers(0, 3, number)]
    price = random.normal(100, 1, number)
    columns = {"k": keys, "t": np.arange(number), "price": price, "volume": volume, "side": side}
    return pa.table(columns)


def streamed(window: Window, table: pa.Table) -> int:
    """How many windows are reported."""
    bound = BoundQuery(Query((window,), AGGREGATES), table.schema, "t", ("k",))
    operator, chunks, reported = WindowOperator.load(bound, None, {}), dict[int, bytes](), 0
    size = table.num_rows // BATCHES
    for begin in range(0, table.num_rows, size):
        operator.insert(table.slice(begin, size).select(bound.columns), np.arange(size))
        reported += operator.advance(begin + size - 1).reports.num_rows
        saved = operator.save()
        chunks = {n: data for n, data in (chunks | saved.written).items() if n not in saved.dropped}
        operator.resume(saved.header, chunks)
    return reported


def by_definition(table: pa.Table) -> int:
    with patch.dict(KINDS, {windows.DeltaWindow: ExactDeltaKind}):
        return streamed(DELTA, table)


def main() -> int:
    chosen = options("Windows by content, on columns and event by event.")
    number = 200_000 if not chosen.quick else 5_000
    table = quotes(number)
    tree = windows.threshold(lambda row: (row.price > 100) & (row.side != "done"))
    no_tree = windows.threshold(lambda row: row.price > 100 and row.side != "done")
    done = windows.punctuated(lambda row: row.side == "done")
    contenders: dict[str, Callable[[], Any]] = {
        "rows": partial(streamed, windows.rows(100, every=25), table),
        "delta": partial(streamed, DELTA, table),
        "delta, event by event": partial(by_definition, table),
        "threshold": partial(streamed, tree, table),
        "threshold, evaluated event by event": partial(streamed, no_tree, table),
        "punctuated": partial(streamed, done, table),
    }
    assert contenders["delta"]() == contenders["delta, event by event"]()
    assert streamed(tree, table) == streamed(no_tree, table)
    measured = Table(f"{number:,} events", "windows of rows")
    measured.start()
    seconds = race(contenders, rounds=chosen.rounds)
    for what, taken in seconds.items():
        limit = LIMIT if what in ("delta", "threshold", "punctuated") else None
        measured.add(what, taken, taken / seconds["rows"], limit=limit)
    return finish([measured], chosen)


if __name__ == "__main__":
    sys.exit(main())
