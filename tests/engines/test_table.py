"""The table of engines: every cell is the profile's or the measured engine's, with its evidence."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sash.engines.findings import Difference, EngineFindings, Evidence, Finding, Verdict
from sash.engines.table import engine_table, parameters_of, read_findings
from sash.engines.table_formats import FORMATS, as_format
from sash.errors import ArgumentError
from sash.semantics.secret import PROFILES

MEASURED = EngineFindings(
    engine="storm",
    version="2.6",
    date="2026-01-05",
    findings=(
        Finding(parameter="tick", value="time", evidence=(Evidence("times 1 1 2", "t1 | t2", "tuple"),)),
        Finding(parameter="t0", value=None, remark="it never reports"),
        Finding(parameter="report", value="window-close", also=("periodic every 1",)),
    ),
    beyond=(Finding(parameter="end of input", value="flushed", evidence=(Evidence("a | b", "<c>"),)),),
    verdict=Verdict(
        runs=3, agreed=2, seed=1, difference=Difference(fed="times 5", seen="nothing", simulated="t1")
    ),
)


def test_every_profile_is_a_row_with_its_parameters() -> None:
    (grid,) = engine_table(PROFILES).grids
    assert [row[0].value for row in grid.rows] == sorted(PROFILES)
    for row in grid.rows:
        assert [cell.value for cell in row[1:]] == list(parameters_of(PROFILES[row[0].value]).values())
        assert row[0].notes


def test_a_measured_engine_follows_its_profile_and_every_finding_shows_its_evidence() -> None:
    table = engine_table(PROFILES, [MEASURED])
    parameters, beyond = table.grids
    index = next(number for number, row in enumerate(parameters.rows) if row[0].value == "storm")
    row = dict(zip(parameters.heads, parameters.rows[index + 1], strict=True))
    assert row["engine"].value == "storm 2.6 measured 2026-01-05"
    assert row["t0"].value == "?"
    assert row["report"].value == "window-close (or periodic every 1)"
    noted = {name: [table.notes[note - 1] for note in cell.notes] for name, cell in row.items()}
    assert noted["tick"] == ["storm, tick: times 1 1 2 → t1 | t2 (not tuple)"]
    assert noted["t0"] == ["storm, t0: it never reports"]
    assert noted["engine"] == [
        "storm 2.6 measured 2026-01-05: 2 of 3 fresh random runs reproduced; "
        "times 5: seen nothing, simulated t1"
    ]
    assert [cell.value for cell in beyond.rows[0]] == ["end of input", "flushed"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_value_and_note_is_in_every_format(form: str) -> None:
    table = engine_table(PROFILES, [MEASURED])
    text = as_format(table, form)
    if form == "html":
        text = "".join(ElementTree.fromstring(text).itertext())
    plain = "".join(text.replace("\\", "").split())
    for grid in table.grids:
        for row in grid.rows:
            if form != "text":  # whose cells are folded
                assert all("".join(cell.value.split()) in plain for cell in row)
            assert "".join(row[0].value.split()) in plain
    assert all("".join(note.split()) in plain for note in table.notes)


def test_a_cell_cannot_break_out_of_a_markdown_row() -> None:
    lines = as_format(engine_table(PROFILES, [MEASURED]), "markdown").splitlines()
    assert any("a \\| b" in line for line in lines)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    for written in ([MEASURED.to_json()], {"engines": [MEASURED.to_json()], "python": "3.11"}):
        file.write_text(json.dumps(written))
        assert read_findings(file) == [MEASURED]


@pytest.mark.parametrize("written", ["{", "[1]", "{}", '[{"format": 99}]'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, written: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(written)
    with pytest.raises(ArgumentError):
        read_findings(file)
