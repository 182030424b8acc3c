"""The stages of a pattern, before and after fusion: what `explain()` shows.

    level 0    every emitter, worker and collector on its own
    level 1    neighbours that are not parallel are one stage: collector and emitter, emitter and emitter,
               and two workers in a row where each has only the other to exchange with
    level 2    what stands between two parallel stages goes into them: their workers exchange directly

These are the levels of transformation of WindFlow (Mencagli et al., IEEE Access 2019), chosen with
`optimize=` on a pattern.
At levels 1 and 2 a pattern has one emitter, which cuts shares, and one collector, which puts values in
order: the caller is both.

>>> from sash.operators.patterns.declared import PaneFarm, WinFarm
>>> for level in (0, 1, 2):
...     print(drawn(fused(graph(PaneFarm(2, 3)), level=level)))
emitter → 2 pane workers → collector → emitter → 3 window workers → collector
emitter → 2 pane workers → collector + emitter → 3 window workers → collector
emitter → 2 pane workers → 3 window workers → collector
>>> drawn(fused(graph(WinFarm(PaneFarm(2, 3), replicas=2)), level=2))
'emitter → 4 pane workers → 6 window workers → collector'
>>> drawn(fused(graph(PaneFarm(1, 1)), level=1))
'emitter → pane + window worker → collector'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sash.operators.patterns.declared import Farm, Inner, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.operators.patterns.shared_panes import with_shared_panes

Role = Literal["emitter", "worker", "collector", "exchange"]


@dataclass(frozen=True)
class PatternStage:
    """So many equal stages side by side."""

    role: Role
    name: str
    degree: int = 1

    def __str__(self) -> str:
        return self.name if self.degree == 1 else f"{self.degree} {self.name}s"


Graph = tuple[PatternStage, ...]

EMITTER, COLLECTOR = PatternStage("emitter", "emitter"), PatternStage("collector", "collector")
OWNER = PatternStage("emitter", "owner of the buffer")


def graph(pattern: Pattern) -> Graph:
    """The stages of a pattern as it is declared, but for panes that replicas share: level 0."""
    pattern = with_shared_panes(pattern)
    if not isinstance(pattern, Farm):
        return _inner(pattern)
    first = OWNER if isinstance(pattern, WinFarm) and pattern.model == "agnostic" else EMITTER
    copies = (replace(stage, degree=stage.degree * pattern.degree) for stage in _inner(pattern.held))
    return (first, *copies, COLLECTOR)


def _inner(pattern: Inner) -> Graph:
    match pattern:
        case WinSeq():
            return (PatternStage("worker", "window worker"),)
        case PaneFarm():
            return (*_farm("pane worker", pattern.plq), *_farm("window worker", pattern.wlq))
        case WinMapReduce():
            return (*_farm("map worker", pattern.map), *_farm("reduce worker", pattern.reduce))


def _farm(name: str, degree: int) -> Graph:
    return (EMITTER, PatternStage("worker", name, degree), COLLECTOR)


def fused(stages: Graph, *, level: int) -> Graph:
    """The same computation with fewer stages."""
    if level >= 1:
        stages = _lone_workers_fused(_neighbours_fused(stages))
    if level >= 2:
        stages = _exchanges_dissolved(stages)
    return stages


def _neighbours_fused(stages: Graph) -> Graph:
    """Runs of stages that only pass things on become one: nothing is gained by a thread for each."""
    kept: list[PatternStage] = []
    for stage in stages:
        if kept and "worker" not in (kept[-1].role, stage.role):
            kept[-1] = _one(kept[-1], stage)
        else:
            kept.append(stage)
    return tuple(kept)


def _one(before: PatternStage, after: PatternStage) -> PatternStage:
    if before.role == after.role:
        return min(before, after, key=lambda stage: stage.degree)
    return PatternStage("exchange", f"{before.name} + {after.name}", max(before.degree, after.degree))


def _lone_workers_fused(stages: Graph) -> Graph:
    """A worker whose results go to one other, which has no other source, is one with it."""
    for at, (before, between, after) in enumerate(zip(stages, stages[1:], stages[2:], strict=False)):
        roles = (before.role, between.role, after.role)
        if roles == ("worker", "exchange", "worker") and before.degree == between.degree == after.degree:
            name = f"{before.name.removesuffix(' worker')} + {after.name}"
            return (*stages[:at], PatternStage("worker", name, after.degree), *stages[at + 3 :])
    return stages


def _exchanges_dissolved(stages: Graph) -> Graph:
    """Between two parallel stages nobody is needed: each worker takes what it needs from those before."""
    return tuple(stage for stage in stages if stage.role != "exchange")


def drawn(stages: Graph) -> str:
    return " → ".join(map(str, stages))


def levels_of(pattern: Pattern) -> list[str]:
    """The stages at each level, drawn and counted; what runs is that of `level_of`."""
    graphs = [fused(graph(pattern), level=level) for level in (0, 1, 2)]
    return [f"{drawn(stages)}  ({sum(stage.degree for stage in stages)} in all)" for stages in graphs]
