"""Beyond the model: what SECRET leaves open, measured on a live engine with one small run each.

    disorder, lateness, whose watermark, sessions, end of input, empty windows, gaps, times before 1970,
    count windows

Each question is a run and a reading of what was seen; the finding quotes both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sash.engines.crash_recovery import RUN as FAILING, after_a_failure
from sash.engines.findings import Evidence, Finding
from sash.engines.probe_run import Engine, HasClockWindows, ProbeRun, Seen, written


@dataclass(frozen=True, slots=True)
class Question:
    """A run, and how its answer reads."""

    parameter: str
    run: ProbeRun
    reading: Callable[[Seen], str]


def _within_the_delay(seen: Seen) -> str:
    return "counted" if any({1, 2} <= set(held) for held in seen.reports) else _lateness(seen, 2)


def _lateness(seen: Seen, event: int) -> str:
    holding = [held for held in seen.reports if event in held]
    if event in seen.late:
        return "late output"
    if not holding:
        return "dropped"
    if (0,) not in seen.reports:
        return "counted"
    return "reported again, corrected" if (0, event) in holding else "reported again, the late event alone"


def _watermark_of(seen: Seen) -> str:
    counted = any({0, 3} <= set(held) for held in seen.reports + seen.flushed)
    return "of its key" if counted else "of the stream"


def _judged_by(seen: Seen) -> str:
    return (
        "the one before the newest" if any({0, 2} <= set(held) for held in seen.reports) else "the newest"
    )


def _sessions(seen: Seen) -> str:
    return "merges" if (0, 1) in seen.reports + seen.flushed else "splits"


def _end(seen: Seen) -> str:
    return "flushed" if seen.flushed else "not flushed"


def _emptiness(seen: Seen) -> str:
    return "reported" if () in seen.reports else "not reported"


def _early(seen: Seen) -> str:
    if any(0 in held for held in seen.reports):
        return "as later ones"
    return "windows that end by 1970 are lost"


def _counted(seen: Seen) -> str:
    if (0, 1, 2) in seen.reports:
        return "shown with the event that completes them"
    return "shown later than the event that completes them"


QUESTIONS = (
    Question(
        "out of order, within the delay",
        ProbeRun(times=(10, 15, 12, 30), size=4, slide=4, delay=5),
        _within_the_delay,
    ),
    Question(
        "out of order, beyond the delay",
        ProbeRun(times=(10, 15, 20, 25, 9, 40), size=4, slide=4),
        lambda seen: _lateness(seen, 4),
    ),
    Question(
        "late, watermark at the window's end",
        ProbeRun(times=(10, 12, 9, 30), size=4, slide=4),
        lambda seen: _lateness(seen, 2),
    ),
    # In both runs events of one window: the first, and one that comes when the stream has long passed it.
    # Two events pass it where keys differ, so that the next question does not answer this one.
    Question(
        "watermark that judges an event, keys",
        ProbeRun(times=(30, 40, 41, 31, 60), size=4, slide=4, keys=tuple("abbab")),
        _watermark_of,
    ),
    Question(
        "watermark that judges the next arrival",
        ProbeRun(times=(30, 40, 31, 60), size=4, slide=4),
        _judged_by,
    ),
    Question("session, exactly the gap", ProbeRun(times=(1, 3, 20), size=2, kind="session"), _sessions),
    Question("end of input", ProbeRun(times=(10, 11), size=5, slide=5), _end),
    Question("empty windows", ProbeRun(times=(10, 30), size=3, slide=3), _emptiness),
    Question(
        "gaps between windows", ProbeRun(times=tuple(range(10, 20)), size=2, slide=5), lambda _: "taken"
    ),
    Question("times before 1970", ProbeRun(times=(-5, -4, 0, 3), size=5, slide=2), _early),
    Question("full count windows", ProbeRun(times=(10, 11, 12), size=3, slide=3, kind="count"), _counted),
)


def edge_findings(engine: Engine) -> tuple[Finding, ...]:
    """One finding for each question; without a run where the engine has no such windows."""
    possible = [question for question in QUESTIONS if question.run.kind in engine.kinds]
    seen = dict(zip(possible, engine.answer([question.run for question in possible]), strict=True))
    asides = (_processing_time(engine), _failure(engine))
    return (*(_finding(question, seen.get(question)) for question in QUESTIONS), *asides)


def _processing_time(engine: Engine) -> Finding:
    """How windows over the time of processing are aligned, by their starts modulo their size."""
    starts = engine.window_starts() if isinstance(engine, HasClockWindows) else []
    phases = sorted({start % 1000 for start in starts})
    value = {(): "no such windows", (0,): "aligned to 1970"}.get(tuple(phases), "aligned by the user")
    evidence = (Evidence("3 events, windows of 1 s", f"starts, modulo 1 s: {phases} ms"),) if starts else ()
    return Finding(parameter="processing time", value=value, evidence=evidence)


def _failure(engine: Engine) -> Finding:
    [calm] = engine.answer([FAILING])
    return after_a_failure(engine.name, calm.reports + calm.flushed)


def _finding(question: Question, seen: Seen | None) -> Finding:
    if seen is None:
        return Finding(parameter=question.parameter, value=f"no {question.run.kind} windows")
    fed = str(question.run)
    if seen.unmeasured:
        return Finding(parameter=question.parameter, value=None, remark=f"not measured: {seen.unmeasured}")
    if seen.refused:
        return Finding(
            parameter=question.parameter, value="refused", evidence=(Evidence(fed, seen.refused),)
        )
    return Finding(
        parameter=question.parameter, value=question.reading(seen), evidence=(Evidence(fed, _shown(seen)),)
    )


def _shown(seen: Seen) -> str:
    parts: Sequence[tuple[str, str]] = (
        ("", written(seen.reports)),
        ("at the end of the input: ", written(seen.flushed) if seen.flushed else ""),
        ("late output: ", written([seen.late]) if seen.late else ""),
    )
    return "; ".join(label + words for label, words in parts if words)
