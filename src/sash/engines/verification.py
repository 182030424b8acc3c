"""Does the inferred profile hold? Fresh random runs, and the smallest one on which it does not.

    agreed  =  | { run : simulate(profile, run) = what the engine showed } |

A run that differs is made smaller as long as it still differs: one event fewer, a smaller window, a shorter
silence, an earlier start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from sash.engines.findings import Difference, Verdict
from sash.engines.inference import RunEngine
from sash.engines.probe_run import ProbeRun, random_run, written
from sash.semantics.secret import Axis, Profile

_PASSES = 25
_DRAWS, _LEAST = 20, 10


def verify(run_engine: RunEngine, profile: Profile, *, runs: int, seed: int) -> Verdict:
    """How many of `runs` fresh random runs the profile reproduces. Runs that are refused do not count."""
    source, kinds = Random(f"verify {seed}"), [kind for kind in Axis if profile.scope.origin(kind)]
    answered = agreed = 0
    worst: ProbeRun | None = None
    for _ in range(_DRAWS):
        if answered == runs:
            break
        drawn = [random_run(source, source.choice(kinds)) for _ in range(max(runs - answered, _LEAST))]
        answers = [
            (run, seen) for run, seen in zip(drawn, run_engine(drawn), strict=True) if seen is not None
        ]
        answers = answers[: runs - answered]
        answered += len(answers)
        differing = [run for run, seen in answers if run.simulated(profile) != seen]
        agreed += len(answers) - len(differing)
        worst = min([*([worst] if worst else []), *differing], key=_weight, default=None)
    difference = _difference(run_engine, profile, worst) if worst else None
    return Verdict(runs=answered, agreed=agreed, seed=seed, difference=difference)


def _difference(run_engine: RunEngine, profile: Profile, run: ProbeRun) -> Difference:
    run = smallest(run_engine, profile, run)
    seen = run_engine([run])[0] or ()
    return Difference(fed=str(run), seen=written(seen), simulated=written(run.simulated(profile)))


def smallest(run_engine: RunEngine, profile: Profile, run: ProbeRun) -> ProbeRun:
    """The run, made smaller while the engine still answers otherwise than the simulation."""
    for _ in range(_PASSES):
        smaller = sorted(set(_smaller(run)), key=_weight)
        differing = _first_difference(smaller, run_engine, profile)
        if differing is None:
            return run
        run = differing
    return run


def _first_difference(runs: Sequence[ProbeRun], run_engine: RunEngine, profile: Profile) -> ProbeRun | None:
    answers = zip(runs, run_engine(runs), strict=True)
    return next((run for run, seen in answers if seen not in (None, run.simulated(profile))), None)


def _weight(run: ProbeRun) -> tuple[int, ...]:
    span = run.times[-1] - run.times[0]
    return len(run.times), run.batches is not None, span, run.size + run.slide, abs(run.times[0])


def _smaller(run: ProbeRun) -> Iterator[ProbeRun]:
    if run.batches is not None:
        yield replace(run, batches=None)
    for index in range(len(run.times)):
        batches = run.batches and run.batches[:index] + run.batches[index + 1 :]
        if len(run.times) > 1:
            yield replace(run, times=run.times[:index] + run.times[index + 1 :], batches=batches)
        for cut in _cuts(run.times[index] - run.times[index - 1] if index else 0):
            later = tuple(time - cut for time in run.times[index:])
            yield replace(run, times=run.times[:index] + later)
    # Not one by one: where windows are aligned, the size between may close in time again.
    yield from (replace(run, size=size) for size in range(1, run.size))
    yield from (replace(run, slide=slide) for slide in range(1, run.slide))
    yield from (replace(run, size=both, slide=both) for both in range(1, min(run.size, run.slide)))
    for cut in _cuts(run.times[0]):
        yield replace(run, times=tuple(time - cut for time in run.times))


def _cuts(number: int) -> set[int]:
    """What to take from a number: all, half, or one, towards 0.

    >>> sorted(_cuts(9)), sorted(_cuts(-9)), sorted(_cuts(0))
    ([1, 4, 9], [-9, -4, -1], [])
    """
    sign = 1 if number > 0 else -1
    return {sign * cut for cut in (1, abs(number) // 2, abs(number)) if cut} if number else set()
