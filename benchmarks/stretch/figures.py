"""Figures of the experiments: reconfiguration times, and rate, degree and latency over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

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
        ax.set(xlabel="n", ylabel="milliseconds from request to switch", yscale="log")
        ax.set_title("Reconfiguration of a running operator; no byte of state is moved")
        return _saved(figure, ax, directory / "stretch-reconfigurations.png")


def over_time(
    title: str,
    name: str,
    directory: Path,
    *,
    seconds: Sequence[float],
    rates: Sequence[float],
    degrees: Sequence[int],
    latencies: Sequence[tuple[float, float]],
    bound: float | None = None,
    measured: str = "latency",
) -> Path:
    """Rate, degree and latency below each other, on one axis of time."""
    with plt.rc_context(LOOK):
        figure, (top, middle, bottom) = plt.subplots(
            3, 1, figsize=(12, 7), layout="constrained", sharex=True
        )
        figure.suptitle(title, fontsize=14)
        top.plot(seconds, rates, color=BLUE, linewidth=1.2)
        top.set(ylabel="tuples per second")
        middle.step(seconds, degrees, where="post", color=GREEN, linewidth=1.2)
        middle.set(ylabel="instances", ylim=(0, max(degrees) + 1))
        middle.yaxis.get_major_locator().set_params(integer=True)
        at, late = np.array(latencies).reshape(-1, 2).T
        bottom.plot(at, 1e3 * late, ".", color=ORANGE, markersize=3, alpha=0.5)
        if bound is not None:
            mean = 1e3 * float(late.mean())
            bottom.axhline(mean, color="black", linewidth=1.2, label=f"mean, {mean:.1f} ms")
            bottom.axhline(1e3 * bound, color=GREY, linestyle="--", label=f"{1e3 * bound:.0f} ms")
            bottom.legend(loc="upper right", frameon=False, ncol=2)
        bottom.set(ylabel=f"{measured}, ms", xlabel="seconds", yscale="log")
        for ax in (top, middle, bottom):
            ax.grid(color="#dddddd", linewidth=0.7)
        return _saved(figure, None, directory / f"{name}.png")


def _saved(figure: plt.Figure, ax: Axes | None, path: Path) -> Path:
    if ax is not None:
        ax.grid(color="#dddddd", linewidth=0.7)
        ax.set_axisbelow(True)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncol=4, frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path
