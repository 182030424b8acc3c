"""How the experiments measure: the best of a few runs for time, a counting `combine` for work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sash.aggregation import built_in
from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.compiler.numba_compilation import Kernel
from sash.aggregation.kernels.compiler.specialise import MonoidSource
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.monoid import Kind, Monoid

ROUNDS = 3
EVERY = 30.0
"""Seconds between two lines of progress where there is no terminal."""


def readings(n: int, *, seed: int = 1) -> NDArray[np.int64]:
    """n readings of a sensor, uniform in [0, 1000): 2³² of them still sum up within 64 bits."""
    return np.random.default_rng(seed).integers(0, 1000, n)


def plain_sum() -> Compiled:
    """Σ x of integers that cannot overflow here: one addition a combine, so that the algorithm is timed."""
    return compiled(built_in.sum("x").bind(("int",)).narrowed(magnitude=1000, events=1 << 32))


def for_columns(monoid: Monoid, inputs: Mapping[str, NDArray[np.int64]]) -> tuple[Compiled, Columns]:
    """A built-in aggregate as the library runs it on integers, and the elements of these events."""
    kinds: list[Kind] = ["int"] * len(monoid.columns)
    fast = compiled(monoid.bind(tuple(kinds)).narrowed(magnitude=1000, events=1 << 32))
    return fast, fast.columns(fast.lift([inputs[column] for column in monoid.columns]))


def own_kernel(template: Callable[..., Any], fast: Compiled) -> Kernel:
    """A kernel template of these benchmarks, specialised as the library does it with its own."""
    return numba_compilation.build(template, MonoidSource(fast.monoid, fast.shape))


def sweeps(*, quick: bool) -> range:
    """How often a whole experiment is timed. Each point keeps its best, for other programs disturb for
    seconds: longer than the rounds of one point, shorter than a sweep."""
    return range(1 if quick else 3)


def best_seconds(run: Callable[..., Any], *, fresh: Callable[[], tuple[Any, ...]] = tuple) -> float:
    """The shortest of a few runs, after one that compiles and touches the memory.

    `fresh` gives each run its arguments, outside the clock: for a run that uses up what it works on.
    """
    run(*fresh())
    best = float("inf")
    for _ in range(ROUNDS):
        arguments = fresh()
        begin = time.perf_counter()
        run(*arguments)
        best = min(best, time.perf_counter() - begin)
    return best


def sliding_nanoseconds(
    slide: Callable[[Columns, int, Columns], Any], columns: Columns, window: int, out: Columns
) -> float:
    """Nanoseconds of an event that slides a full window, for a kernel over all of `columns`.

    (time of W + N events − time of W events) / N             N ≥ 2·W: whole cycles of two stacks
    """

    def seconds(count: int) -> float:
        part, results = tuple(c[:count] for c in columns), tuple(c[:count] for c in out)
        return best_seconds(lambda: slide(part, window, results))

    events = len(columns[0]) - window
    return max(seconds(window + events) - seconds(window), 0.0) / events * 1e9


def require_same(what: str, given: Any, expected: Any) -> None:
    """A fast wrong answer is no measurement: stop."""
    if given != expected:
        raise RuntimeError(f"{what} answered {given}, and {expected} is right")


@dataclass
class Tally:
    """How often the combine of a `counting` monoid was called."""

    combines: int = 0

    def of(self, operation: Callable[[], Any]) -> int:
        before = self.combines
        operation()
        return self.combines - before


def counting(monoid: Monoid) -> tuple[Monoid, Tally]:
    """The same monoid, and a tally of its combines."""
    tally = Tally()

    def combine(older: Any, newer: Any) -> Any:
        tally.combines += 1
        return monoid.combine(older, newer)

    return replace(monoid, combine=combine), tally


class ProgressPrinter:
    """One line that is overwritten, on a terminal; elsewhere a line for each experiment, and one for the
    present step every half a minute."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._printed = time.monotonic()

    def begin(self, title: str) -> None:
        self._printed = time.monotonic()
        print(title, file=sys.stderr, flush=True)

    def step(self, what: str) -> None:
        if self._terminal:
            print(f"\r\x1b[K  {what} …", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._printed > EVERY:
            self._printed = time.monotonic()
            print(f"  {what} …", file=sys.stderr, flush=True)

    def end(self, seconds: float) -> None:
        erase = "\r\x1b[K" if self._terminal else ""
        print(f"{erase}  {seconds:.1f} s", file=sys.stderr, flush=True)
