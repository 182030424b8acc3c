"""Parallel patterns, as declared: frozen, validated, small enough to print.

    WinSeq()                        one worker
    KeyFarm(n)                      n workers, each owns a share of the keys
    WinFarm(n)                      n workers; window w of key k goes to worker (h(k) mod n + w) mod n
    PaneFarm(plq, wlq)              plq workers fold panes, wlq workers fold windows from panes
    WinMapReduce(map, reduce)       map workers fold a partition of each window, reduce workers combine

A farm may hold another pattern: `KeyFarm(PaneFarm(2, 3), replicas=2)` is two pane farms, each with its
keys. In one process a window farm of pane farms folds each pane once, for all of them: `shared_panes.py`.
The patterns are those of WindFlow (Mencagli, Torquati, Griebler, Danelutto, Fernandes, 'Raising the
Parallel Abstraction Level for Streaming Analytics Applications', IEEE Access 2019); the two
worker models are from Mencagli, Torquati, Lucattini, Cuomo, Aldinucci, 'Harnessing Sliding-Window Execution
Semantics for Parallel Stream Processing', JPDC 2018. `optimize=0`, `1` or `2` is how far stages that only
pass things on are fused, as in the first of them; it is the planner's choice when it is not given.

A new pattern is declared here, and needs a place in each of these:

    which queries it may compute       `allowed.py`
    how it runs in process             `evaluate.py`; `stages.py` draws it
    how it runs on Spark               `runtimes/spark/patterns/static_plan.py`, `stream_plan.py`
    when it is the cheapest            `planner/plans/candidates.py`, `degrees.py`; `planner/costs/`: one
                                       module for each runtime
    what `explain()` shows of it       `planner/plans/choice_reason.py`; `planner/explain/algorithm.py`,
                                       `state_size.py`
    its name in pipeline files         `pipeline/aggregates_and_patterns.py`
    its public name                    `sash/__init__.py`

>>> WinFarm(PaneFarm(plq=2, wlq=3), replicas=2).workers
10
>>> print(KeyFarm(4))
KeyFarm(4)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sash.errors import ArgumentError, Unsupported

Model = Literal["active", "agnostic"]
"""active: windows are dealt out ahead and workers keep private buffers of the events that they need.
agnostic: one owner keeps the buffer and hands complete windows to whichever worker is free."""

FusionLevel = Literal[0, 1, 2]
"""How far stages that only pass things on are fused: see `stages`."""
FUSED: FusionLevel = 2
"""The planner's choice: each level does the work of the one before with fewer stages."""


@dataclass(frozen=True)
class WinSeq:
    """One worker computes all windows."""

    @property
    def workers(self) -> int:
        return 1

    def __str__(self) -> str:
        return "WinSeq()"


@dataclass(frozen=True)
class PaneFarm:
    """Windows in two steps: panes of gcd(W, S) are folded once, windows are folded from panes."""

    plq: int
    """Workers of the pane-level query."""
    wlq: int
    """Workers of the window-level query."""
    optimize: FusionLevel | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_degree("plq", self.plq)
        require_degree("wlq", self.wlq)
        _require_level(self.optimize)

    @property
    def workers(self) -> int:
        return self.plq + self.wlq

    def __str__(self) -> str:
        return f"PaneFarm(plq={self.plq}, wlq={self.wlq}{_level(self.optimize)})"


@dataclass(frozen=True)
class WinMapReduce:
    """Parallel inside each window: events go round-robin to partitions, partial folds are combined."""

    map: int
    reduce: int
    optimize: FusionLevel | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_degree("map", self.map)
        require_degree("reduce", self.reduce)
        _require_level(self.optimize)

    @property
    def workers(self) -> int:
        return self.map + self.reduce

    def __str__(self) -> str:
        return f"WinMapReduce(map={self.map}, reduce={self.reduce}{_level(self.optimize)})"


Inner: TypeAlias = WinSeq | PaneFarm | WinMapReduce
"""What a farm may hold."""


@dataclass(frozen=True)
class Farm:
    """Copies of a pattern, each with a share of the work. `Farm(n)` is `Farm(WinSeq(), replicas=n)`."""

    inner: Inner | int
    replicas: int | None = field(default=None, kw_only=True)
    optimize: FusionLevel | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        name, inner = type(self).__name__, self.inner
        if isinstance(inner, int):
            if self.replicas is not None:
                raise ArgumentError(
                    "replicas", self.replicas, f"left out when {name} is given a number of workers"
                )
            require_degree(f"the number of workers of {name}", inner)
            object.__setattr__(self, "replicas", inner)
            object.__setattr__(self, "inner", WinSeq())
        elif not isinstance(inner, Inner):
            raise ArgumentError(
                f"the inner pattern of {name}", inner,
                "a number of workers, WinSeq, PaneFarm or WinMapReduce",
            )  # fmt: skip
        elif self.replicas is None:
            raise ArgumentError("replicas", None, f"how many copies of {inner} this {name} should hold")
        require_degree("replicas", self.replicas)
        _require_level(self.optimize)
        inside = getattr(self.inner, "optimize", None)
        if None not in (inside, self.optimize) and inside != self.optimize:
            raise ArgumentError(
                "optimize", self.optimize, f"given once, or the {inside} of {self.inner}",
                hint="The stages of a farm are fused together with those of what it holds.",
            )  # fmt: skip

    @property
    def held(self) -> Inner:
        assert not isinstance(self.inner, int)  # settled when it was made
        return self.inner

    @property
    def degree(self) -> int:
        assert self.replicas is not None
        return self.replicas

    @property
    def workers(self) -> int:
        return self.degree * self.held.workers

    def __str__(self) -> str:
        alone = isinstance(self.inner, WinSeq)
        parts = [str(self.replicas)] if alone else [str(self.inner), f"replicas={self.replicas}"]
        return f"{type(self).__name__}({', '.join(parts + self._more())}{_level(self.optimize)})"

    def _more(self) -> list[str]:
        return []


