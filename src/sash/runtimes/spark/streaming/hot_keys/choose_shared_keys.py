"""Which keys are so hot on a stream that several buckets share their look-backs. The driver decides between
two batches, and its journal has the decision before the next one begins.

    begin     in two batches after each other a key had more rows than a task has on average, and as many
              as `LEAST`, and panes are fewer than its rows
    end       in `PATIENCE` batches after each other it had less than half of that

What is gained is small where batches are: look-backs take about 0.2 µs a row (decision 42), and each bucket
more is a few milliseconds. What is shared is never wrong, only dearer: a key that is left alone costs what
it always did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isinf

import numpy as np
import pyarrow as pa

from sash.errors import Unsupported
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.look_back_regimes import Regime
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.planner.auto_declaration import Auto, Parallelism
from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.packing.bucket_of_key_arrow import require_hashable
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoad
from sash.semantics.event import Order
from sash.semantics.watermark import LateBy
from sash.semantics.windows import SlideByTupleWindow

LEAST = 100_000
"""Rows of a key in one batch from which on its look-backs may be shared."""
PATIENCE = 3


def shared_panes(bound: BoundQuery, *, buckets: int) -> LookBackPanes | None:
    """The panes by which so many buckets can share a key of this query; None where they cannot."""
    query = bound.query
    if not isinstance(bound, BoundRolling) or not bound.keys or buckets < 2:
        return None
    if query.emit.early or query.order is Order.ARRIVAL or query.forget_after.length:
        return None
    if query.allowed_lateness.length or query.late_by is not LateBy.TIME or bound.takes_back:
        return None
    windows = [window for window in query.windows if isinstance(window, SlideByTupleWindow)]
    if len(windows) < len(query.windows) or any(window.endless for window in windows):
        return None
    panes = LookBackPanes.of(bound, workers=buckets)
    if panes is None or panes.shares < 2 or not panes.numbers:
        return None
    try:
        require_hashable(bound.schema, bound.keys)
    except (Unsupported, pa.ArrowException):
        return None
    return panes


def least_rows(panes: LookBackPanes, known: Parallelism) -> float:
    """Of a key in a batch, from which on it may be shared. A user who has declared that no key is hot has
    the last word: nothing is shared, and what is shared goes back to its owner."""
    even = isinstance(known, Auto) and known.hottest is not None and known.hottest * panes.shares < 1
    return inf if even else LEAST


@dataclass
class KeySharing:
    """The decisions of one run of a query. What is remembered besides the regimes may be lost: a restart
    finds it again."""

    panes: LookBackPanes
    least: float
    _candidates: Mapping[int, KeyLoad] = field(default_factory=dict)
    """That were hot in the batch before."""
    _cold: dict[int, int] = field(default_factory=dict)
    """In how many batches after each other a key had few rows."""

    @property
    def reach(self) -> int:
        """The longest look-back."""
        windows = self.panes.bound.query.windows
        return max(window.size for window in windows if isinstance(window, SlideByTupleWindow))

    def next(
        self, regimes: Sequence[Regime], loads: Mapping[int, KeyLoad], *, events: int, tasks: int,
        newest: int, watermark: int,
    ) -> tuple[Regime, ...]:  # fmt: skip
        """The regimes of the next batch, after one that had so many `events` and was computed by so many
        tasks: of each key what was seen of it, and how far time has come."""
        fair = events / tasks
        kept = [regime for regime in regimes if not regime.is_over(watermark)]
        if not events:  # nothing came: that says nothing of keys
            return tuple(kept)
        kept = [one for regime in kept for one in self._continued(regime, loads, fair, newest)]
        known, hot = {regime.key for regime in kept}, self._hot(loads, fair, tasks)
        begun = [one for key in hot if key not in known for one in self._begun(key, hot[key], newest)]
        self._candidates = hot
        return (*kept, *begun)

    def decision(self, regimes: Sequence[Regime]) -> Decision | None:
        """Of the batch that has these regimes."""
        if not regimes:
            return None
        keys = f"{len(regimes)} {'key is' if len(regimes) == 1 else 'keys are'}"
        why = f"more rows than a task has on average, and at least {self.least:,}"
        if isinf(self.least):
            why = "until the longest look-back has passed; no key is hot, as declared"
        return Decision(
            "keys",
            f"look-backs of {keys} shared by up to {max(one.shares for one in regimes)} buckets",
            why,
        )

    def _hot(self, loads: Mapping[int, KeyLoad], fair: float, tasks: int) -> dict[int, KeyLoad]:
        enough = max(fair, self.least)
        return {key: load for key, load in loads.items() if tasks > 1 and load.rows >= enough}

    def _begun(self, key: int, load: KeyLoad, newest: int) -> Iterator[Regime]:
        """By panes that suit the smaller of two batches: the first may have been a backlog."""
        before = self._candidates.get(key)
        if before is None:
            return
        load = min(load, before, key=lambda one: one.span)
        (length,) = self.panes.lengths_of(np.array([load.rows]), np.array([load.span]))
        if length:
            yield Regime.begun(
                key, shares=self.panes.shares, length=int(length), newest=newest, reach=self.reach
            )

    def _continued(
        self, regime: Regime, loads: Mapping[int, KeyLoad], fair: float, newest: int
    ) -> Iterator[Regime]:
        load = loads.get(regime.key)
        is_cold = load is None or load.rows < max(fair, self.least) / 2
        cold = self._cold.pop(regime.key, 0) + 1 if is_cold else 0
        if regime.ends:
            yield regime
        elif cold < PATIENCE:
            self._cold[regime.key] = cold
            yield regime
        else:
            ended = regime.ended(newest=newest, reach=self.reach)
            if ended is not None:
                yield ended
