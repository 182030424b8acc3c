"""The look-backs of one of several workers that share a key: over rows that are its own, and elements.

See `operators.look_backs_by_pane`. Both are elements of the lane; those that are panes of other workers,
and rows for which somebody else answers, have no row in the answer.
"""

from __future__ import annotations

import numpy as np

from sash.operators.answer import features
from sash.operators.bound_query import BoundRolling
from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.operator_turn import Turn
from sash.operators.look_backs_by_pane import OWN


class SharedLookBacks(WindowOperator):
    """Of a query that is `BoundOverElements`. See `protocol.StreamOperator`."""

    def _features(self, bound: BoundRolling, turn: Turn) -> None:
        rows = turn.final.rows
        own = np.flatnonzero(rows[OWN].to_numpy())
        wanted = own[:0] if self._replaying else own
        lookbacks = self._look_backs(turn, wanted)
        if len(wanted):
            self._reports.append(features(bound, rows.take(wanted), lookbacks))
