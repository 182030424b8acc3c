"""The table of engines and their parameters: the profiles beside what live engines were measured to do.

    SECRET's table    one row per profile or measured engine, one column per parameter
    beyond the model  one row per question that the model leaves open, one column per measured engine

Every cell of a measured engine has its evidence, as a numbered note: the runs that decided it. A profile
was not measured here but taken from publications and documentation; its note has that, and what its
simulation reports in the papers' own experiment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from sash.display.timeline.window_lanes import run
from sash.engines.findings import EngineFindings, Finding
from sash.errors import ArgumentError
from sash.semantics.secret import Axis, Profile, simulate

ABSENT, UNKNOWN = "—", "?"
EXPERIMENT = tuple(range(10, 20)), 3, 3
"""The papers' first one: times 10 … 19, ω = 3, β = 3."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and the numbers of the notes that show it."""

    value: str
    notes: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.value} {''.join(f'[{note}]' for note in self.notes)}".rstrip()


@dataclass(frozen=True, slots=True)
class Grid:
    """One of the two tables; the first cell of a row is its name."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class EngineTable:
    """The grids, and the notes that their cells point to, numbered from 1."""

    grids: tuple[Grid, ...]
    notes: tuple[str, ...]


def parameters_of(profile: Profile) -> dict[str, str]:
    """A profile's parameters by the names that findings use, in the order of the table.

    >>> from sash.semantics.secret import profile
    >>> parameters_of(profile("dataflow"))["t0"], parameters_of(profile("dataflow"))["i0"]
    ('β − ω − 1', '—')
    """
    counts = profile.scope.count is not None
    return {
        "t0": str(profile.scope.time or ABSENT),
        "i0": str(profile.scope.count or ABSENT),
        "report": profile.conjunction,
        "tick": str(profile.tick_of(Axis.TIME)),
        "count tick": str(profile.tick_of(Axis.COUNT)) if counts else ABSENT,
        "pick": str(profile.pick) if counts else ABSENT,
    }


def engine_table(profiles: Mapping[str, Profile], measured: Sequence[EngineFindings] = ()) -> EngineTable:
    """The table of these profiles, each followed by the measured engine of that name."""
    notes = _Notes()
    rows = []
    live = {found.engine: found for found in measured}
    for name in sorted({*profiles, *live}):
        if name in profiles:
            rows.append(_profile_row(name, profiles[name], notes))
        if name in live:
            rows.append(_measured_row(live[name], notes))
    heads = ("engine", *parameters_of(next(iter(profiles.values()))))
    grids = [Grid("SECRET's parameters", heads, tuple(rows))]
    questions = dict.fromkeys(finding.parameter for found in measured for finding in found.beyond)
    if questions:
        heads = ("question", *(found.engine for found in measured))
        grids.append(
            Grid("beyond the model", heads, tuple(_question_row(q, measured, notes) for q in questions))
        )
    return EngineTable(tuple(grids), tuple(notes.texts))


@dataclass(slots=True)
class _Notes:
    """Numbered notes; the same text is written once."""

    texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def _profile_row(name: str, profile: Profile, notes: _Notes) -> tuple[Cell, ...]:
    note = notes.add(
        f"{name}: as published or documented, not measured here; simulated: {_simulated(profile)}"
    )
    return Cell(name, (note,)), *(Cell(value) for value in parameters_of(profile).values())


def _simulated(profile: Profile) -> str:
    times, size, slide = EXPERIMENT
    fed = f"times {times[0]} … {times[-1]}, ω = {size}, β = {slide}"
    if profile.scope.time is None or profile.scope.time.function is None:
        return "nothing, as it is not known where its time windows start"
    return f"{fed} → {' | '.join(run(content) for content in simulate(profile, times, size, slide))}"


def _measured_row(found: EngineFindings, notes: _Notes) -> tuple[Cell, ...]:
    who = " ".join(part for part in (found.engine, found.version, "measured", found.date) if part)
    verdict = str(found.verdict or found.remark or "not checked on fresh runs")
    if found.verdict and found.verdict.difference:
        least = found.verdict.difference
        verdict += f"; {least.fed}: seen {least.seen}, simulated {least.simulated}"
    described = parameters_of(found.profile) if found.profile else {}
    cells = [Cell(who, (notes.add(f"{who}: {verdict}"),))]
    for parameter in _PARAMETERS:
        finding = found.finding(parameter)
        if finding is None:
            cells.append(Cell(described.get(parameter, ABSENT)))
        else:
            cells.append(_finding_cell(found.engine, finding, notes))
    return tuple(cells)


_PARAMETERS = ("t0", "i0", "report", "tick", "count tick", "pick")


def _question_row(question: str, measured: Sequence[EngineFindings], notes: _Notes) -> tuple[Cell, ...]:
    cells = [Cell(question)]
    for found in measured:
        finding = found.finding(question)
        cells.append(_finding_cell(found.engine, finding, notes) if finding else Cell(ABSENT))
    return tuple(cells)


def _finding_cell(engine: str, finding: Finding, notes: _Notes) -> Cell:
    value = UNKNOWN if finding.value is None else finding.value
    if finding.also:
        value += f" (or {', '.join(finding.also)})"
    shown = "; ".join(_evidence(finding))
    return Cell(value, (notes.add(f"{engine}, {finding.parameter}: {shown}"),) if shown else ())


def _evidence(finding: Finding) -> Iterator[str]:
    if finding.remark:
        yield finding.remark
    for one in finding.evidence:
        excludes = f" (not {one.excludes})" if one.excludes else ""
        yield f"{one.fed} → {one.seen}{excludes}"


def read_findings(path: Path | None) -> list[EngineFindings]:
    """The measured engines of a results file: a list, or an object whose "engines" is one. Without a path,
    those that came with the package; there are none when it was never measured."""
    found = path if path is not None else _packaged()
    if found is None:
        return []
    try:
        given = json.loads(found.read_text(encoding="utf-8"))
        listed = given["engines"] if isinstance(given, dict) else given
        return [EngineFindings.from_json(one) for one in listed]
    except OSError as error:
        raise ArgumentError("results", str(found), f"a file that can be read ({error.strerror})") from None
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(
            "results", str(found), f"findings as `make secret` writes them ({error})"
        ) from None


def _packaged() -> Path | None:
    here = Path(str(files("sash.engines")))
    places = (here / "results.json", here.parents[2] / "docs" / "secret" / "results.json")
    return next((place for place in places if place.is_file()), None)
