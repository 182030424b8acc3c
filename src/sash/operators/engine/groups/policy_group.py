"""Slide policies over the tree of a lane: what leaves is found by descent
(`kernels.state.policy_window_eviction`).

    compiled        tracked aggregates and the policy are machine code: one call per batch, for all keys
    calling         the policy has no tree, or 64 bits are too few for it: machine code folds, and calls it
    interpreted     the same text run by Python: aggregates that cannot be compiled
    by definition   aggregates that are no numbers, policies that raise for some prefix

Besides the elements a lane keeps one fold of each key, that of the newest part of its window, so that the
next batch goes on from it. Where it is missing it is computed from the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.numba_compilation import Kernel
from sash.aggregation.kernels.compiler.side_by_side_source import CallingSource, SideBySideSource
from sash.aggregation.kernels.state.policy_window_eviction import slide_policy
from sash.aggregation.kernels.state.rings import LANE
from sash.aggregation.monoid import Monoid
from sash.arrays import Ints
from sash.operators.arena import Arena, TableSpec
from sash.operators.columns.layout import Layout
from sash.operators.engine.groups import policy_by_definition
from sash.operators.engine.lanes.element_layout import Form, LaneAggregate
from sash.operators.engine.lanes.ring_lane import RingLane, columns_as
from sash.operators.engine.lanes.slots import FIRST, SLOTS, Slots
from sash.operators.kinds.kind_base import Held
from sash.operators.predicates.policies import InterpretedPolicy, PolicyCondition, are_numbers, types_of
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import Ranges
from sash.semantics.windows import PolicyWindow

TRACKED = "__track "
MIDDLE, FILLED, BACK = range(3)
"""The words of the fold that is kept: of which elements it is, then the fold itself."""


def tracked(window: PolicyWindow) -> Mapping[str, Monoid]:
    """The tracked aggregates, as aggregates of the lane."""
    found: dict[str, Any] = {f"{TRACKED}{name}": monoid for name, monoid in window.track.items()}
    return found


def _tracked_of(form: Form) -> list[LaneAggregate]:
    return [aggregate for name, aggregate in form.aggregates.items() if name.startswith(TRACKED)]


class PolicySlides:
    """The windows of a policy, for all keys of a lane."""

    def __init__(self, lane: RingLane, window: PolicyWindow) -> None:
        self.lane, self.window = lane, window
        self.aggregates = _tracked_of(lane.form)

    @staticmethod
    def tables(name: str, form: Form) -> dict[str, TableSpec]:
        """What is kept besides the elements; nothing in lanes of other windows."""
        tracked = _tracked_of(form)
        fields = sum(len(aggregate.machine.dtypes) for aggregate in tracked if aggregate.machine)
        return {f"{name}.backs": TableSpec(BACK + fields)} if tracked else {}

    def over(self, slots: Ints) -> Slider:
        return Slider(self, slots)

    @cached_property
    def _types(self) -> dict[str, pa.DataType | None]:
        return types_of(self.window, self.lane.form.schema)

    @cached_property
    def machines(self) -> tuple[Compiled, ...]:
        """What folds the tracked aggregates; none, if one of them is not made of numbers."""
        found = tuple(aggregate.machine for aggregate in self.aggregates if aggregate.machine is not None)
        whole = len(found) == len(self.aggregates) and all(map(are_numbers, self._types.values()))
        return found if whole else ()

    @cached_property
    def ways(self) -> list[tuple[Kernel, PolicyCondition | InterpretedPolicy]]:
        """The kernels that can slide such windows, the fastest first, each with its form of the policy."""
        found: list[tuple[Kernel, PolicyCondition | InterpretedPolicy]] = []
        if self.machines:
            condition = PolicyCondition.of(self.window, self._types)
            if condition is not None and _agree(self.machines, condition):
                found.append((_compiled(self.machines, condition.body), condition))
            lowers = [one.source.lower for one in self.machines]
            found.append((_calling(self.machines), InterpretedPolicy(self.window, self._types, lowers)))
        return found


def _agree(machines: tuple[Compiled, ...], condition: PolicyCondition) -> bool:
    """Whether machine code computes results of the kinds that the condition is made for."""
    return all(
        one.mode != "interpreted" and one.result_kind == (kind if kind in ("bool", "float") else "int")
        for one, kind in zip(machines, condition.kinds, strict=True)
    )


@lru_cache(maxsize=256)
def _compiled(machines: tuple[Compiled, ...], body: str) -> Kernel:
    return numba_compilation.build(
        slide_policy, SideBySideSource(tuple(one.source for one in machines), body)
    )


@lru_cache(maxsize=256)
def _calling(machines: tuple[Compiled, ...]) -> Kernel:
    source = CallingSource(tuple(one.source for one in machines))
    if any(one.mode == "interpreted" for one in machines):
        return numba_compilation.interpreted(slide_policy, source)
    kernel = numba_compilation.build(slide_policy, source)
    kernel.fallback = lambda error: numba_compilation.interpreted(slide_policy, source, why=str(error))
    return kernel


class Slider:
    """For some keys. See `kinds.kind.Slides`."""

    def __init__(self, policy: PolicySlides, slots: Ints) -> None:
        self._policy, self._lane, self._slots = policy, policy.lane, slots
        self._backs: Ints | None = None

    @property
    def _table(self) -> Ints:
        name = f"{self._lane.name}.backs"
        if len(self._slots):
            self._lane.arena.reserve(name, int(self._slots.max()) + 1)
        return self._lane.arena.ints(name)

    def slides(self, since: Ints, until: Ints, lo: Ints) -> tuple[Ints, Ints, Ints]:
        key, number = numbered(until - since)
        return key, since[key] + number, self._begins(since, until, lo)

    def keep(self) -> None:
        # Nothing is known of a window that went another way, or of a key that had this slot before.
        self._table[self._slots] = 0 if self._backs is None else self._backs

    def _begins(self, since: Ints, until: Ints, lo: Ints) -> Ints:
        held, lane = self._lane.held(self._slots), self._lane
        begins = np.empty(int((until - since).sum()), np.int64)
        if not len(begins):
            return begins
        for kernel, policy in self._policy.ways:
            columns = [lane.columns_of(aggregate) for aggregate in self._policy.aggregates]
            backs = self._table[self._slots]
            try:
                with policy.called() as called:
                    combines = kernel(
                        tuple(inputs for inputs, _ in columns), tuple(nodes for _, nodes in columns),
                        held.base, held.mask, since, until, lo, called, backs[:, MIDDLE],
                        backs[:, FILLED], self._folds(backs), begins,
                    )  # fmt: skip
            except Exception:  # a slower way can do without it, or raises what is wrong
                continue
            lane.combines.update(dict.fromkeys((a.name for a in self._policy.aggregates), combines))
            self._backs = backs
            return begins
        self._backs = np.zeros_like(self._table[self._slots])  # no fold is known
        return np.concatenate(list(self._by_definition(held, since, until, lo)))

    def _folds(self, backs: Ints) -> tuple[Any, ...]:
        found, at = [], BACK
        for one in self._policy.machines:
            found.append(columns_as(backs, at, one.dtypes))
            at += len(one.dtypes)
        return tuple(found)

    def _by_definition(self, held: Held, since: Ints, until: Ints, lo: Ints) -> Iterator[Ints]:
        window, zero = self._policy.window, np.zeros(1, np.int64)
        for key in np.flatnonzero(until > since):
            one = Ranges(zero + key, zero, lo[[key]], until[[key]], zero, zero, zero)
            rows, *_ = self._lane.gathered(held, one, list(window.columns))
            found = policy_by_definition.begins(window, rows.to_pylist(), int(since[key] - lo[key]))
            yield lo[key] + np.array(found, np.int64)


def bounded_slides(window: PolicyWindow, layout: Layout) -> Slider:
    """The same over a bounded input, whose events become elements of a lane for it."""
    form = Form(layout.rows.schema, tracked(window))
    tables = Slots.tables(pa.schema([]), words=LANE) | RingLane.tables("elements", form)
    arena = Arena.anonymous(tables | PolicySlides.tables("elements", form))
    keys = np.arange(layout.slots)
    arena.reserve(SLOTS, layout.slots)
    slots = Slots(arena, pa.schema([]), words=LANE)
    lane = RingLane(arena, slots, "elements", form, word=FIRST, order=layout.order, growing_tail=False)
    lane.new_slots(keys)
    lane.append(keys, layout.offsets, layout.rows, layout.times)
    return PolicySlides(lane, window).over(keys)
