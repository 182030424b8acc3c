"""Operators that an earlier version has saved go on to what the reference reports."""

from __future__ import annotations

import pytest

from sash.semantics.reference import Evaluation
from tests.runtimes.operator_runtime import expected, lates
from tests.state.golden_windows import ARCHIVED, FILE, LEAST, recorded, resumed, runtimes, stream

RECORDED = recorded()


def test_every_kind_of_window_has_its_state() -> None:
    """What is new is added with `make golden`."""
    assert RECORDED.keys() == {f"{name}, {held}" for name in runtimes() for held in LEAST}
    assert FILE.stat().st_size < 150_000


@pytest.mark.parametrize("name", RECORDED)
def test_oracle_a_saved_operator_of_an_earlier_version_goes_on(name: str) -> None:
    runtime = runtimes()[name.rpartition(",")[0]]
    bound, reference = runtime.shown_as, Evaluation(runtime.shown_as.query)
    for batch in stream()[:ARCHIVED]:
        reference.take(batch)
    resumed(runtime, RECORDED[name])
    reports, late = len(reference.reports), len(reference.late)
    assert reports
    for batch in stream()[ARCHIVED:]:
        emitted, misfits = runtime.step(batch)
        reference.take(batch)
        assert emitted == expected(bound, reference.reports[reports:])
        assert misfits == lates(reference.late[late:])
        reports, late = len(reference.reports), len(reference.late)
    reference.report(flush=True)
    emitted, misfits = runtime.flush()
    assert emitted == expected(bound, reference.reports[reports:])
    assert misfits == lates(reference.late[late:])
    runtime.close()
