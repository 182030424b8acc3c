"""What a pattern costs in process, step by step.

    panes first        fold the events of each key and pane as they stand, where that pays: all threads
    every pattern      arrange events, cut windows, write reports: one thread
    WinSeq             lift, fold and lower, on that thread
    KeyFarm(n)         all of it in n shares, as soon as it is known where events belong; the busiest has
                       the hottest key
    WinFarm(n)         each worker folds all events of its windows: overlapping ones are folded n times over
    … agnostic         runs of neighbouring windows; each repeats the events of one window at its beginning
    PaneFarm(p, w)     cut panes, fold each event once, fold windows from panes
    WinMapReduce(m, r) deal events out, fold m partitions, combine m partials of each window

An event is combined twice where windows overlap (two stacks) and once where they do not. What is
interpreted holds the interpreter, so that its share is 1 whatever the number of threads, until a trial
shows that it takes long enough for processes of its own (`plans/interpreted_trial.py`). Functions over
whole windows work in such processes, which must be started. WinFarm(PaneFarm) costs what `shared_panes.py`
makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sash.operators.patterns.agnostic import TURNS
from sash.operators.patterns.declared import (
    Inner,
    KeyFarm,
    PaneFarm,
    Pattern,
    WinFarm,
    WinMapReduce,
    WinSeq,
    busy_workers,
)
from sash.operators.patterns.shared_panes import with_shared_panes
from sash.planner.costs.constants import ProcessCosts
from sash.planner.costs.step import CostStep, total
from sash.planner.facts import Facts, WindowFacts

INTERPRETED = ", interpreted"
"""The end of the name of a step that Python computes."""


@dataclass(frozen=True)
class Load:
    """What reaches the workers of a pattern, all together."""

    events: float
    windows: float
    panes: float
    overlapping: bool
    share: float = 1.0
    """Of the busiest worker."""
    workers: int = 1
    apart: bool = False
    """Whether columns do not follow each other through the same memory: workers have their own, and steps
    that wait for each other keep all aggregates at a time."""


def process_steps(
    pattern: Pattern, facts: Facts, costs: ProcessCosts, *, early: int | None = None
) -> list[CostStep]:
    """The steps of a query under this pattern; `early` threads fold panes before anything is arranged,
    where that pays, and what follows is about panes."""
    if early is None or facts.early is None:
        return list(_ProcessEstimate(facts, costs).steps(pattern))
    left = replace(facts, events=replace(facts.events, rows=int(facts.early)))
    return [_folded_early(facts, costs, early), *_ProcessEstimate(left, costs).steps(pattern)]


def _folded_early(facts: Facts, costs: ProcessCosts, threads: int) -> CostStep:
    fields = sum(monoid.fields for monoid in facts.algebra)
    folds = fields * (costs.lift + costs.combine) + len(facts.algebra) * costs.combine
    return CostStep("fold panes as events stand", facts.events.rows * (costs.place + folds), 1 / threads)


def interpreted_seconds(pattern: Pattern, facts: Facts, costs: ProcessCosts) -> float:
    """How long Python computes, of all that a query takes."""
    return total(step for step in process_steps(pattern, facts, costs) if step.what.endswith(INTERPRETED))


@dataclass(frozen=True)
class _ProcessEstimate:
    facts: Facts
    costs: ProcessCosts

    def steps(self, pattern: Pattern) -> Iterator[CostStep]:
        rows, share = float(self.facts.events.rows), 1.0
        if isinstance(pattern, KeyFarm) and isinstance(pattern.held, WinSeq) and not self.facts.whole:
            share = self._key_share(pattern.degree)
        # Half of it finds out where events belong, on one thread; the other half moves them.
        yield CostStep("arrange events", rows * self.costs.arrange, (1 + share) / 2)
        for cut in self.facts.cuts:
            found = cut.windows * self.costs.cut
            defined = (
                0.0 if cut.on_columns else rows * self.costs.definition
            )  # by Python, which takes turns
            yield CostStep("cut windows", found * share + defined)
            yield from self._whole(pattern, cut) if self.facts.whole else self._folded(pattern, cut)
            yield CostStep("write reports", cut.windows * self.costs.report, share)

    def _folded(self, pattern: Pattern, cut: WindowFacts) -> Iterator[CostStep]:
        rows = float(self.facts.events.rows)
        # Where windows begin anywhere, each event is a pane.
        load = Load(rows, cut.windows, rows if cut.panes is None else cut.panes, cut.overlapping)
        pattern = with_shared_panes(pattern)
        if self.facts.processes and busy_workers(pattern) > 1:
            yield from self._sent(pattern, load)
        match pattern:
            case KeyFarm():
                mine = replace(self._shared(load, pattern.degree), share=self._key_share(pattern.degree))
                yield from self._inner(pattern.held, mine)
            case WinFarm(model="agnostic"):
                yield from self._handed_out(load, cut, pattern.degree)
            case WinFarm():
                yield from self._dealt_windows(load, cut, pattern)
            case _:
                yield from self._inner(pattern, load)

    def _sent(self, pattern: Pattern, load: Load) -> Iterator[CostStep]:
        """What only worker processes cost."""
        held = pattern.held if isinstance(pattern, KeyFarm | WinFarm) else pattern
        elements = load.windows
        if isinstance(held, PaneFarm):
            elements += load.panes
        elif isinstance(held, WinMapReduce):
            elements += load.windows * held.map
        yield CostStep("start processes", self.costs.start)
        yield CostStep("write events to shared memory", load.events * self.facts.columns * self.costs.copy)
        yield CostStep("take elements and values back", elements * self.costs.handing)

    def _inner(self, pattern: Inner, load: Load) -> Iterator[CostStep]:
        match pattern:
            case WinSeq():
                if load.workers > 1:
                    yield self._hand_out(load.workers)
                yield from self._fold("fold events", load.events, load.windows, load, lift=True)
                yield from self._lower(load.windows, load)
            case PaneFarm():
                yield self._hand_out(load.workers * _jobs(pattern.plq, pattern.wlq))
                # Panes are cut before the workers of a farm begin, one share after the other.
                found = load.events * self.costs.position + (load.panes + load.windows) * self.costs.pane
                yield CostStep("cut panes", found)
                load = replace(load, apart=True)
                once = replace(self._shared(load, pattern.plq), overlapping=False)
                yield from self._fold("fold panes", load.events, load.panes, once, lift=True)
                after = self._shared(load, pattern.wlq)
                yield from self._fold("fold windows", load.panes, load.windows, after)
                yield from self._lower(load.windows, after)
            case WinMapReduce():
                yield self._hand_out(load.workers * _jobs(pattern.map, pattern.reduce))
                load = replace(load, apart=True)
                mapped = self._shared(load, pattern.map)
                dealt = load.events * self.facts.columns * self.costs.copy
                yield CostStep("deal events", dealt, mapped.share)
                partials = load.windows * pattern.map
                yield from self._fold("fold partitions", load.events, partials, mapped, lift=True)
                reduced = replace(self._shared(load, pattern.reduce), overlapping=False)
                yield from self._fold("combine partials", partials, load.windows, reduced)
                yield from self._lower(load.windows, reduced)

    def _handed_out(self, load: Load, cut: WindowFacts, workers: int) -> Iterator[CostStep]:
        batches = min(TURNS * workers, max(1.0, cut.windows))
        inside = cut.overlap * load.events / max(1.0, cut.windows)
        shared = self._shared(load, workers)
        yield self._hand_out(batches)
        repeated = load.events + batches * inside if cut.overlapping else load.events
        yield from self._fold("fold events", repeated, load.windows, shared, lift=True)
        yield from self._lower(load.windows, shared)

    def _dealt_windows(self, load: Load, cut: WindowFacts, farm: WinFarm) -> Iterator[CostStep]:
        workers = farm.degree
        part = min(1.0, max(cut.overlap, 1.0) / workers)
        if part < 1:
            # One private buffer after the other, before the workers begin.
            buffers = load.events * (1 + part * self.facts.columns) * self.costs.copy
            yield CostStep("fill private buffers", workers * buffers)
        mine = replace(
            self._shared(load, workers),
            events=load.events * part * workers,
            overlapping=cut.overlap > workers,
        )
        yield from self._inner(farm.held, mine)

    def _whole(self, pattern: Pattern, cut: WindowFacts) -> Iterator[CostStep]:
        each = self.costs.function if self.facts.function is None else self.facts.function * 1e9
        if isinstance(pattern, WinSeq):
            yield CostStep("compute windows", cut.windows * each)
            return
        share = self._key_share(pattern.workers) if isinstance(pattern, KeyFarm) else 1 / pattern.workers
        sent = float(self.facts.events.rows)
        if isinstance(pattern, WinFarm) and pattern.model == "active":
            sent *= min(pattern.degree, max(1.0, cut.overlap))
        yield CostStep("start processes", self.costs.start)
        yield CostStep("write events to shared memory", sent * self.facts.columns * self.costs.copy)
        yield CostStep("compute windows", cut.windows * each, share)
        yield CostStep("take results back", cut.windows * self.costs.handing)

    def _hand_out(self, jobs: float) -> CostStep:
        """What is left of a job when there is nothing to fold; it holds the interpreter."""
        each = self.costs.job + len(self.facts.algebra) * self.costs.call
        return CostStep("hand out", jobs * each)

    def _key_share(self, workers: int) -> float:
        """Of the busiest worker, that has the hottest key or one key more than others."""
        keys = max(1, self.facts.events.keys)
        return min(1.0, max(1 / workers, self.facts.events.hottest, -(-keys // workers) / keys))

    def _shared(self, load: Load, workers: int) -> Load:
        several = load.workers * workers
        return replace(load, share=load.share / workers, workers=several, apart=load.apart or several > 1)

    def _fold(
        self, what: str, elements: float, ranges: float, load: Load, *, lift: bool = False
    ) -> Iterator[CostStep]:
        """Lift if `lift`, and fold elements into ranges."""
        combines = elements * (2 if load.overlapping else 1)
        compiled = interpreted = 0.0
        for monoid in self.facts.algebra:
            if monoid.compiled:
                step = self.costs.combine * (1 + monoid.fields)
                lifted = elements * monoid.fields * self.costs.lift if lift else 0.0
                compiled += lifted + combines * step + ranges * self.costs.range
            else:
                calls = combines + ranges + (elements if lift else 0.0)
                interpreted += calls * self.costs.interpreted
        yield from self._both(what, compiled, interpreted, load)

    def _lower(self, windows: float, load: Load) -> Iterator[CostStep]:
        fields = sum(monoid.fields for monoid in self.facts.algebra if monoid.compiled)
        calls = sum(not monoid.compiled for monoid in self.facts.algebra)
        compiled = windows * fields * self.costs.lower
        yield from self._both("lower", compiled, windows * calls * self.costs.interpreted, load)

    def _both(self, what: str, compiled: float, interpreted: float, load: Load) -> Iterator[CostStep]:
        if compiled:
            apart = self.costs.apart if load.apart else 1.0
            yield CostStep(what, compiled * apart, load.share)
        if interpreted:
            yield CostStep(f"{what}{INTERPRETED}", interpreted, load.share if self.facts.processes else 1.0)


def _jobs(first: int, second: int) -> int:
    """Of two stages in a row; one worker and one worker are the same job (see `patterns.stages`)."""
    return 1 if first == second == 1 else first + second
