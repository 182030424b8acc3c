"""Draw the timelines of the documentation: `python tools/pictures.py docs/concepts/pictures`.

They are drawn by the code that they explain, so they cannot show what it does not do; a test compares the
files with what would be drawn now.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import sash
from sash.display.timeline import Picture, picture_of
from sash.semantics.event import sequence

TIMES = (0, 1, 2, 5, 6, 11, 12, 13, 17, 18)
CELSIUS = (20, 31, 35, 29, 40, 41, 33, 25, 36, 37)
KINDS = ("view", "view", "pay", "view", "pay", "view", "view", "view", "pay", "view")


def pictures() -> Mapping[str, Picture]:
    """The timelines by the names of their files."""
    events = sequence(TIMES, celsius=CELSIUS, kind=KINDS)
    by_clock = [
        sash.sliding(6, every=3).named("sliding(6, 3)"),
        sash.tumbling(6).named("tumbling(6)"),
        sash.cumulate(6, 2).named("cumulate(6, 2)"),
        sash.rows(4, every=2).named("rows(4, every=2)"),
    ]
    by_data = [
        sash.session(3).named("session(3)"),
        sash.slide_by_tuple(4, 2).named("slide_by_tuple(4, 2)"),
        sash.threshold(lambda row: row.celsius > 30).named("threshold: °C > 30"),
        sash.punctuated(lambda row: row.kind == "pay").named("punctuated: pay"),
    ]
    engines = ["flink", "storm", "stream", "coral8"]
    return {
        "clock-windows": picture_of(by_clock, events, title="windows of time and of rows"),
        "data-windows": picture_of(by_data, events, title="windows that depend on the events"),
        "secret": sash.secret.draw(engines, range(10, 20), 3, 3),
    }


def main(folder: str) -> None:
    for name, picture in pictures().items():
        print(picture.save(Path(folder) / f"{name}.svg"))


if __name__ == "__main__":
    main(*sys.argv[1:])
