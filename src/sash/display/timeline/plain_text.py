"""A picture as text: one character cell or more for a unit of the axis.

    events   t1  t2      t3
    time     10  11  12  13
    flink    [t1 t2────]▲

A bracket encloses the events that its window holds; ▲ stands below the arrival that made it report, and a
window that still waits ends in a brace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sash.display.timeline.picture import Lane, Picture, Span, stacked, ticks

WIDTH = 96


def as_text(picture: Picture) -> str:
    """The whole picture, with the lanes under their axis."""
    return "\n".join(line.rstrip() for line in _TextPage(picture).lines())


@dataclass(frozen=True)
class _TextPage:
    picture: Picture

    @property
    def gutter(self) -> int:
        return max([len(self.picture.axis), 6, *(len(lane.title) for lane in self.picture.lanes)]) + 2

    @property
    def cells(self) -> float:
        """Characters for one unit of the axis."""
        low, high = self.picture.extent
        fit = WIDTH / (high - low)
        return float(min(6, int(fit))) if fit >= 1 else fit

    def column(self, position: float) -> int:
        return round((position - self.picture.extent[0]) * self.cells)

    def lines(self) -> Iterator[str]:
        yield self.picture.title
        yield ""
        levels: dict[int, list[tuple[int, str]]] = {}
        for mark, level in stacked(self.picture.marks):
            levels.setdefault(level, []).append((self.column(mark.position), mark.label))
        for level in sorted(levels, reverse=True):
            yield self._named("events" if level == 0 else "", _marked(levels[level]))
        low, high = self.picture.extent
        widest = max(len(self.picture.tick_label(position)) for position in (low, high))
        shown = ticks(low, high, every=(widest + 2) / self.cells)
        yield self._named(
            self.picture.axis, _placed([(self.column(at), self.picture.tick_label(at)) for at in shown])
        )
        yield ""
        for lane in self.picture.lanes:
            yield from self._lane(lane)

    def taken(self, span: Span) -> tuple[float, float]:
        text = self.bracket(span)
        start = self.column(span.start)
        report = self.column(span.reported_at) if span.reported_at is not None else 0
        return start, max(start + len(text), report + 1) + 1

    def bracket(self, span: Span) -> str:
        room = max(self.column(span.end) - self.column(span.start), 2) - 1
        inside = span.content.center(room - 1, "─") if len(span.content) < room else span.content
        return f"[{inside}{'}' if span.reported_at is None else ']'}"

    def _lane(self, lane: Lane) -> Iterator[str]:
        rows = lane.rows(self.taken)
        for number, spans in enumerate(rows):
            pieces = []
            for span in spans:
                text, start = self.bracket(span), self.column(span.start)
                pieces.append((start, text))
                if span.reported_at is not None:
                    pieces.append((max(start + len(text), self.column(span.reported_at)), "▲"))
            yield self._named(lane.title if number == 0 else "", _placed(pieces))
        if lane.remark or not rows:
            yield self._named("" if rows else lane.title, lane.remark or "no reports")

    def _named(self, name: str, line: str) -> str:
        return f"{name:<{self.gutter}}{line}"


def _marked(labels: list[tuple[int, str]]) -> str:
    """Events at their very columns: one whose label has no room is a dot, or hidden by the one before."""
    line = ""
    for index, (column, text) in enumerate(labels):
        following = labels[index + 1][0] if index + 1 < len(labels) else column + len(text) + 1
        shown = text if column + len(text) < following or column == following else "·"
        if column >= len(line):
            line = line.ljust(column) + shown
    return line


def _placed(pieces: list[tuple[int, str]]) -> str:
    """Words at their columns; one that has no room is moved right as far as it must."""
    line = ""
    for column, text in pieces:
        line = line.ljust(max(column, len(line) + 1 if line and text != "▲" else len(line))) + text
    return line
