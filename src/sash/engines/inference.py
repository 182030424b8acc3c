"""Infer the parameters of an engine from its answers: Tick, then Report, then Scope, then Pick.

    findings  =  what every surviving hypothesis agrees on, with the run that struck out each other value

The runs of `parameter_runs` come first. Then, as long as two hypotheses survive that answer some random run
differently, the engine gets that run. What is left no run that was tried distinguishes: the simplest is
chosen, and the others are listed with it.

Three things end an inference without a profile: the engine never reports, the same run gives different
answers, or no hypothesis explains what was seen. Each is a finding without a value, with what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random

from sash.engines.findings import Evidence, Finding
from sash.engines.hypotheses import FLAGS, ORDER, Hypothesis, all_hypotheses
from sash.engines.parameter_runs import PICK, REPORT, SCOPE, TICK
from sash.engines.probe_run import EventNumbers, ProbeRun, random_run, written
from sash.semantics.secret import Axis, Profile, Scope

RunEngine = Callable[[Sequence[ProbeRun]], list[tuple[EventNumbers, ...] | None]]
"""Runs in, what the engine showed out: the reports that are in the model; None where it refused."""

_TRIED = 800
_ROUNDS = 12
_AT_ONCE = 4
_SHOWN = 6
_REPEATED = 4


@dataclass(slots=True)
class Elimination:
    """The hypotheses about one kind of windows that no run has contradicted yet, and the runs so far."""

    kind: Axis
    alive: list[Hypothesis]
    answers: list[tuple[ProbeRun, tuple[EventNumbers, ...]]] = field(default_factory=list)
    evidence: dict[str, list[Evidence]] = field(default_factory=dict)
    trouble: str = ""
    unknown: tuple[str, ...] = ()
    """The parameters that the trouble is about; all of them when empty."""

    @property
    def parameters(self) -> tuple[str, ...]:
        if self.kind is Axis.TIME:
            return ("tick", "report", "t0")
        return ("count tick", "report", "i0", "pick")

    def strike(self, run: ProbeRun, seen: tuple[EventNumbers, ...] | None) -> None:
        """Strike out what the run contradicts, and note which values of which parameter died with it."""
        if seen is None:
            return
        self.answers.append((run, seen))
        if self.trouble:
            return
        left = [one for one in self.alive if one.explains(run, seen)]
        for parameter in self.parameters:
            parts = FLAGS if parameter == "report" else (parameter,)
            gone = [value for one in parts for value in _values(self.alive, one) - _values(left, one)]
            if gone and left:
                note = Evidence(str(run), written(seen), ", ".join(sorted(gone)))
                self.evidence.setdefault(parameter, []).append(note)
        if not left:
            self.trouble = f"no combination of parameters explains {run} → {written(seen)}"
            return
        self.alive = left

    def settle_scope(self, scope: Sequence[tuple[ProbeRun, tuple[EventNumbers, ...] | None]]) -> None:
        """From here on each known formula of the origin is a hypothesis, and must explain all runs so far.

        When none does, tick and report still stand, as some t0 explains each run; the formula is unknown.
        """
        formulas = [replace(one, origin=origin) for one in self.alive for origin in ORDER[self.kind]]
        trial = Elimination(self.kind, formulas)
        for run, seen in [*self.answers, *scope]:
            trial.strike(run, seen)
        if not trial.trouble:
            self.alive, self.answers = trial.alive, trial.answers
            for parameter, notes in trial.evidence.items():
                self.evidence.setdefault(parameter, []).extend(notes)
            return
        for run, seen in scope:
            self.strike(run, seen)
        if not self.trouble:
            self.trouble, self.unknown = "no known formula explains the origins", (self.parameters[2],)
            simplest, shown = self.alive[0], [(run, seen) for run, seen in scope if seen is not None]
            self.evidence[self.parameters[2]] = [
                Evidence(str(run), written(seen), f"all but {sorted(simplest.starts(run, seen))}")
                for run, seen in shown
            ]

    def findings(self) -> list[Finding]:
        """One finding per parameter; without a value where the hypotheses were refuted together."""
        found = []
        for parameter in self.parameters:
            evidence = tuple(self.evidence.get(parameter, ()))
            if self.trouble and parameter in (self.unknown or self.parameters):
                shown = evidence or tuple(Evidence(str(run), written(seen)) for run, seen in self.answers)
                found.append(_unknown(parameter, self.trouble, shown[:_SHOWN]))
                continue
            value = self.alive[0].value(parameter)
            also = tuple(dict.fromkeys(str(one.value(parameter)) for one in self.alive))
            others = tuple(other for other in also if other != value)
            found.append(Finding(parameter=parameter, value=value, evidence=evidence, also=others))
        return found


def _values(hypotheses: Sequence[Hypothesis], parameter: str) -> set[str]:
    return {value for one in hypotheses if (value := one.value(parameter)) is not None}


def _unknown(parameter: str, remark: str, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(parameter=parameter, value=None, evidence=evidence, remark=remark)


@dataclass(frozen=True, slots=True)
class Inferred:
    """A profile, or None with the reason; and one finding for each parameter."""

    profile: Profile | None
    findings: tuple[Finding, ...]
    remark: str = ""


def infer(
    run_engine: RunEngine, kinds: Sequence[Axis], *, scope_runs: int | None = None, seed: int = 1
) -> Inferred:
    """The parameters of the engine behind `run_engine`, for the kinds of windows that it has.

    `scope_runs` bounds the runs of the Scope phase for slow engines.
    """
    time = _eliminate(run_engine, Axis.TIME, scope_runs, seed, ()) if Axis.TIME in kinds else None
    agreed = time.alive if time and not time.trouble else ()
    count = _eliminate(run_engine, Axis.COUNT, scope_runs, seed, agreed) if Axis.COUNT in kinds else None
    both = [one for one in (time, count) if one is not None]
    findings: dict[str, Finding] = {}
    for finding in (finding for one in both for finding in one.findings()):
        # Both kinds have a Report; count windows, which come second, only decide what was left open.
        if finding.parameter not in findings or not findings[finding.parameter].evidence:
            findings[finding.parameter] = finding
    trouble = "; ".join(f"{one.kind} windows: {one.trouble}" for one in both if one.trouble)
    survivors = {one.kind: one.alive for one in both if not one.trouble}
    return Inferred(_profile(survivors), tuple(findings.values()), trouble)


def _profile(survivors: Mapping[Axis, list[Hypothesis]]) -> Profile | None:
    """The simplest that survived; of one kind of windows only, if the other could not be inferred."""
    if len(survivors) < 2:
        return next((one.profile(one.origin) for [one, *_] in survivors.values() if one.origin), None)
    time, count = survivors[Axis.TIME], survivors[Axis.COUNT]
    # Count windows were only tried with reports that time windows agree with, so there is a pair.
    second = count[0]
    first = next(one for one in time if (one.report, one.period) == (second.report, second.period))
    return Profile(
        scope=Scope(time=first.origin, count=second.origin),
        report=first.report,
        period=first.period,
        tick=first.tick,
        count_tick=second.tick,
        pick=second.pick,
    )


def _eliminate(
    run_engine: RunEngine, kind: Axis, scope_runs: int | None, seed: int, agreed: Sequence[Hypothesis]
) -> Elimination:
    state = Elimination(kind, all_hypotheses(kind, reports=agreed))
    early = [*TICK[kind], *REPORT[kind], *PICK[kind]]
    scope = list(SCOPE[kind])
    Random(seed).shuffle(scope)
    answers = run_engine(early)
    state.trouble = "" if any(answers) else "the engine never reports"
    for run, seen in zip(early, answers, strict=True):
        state.strike(run, seen)
    if not state.trouble:
        scope = scope[:scope_runs]
        state.settle_scope(list(zip(scope, run_engine(scope), strict=True)))
        _distinguish(run_engine, state, Random(seed))
    # Answers that vary can look like anything; where something is wrong, all runs are repeated.
    runs = [run for run, _ in state.answers]
    _require_the_same(run_engine, state, runs if state.trouble else runs[:_REPEATED])
    return state


def _require_the_same(run_engine: RunEngine, state: Elimination, runs: Sequence[ProbeRun]) -> None:
    before = dict(state.answers)
    for run, after in zip(runs, run_engine(runs), strict=True):
        if before[run] != after:
            first, then = written(before[run]), written(after or ())
            state.trouble = f"answers vary from run to run: {run} → {first}, then {then}"
            state.unknown = ()
            return


def _distinguish(run_engine: RunEngine, state: Elimination, source: Random) -> None:
    """Run random runs on which the survivors disagree, until none is found."""
    for _ in range(_ROUNDS):
        tried = (random_run(source, state.kind) for _ in range(_TRIED))
        decisive = list(islice((run for run in tried if _disagree(state.alive, run)), _AT_ONCE))
        if state.trouble or not decisive:
            return
        for run, seen in zip(decisive, run_engine(decisive), strict=True):
            state.strike(run, seen)


def _disagree(hypotheses: Sequence[Hypothesis], run: ProbeRun) -> bool:
    answers = (run.simulated(one.profile(one.origin)) for one in hypotheses if one.origin)
    first = next(answers, None)
    return any(other != first for other in answers)
