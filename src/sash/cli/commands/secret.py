"""`sash secret`: what engines report, from the command line. Its commands and options are declared here."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from sash.errors import ArgumentError

app = typer.Typer(
    name="secret", help="SECRET: what engines report for the same window, and why.", no_args_is_help=True
)


class TableFormat(StrEnum):
    """How the table is written."""

    text = "text"
    markdown = "markdown"
    html = "html"


Times = Annotated[str, typer.Option("--times", help="Times that never decrease: '10 11 12' or '10..19'.")]
Size = Annotated[int, typer.Option("--size", help="ω, in units of time or in events.")]
Slide = Annotated[int, typer.Option("--slide", help="β, in units of time or in events.")]
OfKind = Annotated[str, typer.Option("--kind", help="'time' or 'count' windows.")]
Batches = Annotated[
    str | None,
    typer.Option("--batches", help="The batch number of each event, for engines with batches."),
]


@app.command()
def profiles() -> None:
    """List the engines that have a profile, with their parameters."""
    from sash.semantics.secret import PROFILES

    widest = max(map(len, PROFILES))
    for name, profile in PROFILES.items():
        print(f"{name:<{widest}}  {profile}")


@app.command()
def simulate(
    engine: Annotated[str, typer.Argument(help="An engine of `sash secret profiles`.")],
    times: Times,
    size: Size,
    slide: Slide,
    kind: OfKind = "time",
    batches: Batches = None,
) -> None:
    """Print the windows that an engine reports, one per line, as event numbers from t1."""
    from sash.display.timeline.window_lanes import label
    from sash.semantics.secret import trace

    reports = trace(
        engine,
        numbers("times", times),
        size,
        slide,
        kind=_kind(kind),
        batches=_optional("batches", batches),
    )
    for report in reports:
        shown = " ".join(label(index) for index in report.content) or "∅"
        print(f"{kind} {report.instant}, when {label(report.arrival)} arrives: {shown}")
    if not reports:
        print("no reports")


@app.command()
def draw(
    engines: Annotated[list[str], typer.Argument(help="Engines of `sash secret profiles`, or 'all'.")],
    times: Times,
    size: Size,
    slide: Slide,
    kind: OfKind = "time",
    batches: Batches = None,
    windows: Annotated[
        list[str] | None, typer.Option("--window", help="One of Sash's own below: 'session 5'.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="An SVG file; without it, text.")] = None,
) -> None:
    """Draw events and the windows that engines report, as text or as an SVG file."""
    from sash.api.window_parser import window_of
    from sash.display.timeline.engine_lanes import draw as drawn

    picture = drawn(
        None if engines == ["all"] else engines,
        numbers("times", times),
        size,
        slide,
        kind=_kind(kind),
        batches=_optional("batches", batches),
        windows=[window_of(words) for words in windows or ()],
    )
    if out is None:
        print(picture)
        return
    try:
        print(picture.save(out))
    except OSError as error:
        raise ArgumentError("out", str(out), f"a file that can be written ({error.strerror})") from None


@app.command()
def table(
    format: Annotated[TableFormat, typer.Option("--format", help="How it is written.")] = TableFormat.text,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Measured engines; without it, those of the package."),
    ] = None,
) -> None:
    """Print SECRET's table: the profiles beside the measured engines, each cell with its evidence."""
    from sash.engines.table import engine_table, read_findings
    from sash.engines.table_formats import as_format
    from sash.semantics.secret import PROFILES

    print(as_format(engine_table(PROFILES, read_findings(results)), format.value))


def numbers(argument: str, words: str) -> list[int]:
    """'10 11 12', '10,11,12' or '10..19', also mixed.

    >>> numbers("times", "3 5..7, 9")
    [3, 5, 6, 7, 9]
    """
    found: list[int] = []
    for word in words.replace(",", " ").split():
        ends = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?", word)
        if ends is None:
            raise ArgumentError(argument, word, "whole numbers such as '10 11 12' or '10..19'")
        found.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found


def _optional(argument: str, words: str | None) -> list[int] | None:
    return None if words is None else numbers(argument, words)


def _kind(given: str) -> Literal["time", "count"]:
    from sash.semantics.secret.arrivals import axis_of

    return axis_of(given).value
