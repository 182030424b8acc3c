"""A picture as SVG: the axis with its events on top, one lane below another.

Lines and words are drawn in `currentColor`, so that an inline picture takes the colours of the page; a
standalone one sets that colour itself, for light and for dark. Windows differ in shape too: a
reported one is solid and ends in a triangle at the position of its report, a waiting one is dashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from sash.display.timeline.picture import Lane, Picture, Span, stacked, ticks

PLOT, MARGIN, TITLE = 760, 14, 34
ROW, GAP, FONT, GLYPH = 30, 14, 12, 6.8
FAMILY = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace"
ACCENT = "#2f81c9"
"""Readable on white and on near-black."""
_STANDALONE = (
    "<style>svg{color:#1f2328;background:#fff}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>"
)


def as_svg(picture: Picture, *, standalone: bool = False) -> str:
    return "\n".join(_Drawing(picture).elements(standalone=standalone))


@dataclass(frozen=True)
class _Drawing:
    picture: Picture

    @property
    def gutter(self) -> float:
        """The room for the names of the lanes."""
        return MARGIN + max([6, *(len(lane.title) for lane in self.picture.lanes)]) * GLYPH * 1.1 + 12

    @property
    def unit(self) -> float:
        """Pixels for one unit of the axis."""
        low, high = self.picture.extent
        return min(64.0, PLOT / (high - low))

    @property
    def right(self) -> float:
        return self.x(self.picture.extent[1])

    def x(self, position: float) -> float:
        return self.gutter + (position - self.picture.extent[0]) * self.unit

    def taken(self, span: Span) -> tuple[float, float]:
        """The pixels that a span takes up in its row: the bracket, its words and its report."""
        start, end = self.x(span.start), self.x(span.end)
        words = 0 if self._fits(span) else len(span.content) * GLYPH + 6
        report = self.x(span.reported_at) + 5 if span.reported_at is not None else end
        return start, max(end + words, report) + 4

    def _fits(self, span: Span) -> bool:
        """Whether the words stand inside the bracket, and not to its right."""
        return len(span.content) * GLYPH + 4 <= self.x(span.end) - self.x(span.start)

    def elements(self, *, standalone: bool) -> Iterator[str]:
        events = stacked(self.picture.marks)
        levels = max([level for _, level in events], default=0)
        axis = TITLE + 22 + levels * 15 + 16
        y, body = axis + 34.0, []
        for number, lane in enumerate(self.picture.lanes):
            rows = lane.rows(self.taken)
            tall = max(1, len(rows)) * ROW + (ROW if lane.remark and rows else 0)
            body += [*self._lane(lane, rows, y, tall, shaded=number % 2 == 0)]
            y += tall + GAP
        width, height = self.right + MARGIN + 30, y + 18
        shrinks = "" if standalone else ' style="max-width:100%;height:auto"'
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img"{shrinks} '
            f'font-family="{FAMILY}" font-size="{FONT}" fill="currentColor">'
        )
        yield f"<title>{escape(self.picture.title)}</title>"
        yield f"<desc>{escape(self.picture.description)}</desc>"
        if standalone:
            yield _STANDALONE
        yield _words(MARGIN, 20, self.picture.title, weight="bold", size=14)
        yield from self._axis(axis, y)
        yield from body
        yield from self._legend(y)
        yield "</svg>"

    def _axis(self, y: float, bottom: float) -> Iterator[str]:
        low, high = self.picture.extent
        yield _line(self.x(low), y, self.x(high), y)
        yield _words(MARGIN, y - 6, "events", weight="bold")
        yield _words(MARGIN, y + 17, self.picture.axis, opacity=0.7)
        for position in ticks(low, high, every=46 / self.unit):
            yield _line(self.x(position), y, self.x(position), y + 4)
            yield _words(self.x(position), y + 17, self.picture.tick_label(position), anchor="middle")
        for position in sorted({mark.position for mark in self.picture.marks}):
            yield _line(self.x(position), y, self.x(position), bottom - GAP, opacity=0.15, dashes="2 3")
        yield from self._events(y)

    def _events(self, y: float) -> Iterator[str]:
        """The events; where several share a position their labels stand beside them, else above."""
        events = stacked(self.picture.marks)
        shared = {mark.position for mark, level in events if level}
        ends = dict.fromkeys(range(len(events)), float("-inf"))  # where the last label of each level ends
        for mark, level in events:
            at, height = self.x(mark.position), y - 1 - level * 15
            note = f"<title>{escape(mark.note)}</title>"
            yield f'<circle cx="{at:.1f}" cy="{height:.1f}" r="4">{note}</circle>'
            width = len(mark.label) * GLYPH
            beside = mark.position in shared
            left = at + 8 if beside else at - width / 2
            if left > ends[level]:  # a label that has no room is left out; the dot still has its note
                ends[level] = left + width + 3
                yield _words(left, height - (1 if beside else 7), mark.label)

    def _lane(
        self, lane: Lane, rows: list[list[Span]], y: float, height: float, *, shaded: bool
    ) -> Iterator[str]:
        if shaded:
            yield (
                f'<rect x="{MARGIN - 6}" y="{y - 4:.1f}" width="{self.right - MARGIN + 16:.1f}" '
                f'height="{height + 4:.1f}" rx="4" fill="currentColor" fill-opacity="0.05"/>'
            )
        yield _words(MARGIN, y + 19, lane.title, weight="bold")
        for number, spans in enumerate(rows):
            for span in spans:
                yield from self._span(span, y + number * ROW)
        if lane.remark or not rows:
            yield _words(
                self.gutter,
                y + len(rows) * ROW + 19,
                lane.remark or "no reports",
                style="italic",
                opacity=0.75,
            )

    def _span(self, span: Span, y: float) -> Iterator[str]:
        left, right, base = self.x(span.start), self.x(span.end), y + 22
        waits = span.reported_at is None
        dashes = ' stroke-dasharray="4 3"' if waits else ""
        yield "<g>"
        yield f"<title>{escape(span.note or span.content)}</title>"
        yield (
            f'<rect x="{left + 1:.1f}" y="{y + 4:.1f}" width="{max(2.0, right - left - 2):.1f}" '
            f'height="18" rx="3" fill="{ACCENT}" fill-opacity="{0.06 if waits else 0.2}" stroke="{ACCENT}" '
            f'stroke-width="1.4"{dashes}/>'
        )
        if self._fits(span):
            yield _words((left + right) / 2, y + 17, span.content, anchor="middle")
        else:
            yield _words(right + 4, y + 15, span.content)
        if span.reported_at is not None:
            at = self.x(span.reported_at)
            if at > right:
                yield _line(right, base, at, base, opacity=0.6, dashes="1 2")
            yield (
                f'<path d="M{at - 4.5:.1f},{base + 5:.1f} L{at + 4.5:.1f},{base + 5:.1f} '
                f'L{at:.1f},{base - 3:.1f} Z" fill="{ACCENT}"/>'
            )
        yield "</g>"

    def _legend(self, y: float) -> Iterator[str]:
        text = "▲ reported, when the event above it arrived"
        if any(span.reported_at is None for lane in self.picture.lanes for span in lane.spans):
            text += "; dashed: still waiting"
        yield _words(MARGIN, y + 8, text, opacity=0.7, size=11)


def _words(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    style: str = "normal",
    size: int = FONT,
    opacity: float = 1.0,
) -> str:
    given = {"text-anchor": anchor, "font-weight": weight, "font-style": style, "font-size": str(size)}
    plain = {
        "text-anchor": "start",
        "font-weight": "normal",
        "font-style": "normal",
        "font-size": str(FONT),
    }
    attributes = "".join(
        f" {name}={quoteattr(value)}" for name, value in given.items() if plain[name] != value
    )
    faded = f' opacity="{opacity}"' if opacity < 1 else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}{faded}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, *, opacity: float = 0.8, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
        f'stroke-opacity="{opacity}"{dashed}/>'
    )
