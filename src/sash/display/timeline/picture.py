"""What a timeline shows, before it is drawn: events on an axis, and lanes of windows below it.

    Picture = axis × Mark, one per event × Lane, one per engine or window kind
    Lane    = rows of Spans that do not overlap

Positions are numbers on the axis of the windows: times, or event numbers. A window [0, 10) of time reaches
from 0 to 10. Where events are the bounds, a span reaches from half a unit before the first to half a unit
after the last, so that it encloses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mark:
    """An event."""

    position: float
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A window: where it lies, what it holds, and where on the axis it was reported (None: it waits)."""

    start: float
    end: float
    content: str
    reported_at: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """The windows of one engine or kind; `remark`: why there are none, or that some are left out."""

    title: str
    spans: tuple[Span, ...] = ()
    remark: str = ""

    def rows(self, taken: Callable[[Span], tuple[float, float]]) -> list[list[Span]]:
        """The spans in as few rows as keep apart what they take up."""
        rows: list[tuple[float, list[Span]]] = []
        for span in self.spans:
            start, end = taken(span)
            free = next((index for index, (used, _) in enumerate(rows) if used <= start), None)
            if free is None:
                rows.append((end, [span]))
            else:
                rows[free] = (end, [*rows[free][1], span])
        return [spans for _, spans in rows]


@dataclass(frozen=True)
class Picture:
    """A timeline. In a notebook it is shown as SVG, `print` shows it as text, `save` writes a file."""

    title: str
    axis: str
    marks: tuple[Mark, ...] = field(repr=False)
    lanes: tuple[Lane, ...] = field(repr=False)
    tick_label: Callable[[float], str] = field(default=lambda position: f"{position:g}", repr=False)

    @property
    def description(self) -> str:
        """The picture in words, for those who do not see it."""
        shown = [f"{lane.title}: {_in_words(lane)}" for lane in self.lanes]
        return f"{len(self.marks)} events over {self.axis}. " + " ".join(shown)

    @property
    def extent(self) -> tuple[float, float]:
        """The least and greatest position that is shown."""
        reach = [mark.position for mark in self.marks]
        for lane in self.lanes:
            for span in lane.spans:
                reach += [span.start, span.end]
        return (min(reach) - 0.5, max(reach) + 0.5) if reach else (0.0, 1.0)

    def svg(self, *, standalone: bool = False) -> str:
        """As SVG; a standalone one brings its own colours for light and dark backgrounds."""
        from sash.display.timeline.svg import as_svg

        return as_svg(self, standalone=standalone)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        from sash.display.timeline.plain_text import as_text

        return as_text(self)

    def save(self, path: str | Path) -> Path:
        """Write a standalone SVG file."""
        file = Path(path)
        file.write_text(self.svg(standalone=True), encoding="utf-8")
        return file


def stacked(marks: Iterable[Mark]) -> list[tuple[Mark, int]]:
    """Each mark with how many of the same position come before it."""
    seen: dict[float, int] = {}
    levels = []
    for mark in marks:
        levels.append((mark, seen.get(mark.position, 0)))
        seen[mark.position] = seen.get(mark.position, 0) + 1
    return levels


def ticks(low: float, high: float, *, every: float) -> Iterator[float]:
    """Round positions at least `every` apart: multiples of 1, 2 or 5 times a power of ten.

    >>> list(ticks(-0.5, 12.5, every=3))
    [0.0, 5.0, 10.0]
    """
    step = 1.0
    while step < every:
        step *= 2.5 if str(step).startswith("2") else 2
    position = -(-low // step) * step + 0.0  # never −0
    while position <= high:
        yield position
        position += step


def _in_words(lane: Lane) -> str:
    reported = [span.content for span in lane.spans if span.reported_at is not None]
    waiting = [span.content for span in lane.spans if span.reported_at is None]
    parts = [f"reports {', '.join(reported)}"] if reported else []
    parts += [f"waiting: {', '.join(waiting)}"] if waiting else []
    parts += [lane.remark] if lane.remark else []
    return "; ".join(parts or ["no reports"]) + "."