@dataclass(frozen=True)
class KeyFarm(Farm):
    """Parallel between keys: `KeyFarm(4)`, or `KeyFarm(PaneFarm(2, 2), replicas=4)`."""


@dataclass(frozen=True)
class WinFarm(Farm):
    """Parallel between windows, also those of one key: `WinFarm(4)`, or around another pattern.

    `chunk` is how many events the buffer of agnostic workers takes at a time, 65,536 when it is not given:
    small ones are freed sooner, large ones cost less. Results do not depend on it. Spark has no such
    buffer."""

    model: Model = field(default="active", kw_only=True)
    chunk: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model not in ("active", "agnostic"):
            raise ArgumentError("model", self.model, "'active' or 'agnostic'")
        if self.model == "agnostic" and not isinstance(self.inner, WinSeq):
            raise Unsupported(
                "model", "agnostic", f"'active' around {self.inner}",
                hint="An agnostic worker is handed complete windows: there is nothing left to split.",
            )  # fmt: skip

        if self.chunk is not None:
            self._require_chunk()

    def _require_chunk(self) -> None:
        if isinstance(self.chunk, bool) or not isinstance(self.chunk, int) or self.chunk < 1:
            raise ArgumentError("chunk", self.chunk, "a positive number of events")
        if self.model != "agnostic":
            raise ArgumentError(
                "chunk", self.chunk, "left out unless model='agnostic'",
                hint="Active workers keep their own events; only agnostic ones share a buffer of chunks.",
            )  # fmt: skip

    def _more(self) -> list[str]:
        model = [] if self.model == "active" else [f"model={self.model!r}"]
        return model if self.chunk is None else [*model, f"chunk={self.chunk}"]


Pattern: TypeAlias = WinSeq | KeyFarm | WinFarm | PaneFarm | WinMapReduce


def level_of(pattern: Pattern) -> FusionLevel:
    """How far its stages are fused: by its own level, or that of what it holds, or as the planner chooses.

    >>> level_of(KeyFarm(PaneFarm(2, 2, optimize=0), replicas=3)), level_of(PaneFarm(2, 2))
    (0, 2)
    """
    given = [getattr(part, "optimize", None) for part in (pattern, getattr(pattern, "inner", None))]
    levels: list[FusionLevel] = [level for level in given if level is not None]
    return levels[0] if levels else FUSED


def busy_workers(pattern: Pattern) -> int:
    """How many workers may be busy at the same time; the second of two steps waits for the first.

    >>> inner = PaneFarm(2, 3)
    >>> busy_workers(KeyFarm(inner, replicas=2)), busy_workers(WinMapReduce(2, 1)), busy_workers(WinFarm(4))
    (6, 2, 4)
    """
    match pattern:
        case WinSeq():
            return 1
        case PaneFarm():
            return max(pattern.plq, pattern.wlq)
        case WinMapReduce():
            return max(pattern.map, pattern.reduce)
        case _:
            return pattern.degree * busy_workers(pattern.held)


def pane_workers(pattern: Pattern) -> int | None:
    """How many workers fold panes of events before these are arranged, where that pays; None where workers
    are handed the events of whole windows.

    >>> pane_workers(KeyFarm(4)), pane_workers(PaneFarm(2, 1)), pane_workers(WinFarm(4, model="agnostic"))
    (4, 2, None)
    """
    match pattern:
        case WinSeq():
            return 1
        case PaneFarm():
            return pattern.plq
        case WinMapReduce():
            return pattern.map
        case WinFarm(model="agnostic"):
            return None
        case _:
            return pattern.degree


def require_pattern(given: Any) -> Pattern | None:
    """What `.parallel` was given; None for "auto"."""
    if given == "auto":
        return None
    if isinstance(given, Pattern):
        return given
    expected = "'auto', a number of workers, or a pattern such as sash.KeyFarm(4)"
    raise ArgumentError("parallel", given, expected)


def require_degree(argument: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(argument, given, "a positive number of workers")


def _require_level(given: Any) -> None:
    if given is not None and (isinstance(given, bool) or given not in (0, 1, 2)):
        raise ArgumentError("optimize", given, "0, 1 or 2, or left out for the planner's choice")


def _level(given: FusionLevel | None) -> str:
    return "" if given is None else f", optimize={given}"


def window_workers(pattern: Pattern | None) -> int:
    """How many workers share the windows of one key.

    >>> window_workers(WinFarm(PaneFarm(2, 3), replicas=2)), window_workers(KeyFarm(4))
    (6, 1)
    """
    copies = pattern.degree if isinstance(pattern, WinFarm) else 1
    match pattern.held if isinstance(pattern, Farm) else pattern:
        case PaneFarm(wlq=workers) | WinMapReduce(reduce=workers):
            return copies * workers
        case _:
            return copies
