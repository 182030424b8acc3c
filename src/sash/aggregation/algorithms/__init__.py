"""Sliding-window aggregation algorithms over any monoid, behind one protocol.

What is imported here is interpreted: one call of the monoid's own functions for each ⊕, over elements of
any kind. `compiled/` has the same algorithms over columns of numbers, in machine code.
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
