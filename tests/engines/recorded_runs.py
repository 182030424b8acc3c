"""What live engines showed of random runs, in a file, for comparisons where they are not installed.

    python -m tests.engines.recorded_runs tests/engines/recorded_runs.json pyflink 48
    python -m tests.engines.recorded_runs tests/engines/recorded_wide_runs.json pyflink 48 wide
    python -m tests.engines.recorded_runs tests/engines/recorded_late_runs.json beam 48 late

The file has runs and, for each engine, what it showed of the first of them; the command adds what it shows
of the next 48. A line is a run, or what was shown: contents, and events that went to a late output. The
wide runs of a new file are those of `wide_family`, the late ones those of `late_family`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from sash.engines.keyed_runs import KINDS, answered, engines
from sash.engines.probe_run import Engine, ProbeRun, Seen
from sash.engines.random_runs import family, late_family, wide_family

FAMILIES, SEED = 12, 20
DRAWN = {"": partial(family, kinds=KINDS), "wide": wide_family, "late": late_family}


@dataclass
class Recording:
    """Runs, and what an engine showed of the first of them: (version, answers)."""

    runs: list[ProbeRun]
    shown: dict[str, tuple[str, list[Seen]]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Recording:
        stored = json.loads(path.read_text())
        runs = [_run(*each) for each in stored["runs"]]
        shown = {
            name: (each["version"], [_seen(*one) for one in each["shown"]])
            for name, each in stored["engines"].items()
        }
        return cls(runs, shown)

    @classmethod
    def begun(cls, runs: str = "") -> Recording:
        source, draw = Random(SEED), DRAWN[runs]
        drawn = [draw(source) for _ in range(FAMILIES)]
        return cls([run for some in drawn for run in some])

    def write(self, path: Path) -> None:
        engines = {
            name: {"version": version, "shown": [_written(one) for one in seen]}
            for name, (version, seen) in sorted(self.shown.items())
        }
        runs = [
            [run.kind, run.size, run.slide, run.delay, run.times, "".join(run.keys or ())]
            + ([run.lateness] if run.lateness else [])
            for run in self.runs
        ]
        path.write_text(_lines({"runs": runs, "engines": engines}) + "\n")

    def record(self, name: str, count: int) -> None:
        """Add what the engine shows of the next runs."""
        version, seen = self.shown.get(name, ("", []))

        def started() -> Iterator[Engine]:
            nonlocal version
            for engine in engines(name):
                version = engine.version
                yield engine

        seen = [*seen, *answered(started(), self.runs[len(seen) :][:count])]
        self.shown[name] = version, seen


def _run(
    kind: Any, size: int, slide: int, delay: int, times: Sequence[int], keys: str, lateness: int = 0
) -> ProbeRun:
    return ProbeRun(
        times=tuple(times), size=size, slide=slide, kind=kind, delay=delay, keys=tuple(keys),
        lateness=lateness,
    )  # fmt: skip


def _seen(contents: Sequence[Sequence[int]], late: Sequence[int]) -> Seen:
    return Seen(reports=tuple(map(tuple, contents)), late=tuple(late))


def _written(seen: Seen) -> list[Any]:
    return [sorted(sorted(content) for content in seen.reports + seen.flushed), sorted(seen.late)]


def _lines(value: Any, indent: str = "") -> str:
    """JSON with a line for each element of a list that is the value of a key."""
    if isinstance(value, Mapping):
        items = [f"{indent} {json.dumps(key)}: {_lines(each, indent + ' ')}" for key, each in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list):
        rows = [f"{indent} {json.dumps(each, separators=(',', ':'))}" for each in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return json.dumps(value)


def main(path: Path, name: str, count: int, runs: str = "") -> None:
    recording = Recording.read(path) if path.exists() else Recording.begun(runs)
    recording.record(name, count)
    recording.write(path)
    version, seen = recording.shown[name]
    print(f"{name} {version}: {len(seen)} of {len(recording.runs)} runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
