"""Charts as PNG files: one look for all of them, readable without colours too.

The colours are those of Okabe and Ito ('Color universal design', 2008), which stay apart for colour-blind
readers; every series has a marker of its own besides. Legends stand below the axes, never over the data.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks.amta_paper.chart import Chart, Panel, Series

INCHES = (12, 7)
DPI = 100
MARKS = [
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#000000", "x"),
    ("#56B4E9", "P"),
]
# The same algorithm looks the same in every figure.
KNOWN = {
    "two stacks": 2,
    "DABA lite": 0,
    "AMTA": 1,
    "FiBA": 3,
    "Log MTA": 4,
    "recalculate": 5,
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
                ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), ncol=2, frameon=False)
        if shared:
            handles, labels = axes[0][0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
        path = directory / f"{chart.name}.png"
        figure.savefig(path, dpi=DPI)
        plt.close(figure)
    return path


def _share_labels(chart: Chart) -> bool:
    first, *others = ([series.label for series in panel.series] for panel in chart.panels)
    return all(labels == first for labels in others)


def _draw_panel(ax: Axes, panel: Panel) -> None:
    for place, series in enumerate(panel.series):
        colour, marker = _mark(series, place)
        line = ("--" if series.dashed else "-") if series.joined else ""
        ax.plot(
            series.xs,
            series.ys,
            linestyle=line,
            marker="" if series.dashed else marker,
            color=colour,
            label=series.label,
            linewidth=1.6,
            markersize=6,
        )
    if panel.x_base:
        ax.set_xscale("log", base=panel.x_base)
    if panel.y_base:
        ax.set_yscale("log", base=panel.y_base)
    else:
        ax.set_ylim(bottom=0)
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    ax.grid(color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)


def _mark(series: Series, place: int) -> tuple[str, str]:
    return MARKS[KNOWN.get(series.style or series.label, place) % len(MARKS)]
