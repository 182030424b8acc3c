"""What a window holds, as two hidden aggregates: for queries that correct what they have reported.

    content    the exclusive or of a scrambled number for each event: equal for equal sets of events
    size       how many they are

So a report is compared with the one before it without touching the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.aggregation.built_in import count
from sash.aggregation.monoid import Monoid
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery

MARK, CONTENT, SIZE = "__mark", "__content", "__size"
EMITTED = "__emitted"
"""Of an event that is answered on arrival: the revision of its row that was emitted last; −1 for none."""


def _nothing() -> int:
    return 0


def _itself(mark: int) -> int:
    return mark


def _either(a: int, b: int) -> int:
    return a ^ b


def hidden() -> Mapping[str, Monoid]:
    """The aggregates by name."""
    content = Monoid(CONTENT, (MARK,), _nothing, _itself, _either, _itself, commutative=True)
    return {CONTENT: content, SIZE: count()}


def with_content(bound: BoundQuery) -> BoundQuery:
    """The same query with these aggregates, over rows that have a mark."""
    query = replace(bound.query, aggregates={**bound.query.aggregates, **hidden()})
    schema = bound.schema.append(pa.field(MARK, pa.int64()))
    return BoundQuery(query, schema, bound.time, bound.keys)


def with_marks(elements: pa.Table, sequence: Ints) -> pa.Table:
    """The elements of panes with those of the hidden aggregates, which come last: a part of a pane counts
    as one event, because all that matters is whether a window holds the same as before."""
    marked = elements.append_column(CONTENT, pa.array(marks(sequence)))
    return marked.append_column(SIZE, pa.array(np.ones(len(sequence), np.int64)))


def marks(sequence: Ints) -> Ints:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): neighbours become unrelated."""
    x = sequence.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).view(np.int64)
