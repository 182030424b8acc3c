"""Sliding-window aggregation algorithms over any monoid: one protocol, one file each.

These are interpreted: one call of the monoid's own Python functions for each ⊕, over elements of any kind.
`compiled/` has the same algorithms over columns of numbers, in machine code.
"""

from sash.aggregation.algorithms.daba import DABALite
from sash.aggregation.algorithms.elements import ABSENT
from sash.aggregation.algorithms.fiba import FiBA
from sash.aggregation.algorithms.mta_amortized import AMTA
from sash.aggregation.algorithms.mta_log import LogMTA
from sash.aggregation.algorithms.nodes import MemoryNodes, Nodes
from sash.aggregation.algorithms.protocol import Algorithm
from sash.aggregation.algorithms.recalculate import Recalculate
from sash.aggregation.algorithms.subtract_on_evict import SubtractOnEvict
from sash.aggregation.algorithms.tracked import tracked
from sash.aggregation.algorithms.two_stacks import TwoStacks

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
