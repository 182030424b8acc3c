"""Figures of the experiments: by contender, by number of instances, and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks import png
from benchmarks.stretch.counting import Run
from benchmarks.stretch.reconfigurations import BOUND, Switches

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
LOOK = {"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False}


def reconfiguration_times(found: Sequence[Switches], directory: Path) -> Path:
    """Every switch as a point, by the number of instances."""
    with plt.rc_context(LOOK):
        figure, ax = plt.subplots(figsize=(12, 7), layout="constrained")
        for place, run in enumerate(found):
            for seconds, offset, colour in ((run.up, -0.12, BLUE), (run.down, 0.12, ORANGE)):
                spread = np.linspace(-0.08, 0.08, len(seconds))
                ax.plot(place + offset + spread, 1e3 * np.array(seconds), ".", color=colour, alpha=0.6)
        ends = [1e3 * run.percentile(99) for run in found]
        ax.plot(range(len(found)), ends, "_", color="black", markersize=40, label="99th percentile")
        ax.plot([], [], ".", color=BLUE, label="1 → n instances")
        ax.plot([], [], ".", color=ORANGE, label="n → 1 instance")
        ax.axhline(1e3 * BOUND, color=GREY, linestyle="--", label="the paper's bound, 40 ms")
        ax.set_xticks(range(len(found)), [str(run.n) for run in found])
        ax.set(xlabel="instances, n", ylabel="milliseconds from request to switch", yscale="log")
        ax.set_title("Reconfiguration of a running operator; no byte of state is moved")
        return _saved(figure, ax, directory / "stretch-reconfigurations.png")


class OverTime(Protocol):
    """What a run has to be drawn over time, by seconds since its begin."""

    seconds: list[float]
    rates: list[float]
    degrees: list[int]
    latencies: list[tuple[float, float]]


def over_time(
    title: str, name: str, directory: Path, run: OverTime, *, comparisons: Sequence[float] = ()
) -> Path:
    """Rate, degree, comparisons a second if there are any, and latency: below each other, on one axis of
    time."""
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(
            3 + bool(comparisons), 1, figsize=(12, 7), layout="constrained", sharex=True
        )
        top, middle, bottom = axes[0], axes[1], axes[-1]
        figure.suptitle(title, fontsize=14)
        top.plot(run.seconds, run.rates, color=BLUE, linewidth=1.2)
        top.set(ylabel="tuples per second")
        middle.step(run.seconds, run.degrees, where="post", color=GREEN, linewidth=1.2)
        middle.set(ylabel="instances", ylim=(0, max(run.degrees) + 1))
        middle.yaxis.get_major_locator().set_params(integer=True)
        if comparisons:
            axes[2].plot(run.seconds, np.array(comparisons) / 1e6, color=BLUE, linewidth=1.2)
            axes[2].set(ylabel="million\ncomparisons\nper second", ylim=(0, None))
        at, late = np.array(run.latencies).reshape(-1, 2).T
        bottom.plot(at, 1e3 * late, ".", color=ORANGE, markersize=3, alpha=0.5)
        bottom.set(ylabel="latency, ms", xlabel="seconds", yscale="log")
        for ax in axes:
            ax.grid(color="#dddddd", linewidth=0.7)
        return _saved(figure, None, directory / f"{name}.png")


def throughput_and_latency(found: Mapping[str, Mapping[str, Run]], directory: Path) -> Path:
    """Bars of each contender, by level of duplication."""
    colours = (GREEN, BLUE, ORANGE, GREY)
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(1, 2, figsize=(12, 7), layout="constrained")
        figure.suptitle("Q1: one tuple for all its keys, against one copy for each", fontsize=14)
        for place, name in enumerate(next(iter(found.values()))):
            runs = [level[name] for level in found.values()]
            at = np.arange(len(runs)) + 0.2 * (place - 1.5)
            axes[0].bar(at, [run.tuples / run.seconds for run in runs], 0.2, color=colours[place])
            axes[1].bar(at, [1e3 * run.latency for run in runs], 0.2, color=colours[place], label=name)
        for ax, what in zip(axes, ("tweets a second", "latency, ms"), strict=True):
            ax.set_xticks(range(len(found)), list(found))
            ax.set(ylabel=what, yscale="log")
            ax.grid(color="#dddddd", linewidth=0.7, axis="y")
            ax.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncol=4, frameon=False)
        return _saved(figure, None, directory / "stretch-1.png")


def by_instances(
    title: str, name: str, directory: Path, panels: Mapping[str, Mapping[str, Mapping[int, float]]]
) -> Path:
    """A panel for each quantity, a line for each series of it, over the number of instances."""
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(1, len(panels), figsize=(12, 7), layout="constrained")
        figure.suptitle(title, fontsize=14)
        for ax, (quantity, lines) in zip(axes, panels.items(), strict=True):
            for (label, values), colour, marker in zip(
                lines.items(), (BLUE, ORANGE, GREEN), "os^", strict=False
            ):
                ax.plot(list(values), list(values.values()), color=colour, marker=marker, label=label)
            ax.set_xticks(sorted({n for values in lines.values() for n in values}))
            ax.set(xlabel="instances", ylabel=quantity, ylim=(0, None))
            ax.grid(color="#dddddd", linewidth=0.7)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), frameon=False)
        return _saved(figure, None, directory / f"{name}.png")


def _saved(figure: plt.Figure, ax: Axes | None, path: Path) -> Path:
    if ax is not None:
        ax.grid(color="#dddddd", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncol=4, frameon=False)
    png.save(figure, path)
    plt.close(figure)
    return path
