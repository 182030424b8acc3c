"""The data structures by themselves: sliding-window aggregators over any monoid.

    insert(*values, time=)   evict()   bulk_evict(n | until=)   query()   fold()   len()
    insert_many(*columns, times=)      insert_element(…)        insert_elements(…)

| class | order | insert + evict | bulk eviction |
|---|---|---|---|
| `Recalculate` | any | O(n) | O(n) |
| `SubtractOnEvict` | FIFO, needs an inverse | O(1) | O(k) |
| `TwoStacks` | FIFO | O(1) amortised | O(n) |
| `DABALite` | FIFO | O(1) worst case | O(k) |
| `LogMTA` | FIFO | O(log n) | O(log n) |
| `AMTA` | FIFO | O(1) amortised, O(log n) worst case | O(log n) |
| `FiBA` | any | O(1) amortised in order, O(log d) for d places late | O(log n) |

`LogMTA` and `AMTA` also `evict_by_policy(policy)`, over the folds that `tracked(…)` puts side by side:

>>> from sash.aggregation.monoid import Monoid
>>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s)
>>> latest = Monoid("last", ("x",), lambda: None, lambda x: x, lambda a, b: b, lambda x: x)
>>> window = AMTA(tracked(s=total, last=latest))
>>> window.insert_many([2, 2, 3, 3, 4])
>>> window.evict_by_policy(lambda total, old: total.s - old.s + old.last > 10)
2
>>> window.query().s
10
"""

from sash.aggregation.algorithms import (
    AMTA,
    Aggregator,
    DABALite,
    FiBA,
    LogMTA,
    Recalculate,
    SubtractOnEvict,
    TwoStacks,
    tracked,
)

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
