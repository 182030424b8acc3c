"""Random questions to engines, and what the simulator answers: (engine, size, slide, kind, inputs).

The inputs of one question are the keys of one table, so that many cases cost one query.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import pyarrow as pa

import sash
from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery
from sash.semantics.query import Query
from sash.semantics.run_as_engine import engine_window
from sash.semantics.secret import PROFILES, Axis, Profile, model, profile, trace
from sash.semantics.secret.arrivals import arrivals
from sash.semantics.window import Window
from tests.semantics.test_secret_published import PUBLISHED

ENGINES = tuple(name for name in PROFILES if name != "azure")  # its t0 is not known
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("e", pa.int64())])
Shown = tuple[int, int | None, int | None, int, tuple[int, ...]]
"""(identifier, start, end, revision, indexes of the events) of one report."""


@dataclass(frozen=True)
class Question:
    """One query, and the times of each of its keys."""

    engine: str | Profile
    size: int
    slide: int
    kind: Literal["time", "count"]
    inputs: dict[str, tuple[int, ...]]

    @property
    def profile(self) -> Profile:
        return profile(self.engine) if isinstance(self.engine, str) else self.engine

    @property
    def declared(self) -> Window:
        return sash.rows(self.size, every=self.slide) if self.kind == "count" else sash.sliding(
            self.size, every=self.slide
        )  # fmt: skip

    @property
    def window(self) -> Window:
        return engine_window(self.declared, self.engine)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All keys as one stream: by time, those of one time in the order of the keys."""
        rows = [
            {"k": key, "t": time, "e": index}
            for key, times in self.inputs.items()
            for index, time in enumerate(times)
        ]
        return sorted(rows, key=lambda row: row["t"])

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, schema=SCHEMA)

    def batches(self, rng: random.Random) -> list[pa.Table]:
        """The stream, cut anywhere; some batches are empty."""
        cuts = sorted(rng.choices(range(len(self.rows) + 1), k=rng.randint(0, 5)))
        edges = [0, *cuts, len(self.rows)]
        return [self.table.slice(lo, hi - lo) for lo, hi in pairwise(edges)]

    def expected(self, *, ended: bool) -> dict[str, list[Shown]]:
        """What the simulator returns for each key; `ended` when the input is bounded."""
        by_key = {key: self._reports(times, ended=ended) for key, times in self.inputs.items()}
        return {key: reports for key, reports in by_key.items() if reports}

    def _reports(self, times: tuple[int, ...], *, ended: bool) -> list[Shown]:
        if not times:
            return []
        if self.profile.watermark and self.kind == "count":
            # Beyond the model: the event that completes a window reports it, as the next one would.
            times = (*times, times[-1])
        elif self.profile.watermark:
            # Beyond the model: the clock is that of all keys, and the end of an input closes what is open.
            newest = max(time for own in self.inputs.values() for time in own)
            after = times[-1] + self.size + self.slide if ended else newest
            times = (*times, after) if after > times[-1] else times
        reports = trace(self.engine, times, self.size, self.slide, kind=self.kind)
        events = arrivals(times)
        windows = model.windows_of(self.profile, Axis(self.kind), events, self.size, self.slide)
        seen: Counter[int] = Counter()
        shown: list[Shown] = []
        for report in reports:
            lower, _ = windows.scope(report.instant)
            held = tuple(report.content)
            if self.kind == "time":
                w, start, end = (lower + 1) // self.slide, lower + 1, lower + 1 + self.size
            else:
                w = lower // self.slide
                start, end = (times[held[0]], times[held[-1]]) if held else (None, None)
            shown.append((w, start, end, seen[lower], held))
            seen[lower] += 1
        return shown


def shown(rows: Iterable[dict[str, Any]]) -> dict[str, list[Shown]]:
    """The reports of a runtime, by key, in order of window and revision."""
    found: dict[str, list[Shown]] = {}
    for row in rows:
        window, held = row["window"], tuple(row["held"] or ())
        report = (window["id"], window["start"], window["end"], row.get("revision", 0), held)
        found.setdefault(row["k"], []).append(report)
    return {key: sorted(reports, key=lambda r: (r[0], r[3])) for key, reports in found.items()}


def questions(count: int, *, inputs: int, seed: int, engines: Sequence[str] = ENGINES) -> list[Question]:
    """Random ones, every engine in turn."""
    rng = random.Random(seed)
    return [_question(rng, engines[number % len(engines)], inputs) for number in range(count)]


def on_one_input(questions: Sequence[Question]) -> list[Question]:
    """The same questions about the inputs of the first."""
    return [replace(question, inputs=questions[0].inputs) for question in questions]


def one_query(questions: Sequence[Question]) -> BoundQuery:
    """All questions as windows of one query, named by their number."""
    windows = tuple(question.window.named(str(number)) for number, question in enumerate(questions))
    return BoundQuery(Query(windows, {"held": built_in.collect("e")}), SCHEMA, "t", ("k",))


def answers(rows: Iterable[dict[str, Any]], questions: Sequence[Question]) -> list[dict[str, list[Shown]]]:
    """What `one_query` reports for each question."""
    kept = list(rows)
    return [
        shown(row for row in kept if row["window"]["name"] == str(number))
        for number in range(len(questions))
    ]


def _question(rng: random.Random, engine: str, inputs: int) -> Question:
    counts = profile(engine).scope.count is not None and rng.random() < 0.5
    kind: Literal["time", "count"] = "count" if counts else "time"
    times = {f"input {number}": _times(rng) for number in range(inputs)}
    return Question(engine, rng.randint(1, 9), rng.randint(1, 9), kind, times)


def _times(rng: random.Random) -> tuple[int, ...]:
    """Ties are what engines disagree on; jumps leave windows empty; origins matter before time 0."""
    time, times = rng.randint(-15, 30), []
    for _ in range(rng.randint(0, 14)):
        times.append(time)
        time += rng.choice((0, 0, 1, 1, 2, 3, 7, 20))
    return tuple(times)


def published() -> list[Question]:
    """The experiments of the papers."""
    return [
        Question(engine, size, slide, kind, {"paper": times})
        for times, size, slide, kind, engines, _ in PUBLISHED
        for engine in engines.split()
    ]
