"""Aggregates of a lane that are folded together: one kernel goes once through the tree for all of them.

Aggregates of this library are grouped, at most `TOGETHER`, because a kernel is compiled for each of their
combinations. One that a user wrote has a kernel of its own: if it cannot be compiled, only it is
interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.numba_compilation import Kernel
from sash.aggregation.kernels.compiler.side_by_side_source import SideBySideSource
from sash.aggregation.kernels.state import busy_key_folds, look_back_and_range_folds

if TYPE_CHECKING:
    from sash.operators.engine.lanes.element_layout import LaneAggregate

TOGETHER = 8


@dataclass(frozen=True)
class TreeGroup:
    """Some aggregates of a lane whose elements are numbers."""

    aggregates: tuple[LaneAggregate, ...]
    number: int
    """Its place among the lane's groups."""

    @property
    def word(self) -> int:
        """That of the bits of its aggregates."""
        return self.aggregates[0].word

    @cached_property
    def bits(self) -> tuple[int, ...]:
        return tuple(aggregate.bit for aggregate in self.aggregates)

    @cached_property
    def wanted(self) -> int:
        return sum(self.bits)

    @cached_property
    def machines(self) -> tuple[Compiled, ...]:
        return tuple(aggregate.machine for aggregate in self.aggregates if aggregate.machine is not None)

    @cached_property
    def grow(self) -> Kernel:
        return _kernel(look_back_and_range_folds.grow_trees, self.machines)

    @cached_property
    def fold(self) -> Kernel:
        return _kernel(look_back_and_range_folds.fold_ranges, self.machines)

    @cached_property
    def fold_runs(self) -> Kernel:
        return _kernel(busy_key_folds.fold_runs, self.machines)


def groups_of(aggregates: Iterable[LaneAggregate]) -> list[TreeGroup]:
    """The groups of all aggregates whose elements are numbers. Those that only the engine reads are folded
    by themselves, in groups of their own."""
    numeric = [aggregate for aggregate in aggregates if aggregate.machine is not None]
    alone = [[aggregate] for aggregate in numeric if aggregate.monoid.made_by is None]
    shared: dict[tuple[int, bool], list[LaneAggregate]] = {}
    for aggregate in sorted(numeric, key=lambda each: each.monoid.name):  # fewer combinations to compile
        if aggregate.monoid.made_by is not None:
            shared.setdefault((aggregate.word, aggregate.name.startswith("__")), []).append(aggregate)
    cut = [some[at : at + TOGETHER] for some in shared.values() for at in range(0, len(some), TOGETHER)]
    return [TreeGroup(tuple(some), number) for number, some in enumerate(cut + alone)]


@lru_cache(maxsize=512)
def _kernel(template: Callable[..., Any], machines: tuple[Compiled, ...]) -> Kernel:
    source = SideBySideSource(tuple(one.source for one in machines))
    if any(one.mode == "interpreted" for one in machines):
        return numba_compilation.interpreted(template, source)
    kernel = numba_compilation.build(template, source)

    def slower(error: Exception) -> Kernel:
        for one in machines:
            one.warn("lift", numba_compilation.short_reason(error))
        return numba_compilation.interpreted(template, source, why=str(error))

    kernel.fallback = slower
    return kernel
