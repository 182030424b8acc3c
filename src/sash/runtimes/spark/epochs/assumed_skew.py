"""Whether the keys of a running query are as uneven as its plan took them to be.

    load of the busiest bucket / load of all     against     the share of the hottest key in the plan

Loads are bytes of blocks: where rows are folded into panes before the shuffle, a hot key is as small as any
other, and nothing is found. A pattern is a part of the state, so that nothing changes in this checkpoint:
the record of the batch has what was found, and what a new checkpoint would begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sash.arrays import Floats
from sash.planner.facts import EventFacts
from sash.planner.plans.candidates import BUCKETS, named
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.epochs.one_task import EVENTS

BUSY = 1.5
"""How many times an even share of the cores, and of what was assumed, is worth a sentence."""


@dataclass
class AssumedSkew:
    """Of one run of a query."""

    events: EventFacts
    """As the plan has them."""
    cores: int
    planned: Callable[[float], Plan]
    """The plan of a new checkpoint, if the hottest key has this share."""
    _found: dict[float, Decision] = field(default_factory=dict, init=False)
    """By the share of the busiest bucket, in whole percent."""

    def contradicted(self, load: Floats, *, events: int) -> Iterator[Decision]:
        """The record of it, after a batch of so many events: one task has small ones, and few events fall
        into buckets as they may."""
        workers, total = min(self.cores, len(load)), float(load.sum())
        if workers < 2 or events <= EVENTS or not total:
            return
        share = round(float(load.max()) / total, 2)
        if share * workers <= BUSY or share <= BUSY * self.events.hottest:
            return
        if share not in self._found:
            self._found[share] = Decision("plan", BUCKETS, self._why(share, len(load)))
        yield self._found[share]

    def _why(self, share: float, buckets: int) -> str:
        known = "was given as" if self.events.known == "given" else "was assumed to have"
        seen = (
            f"the hottest key {known} {self.events.hottest:.1%} of the events, and the busiest of "
            f"{buckets} buckets has {share:.0%}"
        )
        plan = self.planned(share)
        if plan.pattern is None:
            return f"{seen}; they are estimated to be the cheapest all the same"
        return (
            f"{seen}; with .parallel(sash.Auto(hottest={share})) a new checkpoint would have "
            f"{named(plan.pattern)}"
        )
