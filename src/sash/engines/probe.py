"""Probe a live engine: infer its SECRET parameters, check them on fresh runs, and look beyond the model.

    probe(engine)  =  infer → verify → look beyond

The answer is a result in every case. Where the engine never reports, answers differently each time, or does
what no parameters explain, the findings have that, with what was seen; there is no profile then.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sash.engines.edge_questions import edge_findings
from sash.engines.findings import EngineFindings
from sash.engines.inference import infer
from sash.engines.peers import PEERS, peer
from sash.engines.probe_run import Engine, EventNumbers, ProbeRun
from sash.engines.simulated import Simulated
from sash.engines.verification import verify
from sash.errors import UnknownEngine, did_you_mean
from sash.semantics.secret import PROFILES, Axis, Profile

LIVE = ("sash", "spark_structured", *PEERS)
"""The engines that can be driven, by name."""


def probe(
    engine: str | Engine | Profile,
    *,
    runs: int = 50,
    scope_runs: int | None = None,
    beyond: bool = True,
    seed: int = 2013,
) -> EngineFindings:
    """What SECRET's experiments find out about an engine, and how far that reproduces it.

    `engine` is one of the names in LIVE, an adapter of one's own, or a profile to be simulated. `runs`
    fresh random runs check the result (0: none). `scope_runs` bounds the runs of the Scope experiments.
    `beyond` adds findings on what the model leaves open.

    >>> from sash.semantics.secret import profile
    >>> found = probe(profile("storm"))
    >>> print(found.verdict)
    50 of 50 fresh random runs reproduced
    >>> found.finding("t0").value, found.finding("count tick").value
    ('β − ω', 'tuple')
    """
    # Who opens an engine closes it: one that was given stays open.
    with (
        closing(engine_for(engine)) if isinstance(engine, str) else nullcontext(engine_for(engine)) as live
    ):
        found = _inferred(live, runs, scope_runs, seed)
        return (
            replace(found, beyond=edge_findings(live))
            if beyond and not isinstance(live, Simulated)
            else found
        )


def _inferred(live: Engine, runs: int, scope_runs: int | None, seed: int) -> EngineFindings:
    def run_engine(runs: Sequence[ProbeRun]) -> list[tuple[EventNumbers, ...] | None]:
        answers = zip(runs, live.answer(runs), strict=True)
        return [seen.in_model(run) if seen.answered else None for run, seen in answers]

    kinds = [kind for kind in Axis if kind in live.kinds]
    inferred = infer(run_engine, kinds, scope_runs=scope_runs, seed=seed)
    checked = (
        verify(run_engine, inferred.profile, runs=runs, seed=seed) if inferred.profile and runs else None
    )
    return EngineFindings(
        engine=live.name,
        version=live.version,
        date=datetime.now(UTC).date().isoformat(),
        profile=inferred.profile,
        findings=inferred.findings,
        verdict=checked,
        remark=inferred.remark,
    )


def engine_for(given: str | Engine | Profile) -> Engine:
    """An engine that can be driven, by name; adapters are taken as they are, profiles are simulated."""
    if isinstance(given, Profile):
        return Simulated(given)
    if not isinstance(given, str):
        return given
    if given == "sash":
        from sash.engines.sash_engine import Sash

        return Sash()
    if given == "spark_structured":
        from sash.engines.spark_structured import SparkStructured

        return SparkStructured()
    if given in PEERS:
        return peer(given)
    raise _not_live(given)


def _not_live(given: Any) -> UnknownEngine:
    hint = did_you_mean(given, LIVE)
    if given in PROFILES:
        hint = f"{given} has a profile, but cannot be driven from Python; simulate it instead."
    return UnknownEngine("engine", given, f"one of {', '.join(LIVE)}, or an adapter", hint=hint)
