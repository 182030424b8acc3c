"""The picture of a month: memory, state, files and time of a batch, over event time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from benchmarks import png
from benchmarks.month.events import DAY
from benchmarks.stretch.figures import BLUE, GREEN, GREY, LOOK, ORANGE

PANELS = {
    "memory, MB": {
        "driver JVM MB": "JVM of the driver, with 1 GB of heap", "JVM heap MB": "heap in use",
        "workers MB": "Python workers", "driver python MB": "Python of the driver",
    },
    "state, MB": {
        "arenas MB": "arenas", "state MB": "four queries together", "store MB": "LMDB of the elastic query",
    },
    "files": {
        "state files": "state of four queries together", "arenas files": "arenas",
        "together sources files": "Spark's log of files read", "together offsets files": "Spark's offsets",
    },
    "seconds of a batch": {"together seconds": "four queries together", "elastic seconds": "elastic query"},
}  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, GREY)


def draw(found: list[dict[str, Any]], directory: Path) -> Path:
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(len(PANELS), 1, figsize=(12, 13), layout="constrained", sharex=True)
        figure.suptitle("A month of event time; every key lives for a day", fontsize=14)
        for ax, (label, lines) in zip(axes, PANELS.items(), strict=True):
            for (name, words), colour in zip(lines.items(), COLOURS, strict=False):
                inside = [each for each in found if name in each]
                days = [each["hour"] / DAY for each in inside]
                ax.plot(days, [each[name] for each in inside], color=colour, linewidth=1.0, label=words)
            ax.set(ylabel=label)
            ax.set_ylim(bottom=0)
            ax.grid(color="#dddddd", linewidth=0.7)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.12), ncol=4, frameon=False)
        axes[-1].set(xlabel="day")
        directory.mkdir(parents=True, exist_ok=True)
        path = png.save(figure, directory / "month.png")
        plt.close(figure)
        return path
