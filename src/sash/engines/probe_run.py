"""One experiment: what is fed to an engine, and what it shows.

    ProbeRun   windows of one kind over timed arrivals      Seen   the contents that were reported, in order

A run is the input of `sash.semantics.secret.simulate`, so that the model can simulate it.
In the model the last event of an input only closes what lies before it. A live engine may show that event
too, at once; `Seen.in_model` sets such reports aside.

>>> from sash.semantics.secret import profile
>>> run = ProbeRun(times=(30, 31, 36), size=5, slide=5)
>>> run.simulated(profile("flink"))
((0, 1),)
>>> print(run)
time windows ω=5 β=5, times 30 31 36
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Literal, Protocol, runtime_checkable

from sash.semantics.secret import Axis, Profile, trace

EventNumbers = tuple[int, ...]
Windowing = Literal["time", "count", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """Events in the order of their arrival, and the windows to cut them into.

    Times are whole seconds. A session's `size` is its gap. Events with one batch number arrive together.
    `delay` is how far behind the newest event the watermark stays, `lateness` how long a window that was
    reported still takes events. Without `keys` all events have one.
    """

    times: tuple[int, ...]
    size: int
    slide: int = 1
    kind: Windowing = "time"
    batches: tuple[int, ...] | None = None
    delay: int = 0
    keys: tuple[str, ...] | None = None
    lateness: int = 0

    def __str__(self) -> str:
        windows = f"gap={self.size}" if self.kind == "session" else f"ω={self.size} β={self.slide}"
        parts = [f"{self.kind} windows {windows}", f"times {' '.join(map(str, self.times))}"]
        if self.batches is not None:
            parts.append(f"batches {' '.join(map(str, self.batches))}")
        if self.keys is not None:
            parts.append(f"keys {' '.join(self.keys)}")
        parts += [f"delay {self.delay}"] if self.delay else []
        return ", ".join([*parts, f"lateness {self.lateness}"] if self.lateness else parts)

    def simulated(self, model: Profile) -> tuple[EventNumbers, ...]:
        """What an engine with these parameters shows."""
        kind: Literal["time", "count"] = "count" if self.kind == "count" else "time"
        reports = trace(model, self.times, self.size, self.slide, kind=kind, batches=self.batches)
        return tuple(tuple(report.content) for report in reports)

    def key(self, index: int) -> str:
        """The key of an event."""
        return self.keys[index] if self.keys is not None else "key"

    def groups(self) -> list[list[int]]:
        """The indexes of the events that arrive together.

        >>> ProbeRun(times=(1, 2, 2), size=1, batches=(0, 1, 1)).groups()
        [[0], [1, 2]]
        """
        numbers = self.batches or tuple(range(len(self.times)))
        grouped: dict[int, list[int]] = {}
        for index, number in enumerate(numbers):
            grouped.setdefault(number, []).append(index)
        return list(grouped.values())

    def watermarks(self) -> list[int]:
        """After each group of events.

        >>> ProbeRun(times=(30, 27, 34), size=1, delay=3).watermarks()
        [27, 27, 31]
        """
        newest = (max(self.times[index] for index in group) for group in self.groups())
        return [time - self.delay for time in accumulate(newest, max)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an engine showed: contents as event indexes, in the order of the reports.

    `flushed` came only because the input ended; `late` is what the engine handed to a late output. An
    engine that does not take such windows has its message in `refused`, a driver that cannot feed such
    events in `unmeasured`.
    """

    reports: tuple[EventNumbers, ...] = ()
    flushed: tuple[EventNumbers, ...] = ()
    late: EventNumbers = ()
    refused: str = ""
    unmeasured: str = ""

    @property
    def answered(self) -> bool:
        return not (self.refused or self.unmeasured)

    def in_model(self, run: ProbeRun) -> tuple[EventNumbers, ...]:
        """The reports that are in the model: those without the last event.

        >>> Seen(reports=((0,), (0, 1))).in_model(ProbeRun(times=(5, 6), size=1, kind="count"))
        ((0,),)
        """
        last = len(run.times) - 1
        return tuple(content for content in self.reports if last not in content)


class Engine(Protocol):
    """An engine that can be driven. `kinds` are the windows that it has."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def kinds(self) -> frozenset[str]: ...

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        """Each run on its own, from a fresh start; several at once where that saves start-up time."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class HasClockWindows(Protocol):
    """An engine that may have windows over the time of processing."""

    def window_starts(self) -> list[int]:
        """The starts, in milliseconds since 1970, of windows of 1 s over the time of processing, when three
        events pass; none if the engine has no such windows."""
        ...


def written(contents: Iterable[EventNumbers]) -> str:
    """Contents as the papers write them: t1, t2, … from 1, ∅ for an empty one.

    >>> written([(0, 1), (), (2, 3, 4)])
    't1t2 ∅ t3t4t5'
    """
    words = ["".join(f"t{index + 1}" for index in content) or "∅" for content in contents]
    return " ".join(words) or "nothing"


def random_run(source: Random, kind: Axis) -> ProbeRun:
    """A run with ties, jumps, any ratio of size and slide, and times on both sides of 0."""
    size, slide, count = source.randint(1, 8), source.randint(1, 8), source.randint(2, 12)
    times = [source.randint(-12, 40)]
    while len(times) < count:
        times.append(times[-1] + source.choice((0, 0, 1, 1, 1, 2, 3, source.randint(4, 20))))
    batches = _same_time_batches(source, times) if source.random() < 0.3 else None
    return ProbeRun(times=tuple(times), size=size, slide=slide, kind=kind.value, batches=batches)


def _same_time_batches(source: Random, times: Sequence[int]) -> tuple[int, ...]:
    # The model's batches hold events of one time only, as Coral8's do.
    batches = [0]
    for before, time in pairwise(times):
        batches.append(batches[-1] + (time > before or source.random() < 0.5))
    return tuple(batches)
