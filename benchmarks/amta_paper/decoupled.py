"""Experiments 1, 2 and 5 of the paper over key-value stores, timed, with its monoid and its slide policy.

    1   an update of a full window: insert, enforce the policy, read the total
    2   the policy evicts k of a full window at once, from 1 to all but one, with the update that makes the
        window smaller
    5   elements of 1 to 50 dimensions in a window of 2¹⁵, beside as many windows of one dimension

All through the classes of `sash.aggregators`, from Python: in memory an update is a few calls of machine
code, over a store it is interpreted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.dimensions import wide_sum
from benchmarks.amta_paper.key_value import COMMIT_EVERY, Places, Window, places
from benchmarks.amta_paper.measuring import ROUNDS, ProgressPrinter, readings, require_same
from benchmarks.paper_table import PaperTable
from sash.aggregators import AMTA


@dataclass(frozen=True)
class DecoupledSizes:
    local: tuple[int, ...]
    """Exponents of windows in memory."""
    stored: tuple[int, ...]
    naive: int
    bulk: int
    """Exponent of the window that much is evicted from."""
    naive_bulk: int
    updates: int
    dimensions: tuple[int, ...]
    wide: int

    def bulk_at(self, kind: str) -> int:
        return self.naive_bulk if kind == "Naive" else self.bulk


FULL = DecoupledSizes(
    local=(0, 5, 10, 15, 18, 20, 22, 25), stored=(0, 5, 10, 15, 18, 20, 22, 25), naive=18, bulk=23,
    naive_bulk=20, updates=10_000, dimensions=(1, 10, 20, 30, 40, 50), wide=15,
)  # fmt: skip
QUICK = DecoupledSizes(
    local=(4,), stored=(4,), naive=4, bulk=6, naive_bulk=5, updates=50, dimensions=(1, 2), wide=5
)  # fmt: skip
KINDS = ("AMTA", "LogMTA", "DABA", "Naive")
STYLES = {
    "AMTA": "AMTA", "AMTA, LMDB": "two stacks", "AMTA, Redis": "FiBA", "LogMTA": "Log MTA",
    "LogMTA, LMDB": "other", "LogMTA, Redis": "another", "DABA": "DABA lite",
    "Naive": "recalculate",
}  # fmt: skip
"""What is measured, and how it looks."""


def update_seconds(kind: str, place: str, stores: Places, exponent: int, updates: int) -> float:
    size = 1 << exponent
    window = Window(kind, stores[place]())
    window.fill(size, size)
    require_same(f"{kind}, {place}", window.update(size), (size, size))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(updates // ROUNDS):
            window.update(size)
        best = min(best, (time.perf_counter() - begin) / (updates // ROUNDS))
    return best


def evicted_at_once(exponent: int) -> list[int]:
    """
    >>> evicted_at_once(23)
    [1, 7, 63, 511, 4095, 32767, 262143, 1048575, 2097151, 4194303, 8388607]
    """
    steps = {*range(3, exponent, 3), *range(max(exponent - 3, 1), exponent + 1), 1}
    return sorted((1 << step) - 1 for step in steps)


def bulk_seconds(kind: str, place: str, stores: Places, exponent: int) -> Series:
    """Experiment 2: microseconds of the update that evicts k; the window is filled up before each."""
    size = 1 << exponent
    window, series = Window(kind, stores[place]()), _series(kind, place)
    window.fill(size, size)
    # The first one loads machine code.
    window.update(size)
    for evicted in evicted_at_once(exponent):
        window.fill(size - len(window.held), size)
        window.held.query()
        begin = time.perf_counter()
        # One more comes in, and so k leave.
        window.update(size + 1 - evicted)
        series.add(evicted, 1e6 * (time.perf_counter() - begin))
        require_same(f"{series.label}, {evicted} evicted", len(window.held), size + 1 - evicted)
    return series


def wide_seconds(fields: int, place: str, stores: Places, exponent: int, updates: int) -> float:
    size, store = 1 << exponent, stores[place]()
    window = AMTA(wide_sum(fields), kinds=("int",) * fields, **({} if store is None else {"store": store}))
    for at in range(0, size, 8 * COMMIT_EVERY):
        part = np.ones(min(8 * COMMIT_EVERY, size - at), np.int64)
        window.insert_many(*[part] * fields)
        if store is not None:
            store.commit(store.epoch + 1)
    begin = time.perf_counter()
    for at, value in enumerate(readings(updates).tolist(), start=1):
        window.insert(1, *[value] * (fields - 1))
        window.evict_by_policy(lambda total, old: total[0] - old[0] >= size)
        window.query()
        if store is not None and at % COMMIT_EVERY == 0:
            store.commit(store.epoch + 1)
    return (time.perf_counter() - begin) / updates


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    sizes = QUICK if quick else FULL
    with places() as stores:
        updates = []
        for kind in KINDS:
            for place in [each for each in stores if _label(kind, each) in STYLES]:
                series = _series(kind, place)
                for exponent in sizes.local if place == "memory" else sizes.stored:
                    if kind == "Naive" and exponent > sizes.naive:
                        continue
                    progress.step(f"updates of {series.label}, window 2^{exponent}")
                    seconds = update_seconds(kind, place, stores, exponent, sizes.updates)
                    series.add(1 << exponent, 1e9 * seconds)
                updates.append(series)
        bulk = []
        for label in STYLES:
            kind, _, store = label.partition(", ")
            if (place := store or "memory") in stores:
                progress.step(f"bulk evictions of {kind} over {place}")
                bulk.append(bulk_seconds(kind, place, stores, sizes.bulk_at(kind)))
        wide = []
        # In memory it is compiled, and elements of 50 numbers compile for minutes: see `dimensions`.
        for place in [each for each in stores if each != "memory"]:
            series = _series("AMTA", place)
            for fields in sizes.dimensions:
                progress.step(f"{fields} dimensions over {place}")
                seconds = wide_seconds(fields, place, stores, sizes.wide, sizes.updates)
                series.add(fields, 1e9 * seconds)
            wide.append(series)
    window = "window size [elements]"
    panels = [
        Panel("experiment 1", window, "nanoseconds per update", updates),
        Panel("experiment 2", "k [evicted]", "microseconds", bulk),
        Panel(
            "experiment 5", "dimensions", "nanoseconds per update", [*wide, *map(_apart, wide)],
            powers_of_two=False, logarithmic=False,
        ),
    ]  # fmt: skip
    return Chart(
        "6-decoupled", "Windows in memory and in key-value stores, from Python", panels,
        {
            "updates": sizes.updates, "committed every": COMMIT_EVERY,
            "windows of experiment 2, exponents": {kind: sizes.bulk_at(kind) for kind in KINDS},
        },
        _table(updates, bulk, wide, sizes),
    )  # fmt: skip


def _apart(series: Series) -> Series:
    """As many windows of one dimension."""
    times = [x / series.xs[0] * series.ys[0] for x in series.xs]
    return Series(f"{series.label}, apart", series.xs, times, dashed=True, style=series.style)


def _series(kind: str, place: str) -> Series:
    return Series(_label(kind, place), style=STYLES[_label(kind, place)])


def _label(kind: str, place: str) -> str:
    return kind if place == "memory" else f"{kind}, {place}"


def _table(
    updates: list[Series], bulk: list[Series], wide: list[Series], sizes: DecoupledSizes
) -> PaperTable:
    table = PaperTable("amta-6", "key-value stores, experiments 1, 2 and 5")
    timed = (
        f"best of {ROUNDS} rounds of {sizes.updates // ROUNDS:,} updates, not the mean of a window of them"
    )
    last = {series.label: (series.xs[-1], series.ys[-1]) for series in updates}
    local = dict(zip(updates[0].xs, updates[0].ys, strict=True))
    table.add(
        f"1: update of 2^{sizes.local[-1]} in memory, AMTA; DABA; Log MTA, µs",
        paper="about 4; about 4.3; 10 to 12 (table 2, 2²⁰)",
        here="; ".join(f"{last[kind][1] / 1e3:.1f}" for kind in ("AMTA", "DABA", "LogMTA")),
        why="Python around the kernels: AMTA and Log MTA ask the policy 3.5 times in a descent, DABA tries "
        "its head, twice; the log n combines of Log MTA are one call of machine code, hardly longer in a "
        f"longer window; {timed}",
    )  # fmt: skip
    naive = dict(zip(updates[-1].xs, updates[-1].ys, strict=True))
    table.add(
        f"1: update of 2^{sizes.naive} in memory, Naive against AMTA", paper="grows with the window",
        here=f"{naive[1 << sizes.naive] / local[1 << sizes.naive]:,.0f} ×",
        why="folded by machine code; larger windows, up to 2²⁵ in the paper, would take minutes",
    )  # fmt: skip
    for label in ("AMTA, LMDB", "AMTA, Redis", "LogMTA, LMDB", "LogMTA, Redis"):
        if label in last:
            kind, _, place = label.partition(", ")
            size, nanoseconds = last[label]
            [memory] = [dict(zip(each.xs, each.ys, strict=True)) for each in updates if each.label == kind]
            table.add(
                f"1: 2^{sizes.stored[-1]} over {place} against memory, {kind}", paper="some 1 µs more",
                here=f"{(nanoseconds - memory[size]) / 1e3:+.0f} µs ({nanoseconds / memory[size]:.1f} ×)",
                why="interpreted, waits for commits; the paper writes in the background, to other machines",
            )  # fmt: skip
    for series in bulk:
        kind = series.label.partition(", ")[0]
        paper = {
            "AMTA": "0.455 ms", "LogMTA": "0.258 ms", "AMTA, LMDB": "5 ms", "AMTA, Redis": "5 ms",
            "LogMTA, LMDB": "5 ms", "LogMTA, Redis": "5 ms",
            "DABA": "linear; more than 2 s from 2²⁰ on", "Naive": "always some 2 s",
        }[series.label]  # fmt: skip
        table.add(
            f"2: worst bulk eviction from 2^{sizes.bulk_at(kind)}, {series.label}",
            paper=f"{paper}, of 2²³",
            here=f"{max(series.ys) / 1e3:.2f} ms; of {series.xs[-1]:,}, {series.ys[-1] / 1e3:.2f} ms",
            why="each number of elements is evicted once; the paper has means"
            + "; dead pages are deleted afterwards, as in the paper" * ("," in series.label)
            + "; a larger window takes minutes to fold" * (kind == "Naive"),
        )  # fmt: skip
    for series in wide:
        slope, base = np.polyfit(series.xs, series.ys, 1)
        table.add(
            f"5: a dimension more, and what all share, {series.label}", paper="411 ns, 4,158 ns (store)",
            here=f"{slope:,.0f} ns, {base:,.0f} ns",
            why=f"interpreted; a line through {min(series.xs)} to {max(series.xs)} dimensions",
        )  # fmt: skip
    return table
