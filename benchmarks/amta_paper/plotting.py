"""Charts as PNG files: one look for all of them, readable without colours too.

The colours are those of Okabe and Ito ('Color universal design', 2008), which stay apart for colour-blind
readers; every series has a marker of its own besides. Legends stand below the axes, never over the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log2
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks import png
from benchmarks.amta_paper.chart import Chart, Panel, Series

INCHES = (12, 7)
# The same algorithm looks the same in every figure; the others take what comes, in the order of STYLES.
STYLES = {
    "DABA lite": ("#0072B2", "o"),
    "AMTA": ("#D55E00", "s"),
    "two stacks": ("#009E73", "^"),
    "FiBA": ("#CC79A7", "D"),
    "Log MTA": ("#E69F00", "v"),
    "recalculate": ("#000000", "x"),
    "other": ("#56B4E9", "P"),
    "another": ("#999999", "<"),
    "reference": ("#777777", ""),
}


def draw(chart: Chart, directory: Path) -> Path:
    """Write the chart as `<directory>/<name>.png`; give back where it is."""
    with plt.rc_context({"font.size": 10.5, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(
            1, len(chart.panels), figsize=INCHES, layout="constrained", squeeze=False
        )
        figure.suptitle(chart.title, fontsize=14)
        shared = _share_labels(chart)
        for ax, panel in zip(axes[0], chart.panels, strict=True):
            _draw_panel(ax, panel)
            if not shared:
                below = -0.13 if panel.powers_of_two else -0.18  # other labels are slanted, and longer
                columns = 2 if len(chart.panels) < 3 else 1
                ax.legend(loc="upper center", bbox_to_anchor=(0.5, below), ncol=columns, frameon=False)
        if shared:
            handles, labels = axes[0][0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
        path = png.save(figure, directory / f"{chart.name}.png")
        plt.close(figure)
    return path


def _share_labels(chart: Chart) -> bool:
    first, *others = ([series.label for series in panel.series] for panel in chart.panels)
    return all(labels == first for labels in others)


def _draw_panel(ax: Axes, panel: Panel) -> None:
    for series, (colour, marker) in zip(panel.series, _styles(panel.series), strict=True):
        ax.plot(
            series.xs,
            series.ys,
            linestyle=("--" if series.dashed else "-") if series.joined else "",
            marker="" if series.dashed else marker,
            # Hollow, so that a series under another one can still be seen.
            fillstyle="none",
            markersize=7,
            markeredgewidth=1.5,
            linewidth=1.5,
            color=colour,
            label=series.label,
        )
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.powers_of_two:
        _powers_of_two(ax)
    else:
        ax.tick_params(axis="x", rotation=30)
    if panel.logarithmic:
        _logarithmic(ax)
    else:
        ax.set_ylim(bottom=0)
    ax.grid(color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)


def _styles(lines: Sequence[Series]) -> list[tuple[str, str]]:
    """That of its name for each series; those without one take what no other has."""
    names = [series.style or series.label for series in lines]
    free = iter([style for name, style in STYLES.items() if name not in names])
    return [STYLES[name] if name in STYLES else next(free) for name in names]


def _powers_of_two(ax: Axes) -> None:
    """A logarithmic x axis with at most eight ticks, at even steps of the exponent."""
    ax.set_xscale("log", base=2)
    low, high = (log2(bound) for bound in ax.get_xlim())
    step = 1 if high - low < 8 else 2 * ceil((high - low) / 16)
    ax.set_xticks([2.0**e for e in range(ceil(low), floor(high) + 1) if e % step == 0])


def _logarithmic(ax: Axes) -> None:
    """A logarithmic y axis; over less than two decades with plain numbers at 1, 2, 5."""
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high / low < 100:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
