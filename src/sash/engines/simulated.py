"""A profile as an engine: it shows what the model computes for it. For tests, and to try the probe out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sash.engines.probe_run import ProbeRun, Seen
from sash.semantics.secret import Axis, Profile


@dataclass(frozen=True)
class Simulated:
    """Answers with the simulation of `profile`.

    >>> from sash.semantics.secret import profile
    >>> Simulated(profile("storm")).answer([ProbeRun(times=(10, 11, 12, 13), size=2, slide=2)])[0].reports
    ((0,), (1, 2))
    """

    profile: Profile
    name: str = "simulated"
    version: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(kind.value for kind in Axis if self.profile.scope.origin(kind))

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        return [Seen(reports=run.simulated(self.profile)) for run in runs]

    def close(self) -> None:
        """Nothing is kept."""
