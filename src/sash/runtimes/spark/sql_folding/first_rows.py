"""How many rows of a key share a pane, by the first rows of a scan.

    first rows of one partition ─▶ (key, time) ─▶ rows / distinct (key, pane)

A file is mostly a stretch of the stream: events that are near in time lie near each other, so that the
first rows have the panes that all rows have. Where half of them span as much time as all of them, they are
in no such order, and nothing is learnt. No job runs over anything but a scan: what is cheap there can be a
whole join elsewhere.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from pyspark.sql import DataFrame

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.planner.sampling import keys_expected
from sash.runtimes.spark.compat import analysed_plan
from sash.runtimes.spark.sql_folding.pane_fold_sql import NativeFold

ROWS = 4096
SCANS = {
    "Project",
    "SubqueryAlias",
    "View",
    "Relation",
    "RelationV2",
    "LocalRelation",
    "LogicalRDD",
    "Range",
}
"""What the plan of a scan consists of. Not a filter: what it keeps may be far from the first rows."""
FEWEST = ROWS // 2
"""Of an input with fewer rows it is of no consequence who folds them."""
EDGE = 0.05
STRETCH = 0.75
"""The share of the time that the first half of the rows may span at most, if they are in order of time."""

_SEEN: WeakKeyDictionary[DataFrame, dict[tuple[object, ...], float | None]] = WeakKeyDictionary()
"""`explain()` and the query itself look at the same DataFrame."""


def rows_per_pane(df: DataFrame, bound: BoundQuery) -> float | None:
    """An estimate; None where it would take more than a look, or where the look teaches nothing."""
    fold = NativeFold.of(bound, df.schema)
    if isinstance(fold, str):
        return None
    seen = _SEEN.setdefault(df, {})
    what = (bound.time, bound.keys, fold.length, fold.origin)
    if what not in seen:
        seen[what] = _looked(df, fold) if _is_scan(df) else None
    return seen[what]


def _looked(df: DataFrame, fold: NativeFold) -> float | None:
    # `collect` of a limit reads one partition after the other until there are enough rows.
    rows = fold.keys_and_times(df).limit(ROWS).collect()
    found = np.array([row for row in rows if row[1] is not None], np.int64).reshape(-1, 2)
    if len(found) < FEWEST:
        return None
    return density(found[:, 0], found[:, 1], length=fold.length, origin=fold.origin)


def density(keys: Ints, times: Ints, *, length: int, origin: int) -> float | None:
    """Rows for each key and pane.

    >>> one, in_order, shuffled = np.zeros(8), np.arange(8), np.array([0, 7, 3, 6, 1, 5, 2, 4])
    >>> density(one, in_order, length=4, origin=0), density(one, shuffled, length=4, origin=0)
    (4.0, None)
    """
    rows, span = len(times), _span(times)
    if _span(times[: rows // 2]) > STRETCH * max(span, 1.0):
        return None
    if span >= length:
        panes = (times - origin) // length
        return float(rows / np.unique(np.stack([keys, panes]), axis=1).shape[1])
    # A part of a pane: the rest of it has as many rows for its time, and more keys.
    part = max(span, 1.0) / length
    _, times_seen = np.unique(keys, return_counts=True)
    return max(1.0, rows / part / keys_expected(times_seen, of=1 / part))


def _span(times: Ints) -> float:
    """From the first to the last, whatever a few that are far from the others are."""
    low, high = np.quantile(times, [EDGE, 1 - EDGE])
    return float(high - low) / (1 - 2 * EDGE)


def _is_scan(df: DataFrame) -> bool:
    nodes = [line.lstrip(" :+-").split(" ")[0] for line in analysed_plan(df).splitlines()]
    return all(node in SCANS for node in nodes if node)
