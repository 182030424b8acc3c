"""What is known of the events before they are windowed: from a sample of the keys, never from all rows.

    rows, span     counted, where the events are at hand
    hottest        the share of the most frequent key in the sample
    keys           √(n / m) · f₁ + f₂ + f₃ + …,   fᵢ keys seen i times among m of n events

The estimate of distinct keys is the guaranteed-error estimator of Charikar, Chaudhuri, Motwani, Narasayya,
'Towards estimation error guarantees for distinct values' (PODS 2000).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import to_integers
from sash.planner.auto_declaration import Auto
from sash.planner.facts import EventFacts, FactsFrom

SAMPLE = 2**14
"""Events that are looked at: a share of one half is then known to within two percent."""
ASSUMED_ROWS = 10_000_000
"""Rows of a DataFrame that were not counted: enough for the cost of a row to count."""
ASSUMED_KEYS = 1_000


def facts_of_table(bound: BoundQuery, table: pa.Table, auto: Auto) -> EventFacts:
    """Of a table in this process."""
    rows = table.num_rows
    sample = table.select([bound.time, *bound.keys]).take(pa.array(_spread(rows)))
    keys, hottest = _keys(bound, sample, rows)
    known: FactsFrom = "counted" if rows <= SAMPLE else "sampled"
    return _overridden(EventFacts(rows, keys, hottest, _span(bound, table), known), auto)


def seen(bound: BoundQuery, first: pa.Table, auto: Auto) -> EventFacts:
    """Of a DataFrame whose first rows have been fetched."""
    rows = max(auto.rows or ASSUMED_ROWS, first.num_rows)
    keys, hottest = _keys(bound, first, rows)
    span = _span(bound, first)
    # The first rows are a stretch of the stream, not a sample of all of it.
    whole = None if span is None or not first.num_rows else span * rows // first.num_rows
    return _overridden(EventFacts(rows, keys, hottest, whole, "sampled"), auto)


def assumed(bound: BoundQuery, auto: Auto) -> EventFacts:
    """Of a DataFrame that nothing is known about, but for what the user gave."""
    keys = (auto.keys or ASSUMED_KEYS) if bound.keys else 1
    known: FactsFrom = "assumed" if auto.hottest is None and auto.keys is None else "given"
    return _overridden(EventFacts(auto.rows or ASSUMED_ROWS, keys, 1 / keys, None, known), auto)


def _overridden(events: EventFacts, auto: Auto) -> EventFacts:
    """What the user gave overrides what was seen."""
    keys = auto.keys or events.keys
    hottest = auto.hottest or max(events.hottest if auto.keys is None else 0.0, 1 / keys)
    rows = auto.rows or events.rows
    return EventFacts(rows, keys, hottest, events.span, events.known)


def _spread(rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Positions at equal distances: always the same ones, so that plans are."""
    return np.arange(0, rows, -(-rows // SAMPLE) or 1)


def _keys(bound: BoundQuery, sample: pa.Table, rows: int) -> tuple[int, float]:
    if not bound.keys or not sample.num_rows:
        return 1, 1.0
    times_seen = np.bincount(key_codes(sample, list(bound.keys)))
    keys = round(keys_expected(times_seen, of=rows / sample.num_rows))
    return max(1, min(keys, rows)), float(times_seen.max()) / sample.num_rows


def keys_expected(times_seen: Ints, *, of: float) -> float:
    """How many keys `of` times as many events have, of which the keys were seen so many times each."""
    once = int((times_seen == 1).sum())
    return sqrt(of) * once + (len(times_seen) - once)


def _span(bound: BoundQuery, table: pa.Table) -> int | None:
    ends = pc.min_max(table[bound.time])
    if not ends["min"].is_valid:
        return None
    first, last = to_integers(pa.chunked_array([pa.array([ends["min"], ends["max"]], bound.time_type)]))
    return int(last - first)
