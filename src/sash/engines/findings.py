"""What a probe found out about one engine, as data that can be written down, compared and printed.

    EngineFindings = who (engine, version, date) × Finding, one per parameter × Verdict on fresh runs

A `Finding` is a cell of the table: a parameter, its value, and the runs that decided it. A value of None
means that the probe could not decide; `remark` is then the reason, and the evidence shows what was seen.

>>> tick = Finding(parameter="tick", value="time", evidence=(Evidence("fed", "seen", "tuple, batch"),))
>>> EngineFindings.from_json(EngineFindings(engine="x", findings=(tick,)).to_json()).findings == (tick,)
True
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from sash.errors import ArgumentError
from sash.semantics.secret import ORIGINS, Origin, Profile, Report, Scope

FORMAT = 1
"""The version of the JSON layout."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One run, for people: what was fed, what was seen, and which values that excludes."""

    fed: str
    seen: str
    excludes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One parameter of one engine. `also` lists the values that no run distinguishes from `value`."""

    parameter: str
    value: str | None
    evidence: tuple[Evidence, ...] = ()
    also: tuple[str, ...] = ()
    remark: str = ""

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Finding:
        evidence = tuple(Evidence(**one) for one in given["evidence"])
        return cls(**{**given, "evidence": evidence, "also": tuple(given["also"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The smallest run found on which the engine and the simulation of its profile answer differently."""

    fed: str
    seen: str
    simulated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the inferred profile fared on fresh random runs, which took no part in the inference."""

    runs: int
    agreed: int
    seed: int
    difference: Difference | None = None

    def __str__(self) -> str:
        return f"{self.agreed} of {self.runs} fresh random runs reproduced"

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Verdict:
        difference = given["difference"]
        return cls(**{**given, "difference": Difference(**difference) if difference else None})


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFindings:
    """Everything that was found out about one engine.

    `findings` are SECRET's parameters ('tick', 'report', 't0', 'i0', 'count tick', 'pick'), `beyond` what
    the model leaves open. `profile` is None when they do not add up to one; `remark` is the reason.
    """

    engine: str
    version: str = ""
    date: str = ""
    profile: Profile | None = None
    findings: tuple[Finding, ...] = ()
    beyond: tuple[Finding, ...] = ()
    verdict: Verdict | None = None
    remark: str = ""

    def finding(self, parameter: str) -> Finding | None:
        """The finding on one parameter, of the model or beyond it."""
        return next((one for one in self.findings + self.beyond if one.parameter == parameter), None)

    def to_json(self) -> dict[str, Any]:
        """A structure of plain dicts, lists, words and numbers."""
        plain = {name: asdict(self)[name] for name in ("findings", "beyond", "verdict")}
        who = {"engine": self.engine, "version": self.version, "date": self.date, "remark": self.remark}
        described = profile_to_json(self.profile) if self.profile else None
        return {"format": FORMAT, **who, "profile": described, **plain}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> EngineFindings:
        if given.get("format") != FORMAT:
            raise ArgumentError("format", given.get("format"), f"{FORMAT}, the layout of this version")
        profile, verdict = given["profile"], given["verdict"]
        return cls(
            **{name: given[name] for name in ("engine", "version", "date", "remark")},
            profile=profile_from_json(profile) if profile else None,
            findings=tuple(Finding.from_json(one) for one in given["findings"]),
            beyond=tuple(Finding.from_json(one) for one in given["beyond"]),
            verdict=Verdict.from_json(verdict) if verdict else None,
        )


def write_findings(path: Path, findings: Iterable[EngineFindings]) -> None:
    """The findings on several engines as one JSON file that people can read, too."""
    plain = {"format": FORMAT, "engines": [one.to_json() for one in findings]}
    path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


_PARAMETERS = tuple(field.name for field in fields(Profile) if field.name != "scope")


def profile_to_json(profile: Profile) -> dict[str, Any]:
    """A profile as words; origins are known by their formulas.

    >>> from sash.semantics.secret import profile
    >>> profile_to_json(profile("dataflow"))["t0"]
    'β − ω − 1'
    """
    plain = {name: getattr(profile, name) for name in _PARAMETERS}
    return {
        "t0": profile.scope.time.formula if profile.scope.time else None,
        "i0": profile.scope.count.formula if profile.scope.count else None,
        **{name: str(value) if isinstance(value, StrEnum) else value for name, value in plain.items()},
        "report": [str(condition) for condition in Report if condition in profile.report],
    }


def profile_from_json(given: Mapping[str, Any]) -> Profile:
    """The profile back from its words.

    >>> from sash.semantics.secret import PROFILES
    >>> all(profile_from_json(profile_to_json(one)) == one for one in PROFILES.values())
    True
    """
    plain = {name: given[name] for name in _PARAMETERS if name in given}
    return Profile(scope=Scope(time=_origin(given["t0"]), count=_origin(given["i0"])), **plain)


def _origin(formula: str | None) -> Origin | None:
    if formula is None:
        return None
    # A formula of a newer version is still worth printing: it only cannot be computed.
    known = {origin.formula: origin for origin in ORIGINS}
    return known.get(formula) or Origin(formula, None)
