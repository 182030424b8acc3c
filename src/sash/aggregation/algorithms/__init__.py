"""Sliding-window aggregation algorithms over any monoid, behind one protocol.

What is imported here is interpreted: one call of the monoid's own functions for each ⊕, over elements of
any kind. `compiled/` has the same algorithms over columns of numbers, in machine code.

column_kinds.py          which kind of numbers a column of events holds
fiba.py                  FiBA, the finger B-tree aggregator: elements in any order of time
fifo.py                  what the first-in-first-out algorithms share
finger_tree_nodes.py     the nodes of a finger B-tree, and what each of them folds, by its place in the tree
monoids_side_by_side.py  several monoids folded side by side: what a slide policy looks at
nulls.py                 where the nulls of a window are
paged_queue.py           a queue that is indexed by position in the stream
protocol.py              the protocol of every sliding-window algorithm
recalculate.py           recalculate: keep the elements, fold them all at every query
rings.py                 first-in-first-out structures in a ring, over numbers and objects
slide_policy.py          a slide policy, called with a prefix of the window
"""

from collections.abc import Callable
from functools import partial

from sash.aggregation.algorithms.fiba import FingerTree
from sash.aggregation.algorithms.monoids_side_by_side import tracked
from sash.aggregation.algorithms.mta.amortized_mta import AmortizedForest
from sash.aggregation.algorithms.mta.log_mta import LogForest
from sash.aggregation.algorithms.mta.nodes import MemoryNodes, Nodes
from sash.aggregation.algorithms.protocol import Algorithm
from sash.aggregation.algorithms.recalculate import RecalculatedWindow
from sash.aggregation.algorithms.rings import ObjectRing
from sash.aggregation.elements import ABSENT

__all__ = [
    "ABSENT",
    "INTERPRETED",
    "Algorithm",
    "AmortizedForest",
    "FingerTree",
    "LogForest",
    "MemoryNodes",
    "Nodes",
    "RecalculatedWindow",
    "tracked",
]

INTERPRETED: dict[str, Callable[..., Algorithm]] = {
    "Recalculate": RecalculatedWindow,
    "SubtractOnEvict": partial(ObjectRing, "SubtractOnEvict"),
    "TwoStacks": partial(ObjectRing, "TwoStacks"),
    "DABALite": partial(ObjectRing, "DABALite"),
    "LogMTA": LogForest,
    "AMTA": AmortizedForest,
    "FiBA": FingerTree,
}
"""The interpreted form of each class of `sash.aggregators`."""
