"""Sliding-window aggregation algorithms over any monoid, behind one protocol.

What is imported here is interpreted: one call of the monoid's own functions for each ⊕, over elements of
any kind. `compiled/` has the same algorithms over columns of numbers, in machine code.
"""

from functools import partial

from sash.aggregation.algorithms.elements import ABSENT
from sash.aggregation.algorithms.fiba import FiBA
from sash.aggregation.algorithms.mta_amortized import AMTA
from sash.aggregation.algorithms.mta_log import LogMTA
from sash.aggregation.algorithms.nodes import MemoryNodes, Nodes
from sash.aggregation.algorithms.protocol import Algorithm
from sash.aggregation.algorithms.recalculate import Recalculate
from sash.aggregation.algorithms.rings import ObjectRing
from sash.aggregation.algorithms.tracked import tracked

__all__ = [
    "ABSENT",
    "AMTA",
    "Algorithm",
    "DABALite",
    "FiBA",
    "LogMTA",
    "MemoryNodes",
    "Nodes",
    "Recalculate",
    "SubtractOnEvict",
    "TwoStacks",
    "tracked",
]

TwoStacks = partial(ObjectRing, "TwoStacks")
DABALite = partial(ObjectRing, "DABALite")
SubtractOnEvict = partial(ObjectRing, "SubtractOnEvict")
