"""How the windows of a query are kept: which share a lane, and where everything lies in a slot's row.

ring lane       elements in order: events, or panes where the clock cuts all windows and aggregates commute
own ring lane   windows that have no place for some events (delta, policy)
running lane    windows that only grow; with whole rows, a ring of their own
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from sash.aggregation.kernels.state.rings import LANE
from sash.operators.arena import Arena, TableSpec
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling, BoundToAllColumns, BoundWhole
from sash.operators.engine import pending_log as waiting
from sash.operators.engine.content_fingerprint import EMITTED, MARK, hidden, with_content
from sash.operators.engine.groups.latest_group import LatestGroup, LatestLifetimeGroup
from sash.operators.engine.groups.lifetime_group import LifetimeGroup
from sash.operators.engine.groups.policy_group import PolicySlides, tracked
from sash.operators.engine.groups.range_group import RangeGroup
from sash.operators.engine.groups.session_and_growing_group import RowRunGroup, RunGroup, marks_column
from sash.operators.engine.groups.user_fold import ACCUMULATOR, accumulator, can_be_kept
from sash.operators.engine.lanes.element_layout import Form
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.lanes.row_words import Words
from sash.operators.engine.lanes.running_lane import RunningLane
from sash.operators.engine.lanes.slots import FIRST, Slots
from sash.operators.engine.saving import recent_entries
from sash.operators.engine.window_in_state import Track
from sash.operators.folding.panes import Panes
from sash.operators.folding.whole_windows import Fold
from sash.operators.kinds import WindowKind as Kind, kind_of_window
from sash.operators.kinds.delta import DeltaKind
from sash.operators.kinds.delta_by_definition import ExactDeltaKind
from sash.operators.kinds.kind_base import GrowingKind
from sash.operators.kinds.latest import LatestKind, LatestLifetimeKind
from sash.operators.kinds.lifetime import LifetimeKind
from sash.operators.kinds.look_back import LookBackKind
from sash.operators.kinds.policy import PolicyKind

AnyLaneGroup = RangeGroup | RunGroup | RowRunGroup


@dataclass(frozen=True)
class LanePlan:
    """One lane: the windows over it, and the form of its elements."""

    name: str
    form: Form
    windows: tuple[int, ...]
    running: bool = False

    @property
    def words(self) -> int:
        return RunningLane.words(self.form) if self.running else LANE

    @property
    def tables(self) -> dict[str, TableSpec]:
        if self.running:
            return RunningLane.tables(self.name)
        return RingLane.tables(self.name, self.form) | PolicySlides.tables(self.name, self.form)


@dataclass(frozen=True)
class StatePlan:
    """Of one query."""

    bound: BoundQuery
    rows: bool = False
    """Whether the events of windows leave as they are, and not only what is computed over them."""

    @property
    def whole(self) -> bool:
        return self.rows or isinstance(self.bound, BoundWhole)

    @cached_property
    def _steps(self) -> Fold | None:
        """A fold whose accumulators can be kept, so that windows that only grow need no rows."""
        computation = self.bound.computation if isinstance(self.bound, BoundWhole) else None
        kept = isinstance(computation, Fold) and not self.rows and can_be_kept(computation)
        return computation if kept and isinstance(computation, Fold) else None

    @cached_property
    def inner(self) -> BoundQuery:
        """The query with what must be known of windows that can be corrected."""
        return with_content(self.bound) if self.bound.keeps_reports else self.bound

    @cached_property
    def panes(self) -> Panes | None:
        """Not with `forget_after`, which counts from the newest event: a pane only has its beginning."""
        forgets = self.bound.query.forget_after.length > 0
        if self.whole or forgets or isinstance(self.bound, BoundRolling):
            return None
        return Panes.of(self.inner)

    @cached_property
    def kinds(self) -> list[Kind[Any]]:
        if isinstance(self.bound, BoundLatest):
            return [latest(window, self.bound.schema) for window in self.bound.query.windows]
        if isinstance(self.bound, BoundRolling):
            return [look_back(window, self.bound.schema) for window in self.bound.query.windows]
        return [kind_of_window(window, self.bound.schema) for window in self.bound.query.windows]

    @cached_property
    def columns(self) -> frozenset[str]:
        """What is needed of a row that is on time: all of it, where rows leave as they came."""
        if self.panes is not None:
            return frozenset(part.name for part in self.panes.parts)
        rolling = isinstance(self.bound, BoundRolling) and not isinstance(self.bound, BoundLatest)
        if self.whole or rolling or any(kind.places for kind in self.kinds):
            names = set(self.bound.columns)
        else:
            names = {column for monoid in self.bound.aggregates.values() for column in monoid.reads}
        names = names or {self.bound.time}
        return frozenset(
            names | {MARK, EMITTED} | {marks_column(number) for number in range(len(self.kinds))}
        )

    @property
    def folds_early(self) -> bool:
        """Whether some of what is held is folds, of which no other aggregate can be computed."""
        return self.panes is not None or any(lane.running for lane in self.lanes)

    @cached_property
    def keys(self) -> pa.Schema:
        return pa.schema([self.bound.schema.field(key).remove_metadata() for key in self.bound.keys])

    @cached_property
    def lanes(self) -> list[LanePlan]:
        shared = [
            n for n, kind in enumerate(self.kinds) if not kind.places and not isinstance(kind, GrowingKind)
        ]
        lanes = [LanePlan("elements", self._form(), tuple(shared))] if shared else []
        for number, kind in enumerate(self.kinds):
            if number not in shared:
                running = isinstance(kind, GrowingKind) and (not self.whole or self._steps is not None)
                lanes.append(LanePlan(f"window-{number}", self._form(kind), (number,), running))
        return lanes

    def _form(self, kind: Kind[Any] | None = None) -> Form:
        if kind is None and self.panes is not None:
            return Form(self.panes.folded.schema, self.panes.folded.aggregates)
        monoids = dict(self.inner.aggregates)
        if self.whole:
            monoids = dict(hidden()) if self.bound.keeps_reports else {}
        if self._steps is not None and isinstance(kind, GrowingKind):
            return Form(self.inner.schema, {ACCUMULATOR: accumulator(), **monoids}, steps=self._steps)
        extra: tuple[str, ...] = ()
        if isinstance(kind, PolicyKind):
            monoids |= tracked(kind.window)
        elif isinstance(kind, DeltaKind | ExactDeltaKind):
            extra = (kind.window.attribute,)
        return Form(self.inner.schema, monoids, extra, whole_rows=self.whole)

    @cached_property
    def _words(self) -> tuple[dict[str, int], dict[int, int], int]:
        """Where each lane and each window's memory begins, and how many words there are."""
        lanes, memories, at = {}, {}, FIRST
        for lane in self.lanes:
            lanes[lane.name] = at
            at += lane.words
        for number, kind in enumerate(self.kinds):
            memories[number] = at
            at += len(kind.memory)
        return lanes, memories, at - FIRST

    @property
    def slot_words(self) -> int:
        """How many words are kept of a key, whatever it has."""
        return FIRST + self._words[2] + Words(self.keys).width

    @property
    def forgets(self) -> bool:
        """Whether a key that has no elements needs no memory."""
        return not self.bound.query.empty and all(kind.forgets for kind in self.kinds)

    @cached_property
    def tables(self) -> dict[str, TableSpec]:
        """Of the arena."""
        _, _, words = self._words
        tables = Slots.tables(self.keys, words=words) | waiting.tables() | recent_entries.tables()
        for lane in self.lanes:
            tables |= lane.tables
        return tables

    def groups(self, arena: Arena) -> tuple[Slots, list[AnyLaneGroup]]:
        """Everything that works on an arena."""
        lanes, memories, words = self._words
        slots = Slots(arena, self.keys, words=words)
        tracks = [Track(n, kind, slots, memories[n]) for n, kind in enumerate(self.kinds)]
        found: list[AnyLaneGroup] = []
        for plan in self.lanes:
            own, word = [tracks[number] for number in plan.windows], lanes[plan.name]
            if plan.running:
                found.append(
                    _running_group(own[0].kind)(
                        self.bound, RunningLane(arena, slots, plan.name, plan.form, word=word), own[0]
                    )
                )
                continue
            panes = self.panes if plan.name == "elements" else None
            lane = RingLane(
                arena, slots, plan.name, plan.form, word=word, order=self.bound.query.order,
                growing_tail=panes is not None, windows=0 if self.bound.takes_back else len(own),
            )  # fmt: skip
            if isinstance(own[0].kind, GrowingKind):
                found.append(RowRunGroup(self.bound, lane, own[0]))
                continue
            kind = own[0].kind
            policy = PolicySlides(lane, kind.window) if isinstance(kind, PolicyKind) else None
            group = LatestGroup if isinstance(kind, LatestKind) else RangeGroup
            found.append(group(self.bound, lane, own, panes=panes, policy=policy))
        return slots, found


