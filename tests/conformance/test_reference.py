"""The transcripts, run on the reference evaluator, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sash.semantics import windows
from sash.semantics.reference import Batch, Late, Outcome, WindowReport, evaluate
from tests.conformance.stanza import Missed, Stanza, WrittenReport, every_stanza

STANZAS = list(every_stanza())


def as_written(report: WindowReport) -> WrittenReport:
    return WrittenReport(
        report.window,
        report.key,
        report.id,
        report.start,
        report.end,
        tuple(report.values["holds"] or ()),
        report.revision,
    )


def missed(late: Late, *, alone: bool) -> Missed:
    return Missed(late.arrival.values["e"], late.reason, None if alone else late.window)


def outcome_after(stanza: Stanza, steps: int, *, flush: bool) -> Outcome:
    batches: list[Batch] = [step.batch for step in stanza.steps[:steps] if step.batch]
    return evaluate(replace(stanza.query, flush=flush), batches)


@pytest.mark.parametrize("stanza", STANZAS, ids=str)
def test_reference_reports_what_the_transcript_says_after_every_step(stanza: Stanza) -> None:
    reports, late = 0, 0
    for index, step in enumerate(stanza.steps, start=1):
        outcome = outcome_after(stanza, index, flush=step.batch is None)
        new_reports, new_late = outcome.reports[reports:], outcome.late[late:]
        assert {as_written(report) for report in new_reports} == step.reports, f"step {index}"
        assert len(new_reports) == len(step.reports), f"step {index}: a report was made twice"
        alone = len(stanza.query.windows) == 1
        assert {missed(entry, alone=alone) for entry in new_late} == step.missed, f"step {index}"
        assert len(new_late) == len(step.missed), f"step {index}: an event was late twice"
        reports, late = len(outcome.reports), len(outcome.late)


def test_the_transcripts_cover_every_window_kind() -> None:
    kinds = {type(window).__name__ for stanza in STANZAS for window in stanza.query.windows}
    assert kinds - {"EngineSession"} == {name for name in windows.__all__ if name.endswith("Window")}


def test_there_are_at_least_forty_stanzas() -> None:
    assert len(STANZAS) >= 40
