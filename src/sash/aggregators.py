"""The data structures by themselves: sliding-window aggregators over any monoid. Aggregates of queries
(sum, mean, …) are in `aggregation/built_in`.

    insert(*values, time=)   evict()   bulk_evict(n | until=)   query()   fold()   len()   mode
    insert_many(*columns, times=)      insert_element(…)        insert_elements(…)
    AMTA.slide(monoid, *columns, window=)      the value of the last `window` events, after each of them

| class | order | insert + evict | bulk eviction |
|---|---|---|---|
| `Recalculate` | any | O(n) | O(n) |
| `SubtractOnEvict` | FIFO, needs an inverse | O(1) | O(k) |
| `TwoStacks` | FIFO | O(1) amortised | O(n) |
| `DABALite` | FIFO | O(1) worst case | O(k) |
| `LogMTA` | FIFO | O(log n) | O(log n) |
| `AMTA` | FIFO | O(1) amortised, O(log n) worst case | O(log n) |
| `FiBA` | any | O(1) amortised in order, O(log d) for d places late | O(log n) |

Costs are counted in combines. Over numbers a structure lives in arrays and every operation is one call of
machine code; over objects it is interpreted. `mode` shows which:

>>> from sash.aggregation.monoid import Monoid
>>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
>>> window = AMTA(biggest, kinds=("object",))
>>> window.insert_many([5, 1, 3, 2], times=[1, 2, 4, 7])
>>> window
<AMTA of max(x), interpreted: 4 held>
>>> window.bulk_evict(until=4), window.query()
(2, 3)

`LogMTA`, `AMTA` and `Recalculate` also `evict_by_policy(policy)`, usually over the folds that `tracked(…)`
puts side by side:

>>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s)
>>> latest = Monoid("last", ("x",), lambda: None, lambda x: x, lambda a, b: b, lambda x: x)
>>> window = AMTA(tracked(s=total, last=latest))
>>> window.insert_many([2, 2, 3, 3, 4])
>>> window.evict_by_policy(lambda total, old: total.s - old.s + old.last > 10)
2
>>> window.query().s
10
"""

from __future__ import annotations

from sash.aggregation.aggregator import Aggregator, PolicyAggregator, StoredAggregator
from sash.aggregation.algorithms import tracked

__all__ = [
    "AMTA",
    "Aggregator",
    "DABALite",
    "FiBA",
    "LogMTA",
    "Recalculate",
    "SubtractOnEvict",
    "TwoStacks",
    "tracked",
]


class Recalculate(PolicyAggregator):
    """Any order; folds all of its elements at every query."""

    _any_order = True


class SubtractOnEvict(Aggregator):
    """FIFO, invertible monoids only; insert and evict O(1) worst case, bulk eviction O(k)."""


class TwoStacks(Aggregator):
    """FIFO, any monoid; insert + evict + query ≤ 3 combines amortised, one eviction O(n) at worst."""


class DABALite(Aggregator):
    """FIFO, any monoid; insert ≤ 3, evict ≤ 2, query ≤ 1 combines, always. Bulk eviction O(k)."""


class LogMTA(StoredAggregator):
    """FIFO, any monoid; insert and query O(log n), evictions of any size no combine at all."""


class AMTA(StoredAggregator):
    """FIFO, any monoid; insert + evict + query ≤ 5 combines amortised; any eviction O(log n) at worst."""


class FiBA(Aggregator):
    """Any order, any monoid; insert and evict O(1) amortised in order, O(log d) for d places late."""

    _any_order = True