def _running_group(kind: Kind[Any]) -> type[RunGroup]:
    if isinstance(kind, LatestLifetimeKind):
        return LatestLifetimeGroup
    return LifetimeGroup if isinstance(kind, LifetimeKind) else RunGroup


def look_back(window: Any, schema: pa.Schema) -> Kind[Any]:
    """What computes a look-back of `.rolling`."""
    return LifetimeKind(window, schema) if window.endless else LookBackKind(window, schema)


def latest(window: Any, schema: pa.Schema) -> Kind[Any]:
    """What computes a look-back of `.latest`."""
    return LatestLifetimeKind(window, schema) if window.endless else LatestKind(window, schema)


def with_late_columns(bound: BoundQuery) -> BoundQuery:
    """The query whose late rows have all columns of its input: the same, unless an event that was on time
    may turn out to be in no window."""
    if bound.columns == bound.schema.names or not any(kind.places for kind in StatePlan(bound).kinds):
        return bound
    return BoundToAllColumns(bound.query, bound.schema, bound.time, bound.keys)


def keeps_panes(bound: BoundQuery) -> bool:
    """Whether a stream of this query holds panes instead of events."""
    return StatePlan(bound).panes is not None


def holds_whole_windows(bound: BoundQuery) -> bool:
    """Whether a stream of this query holds the rows of its windows, so that others can compute them."""
    plan = StatePlan(bound)
    return plan.whole and not any(lane.running for lane in plan.lanes)
