"""What the benchmarks share: contenders that take turns, the best and the median of several rounds, tables.

Times on a shared machine drift by more than the differences that matter. So contenders alternate inside one
run, the best round of each counts, and only ratios between them are judged.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Times:
    """Seconds of the rounds of one contender."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def text(self) -> str:
        return f"{self.median:.3g} / {self.best:.3g} s"


@dataclass(frozen=True)
class Opponent:
    """Who was measured beside Sash, with which settings, over how many rows; the rounds of both."""

    name: str
    rows: int
    ours: Times
    theirs: Times


@dataclass(frozen=True)
class BenchmarkRow:
    """One measured contender. `limit` is the largest ratio to the yardstick that the project promises."""

    what: str
    seconds: float
    ratio: float
    limit: float | None = None
    opponent: Opponent | None = None
    median: float | None = None

    @property
    def reached(self) -> bool:
        return self.limit is None or self.ratio <= self.limit


@dataclass
class Table:
    """Rows under a title; printed as they come, written as JSON at the end."""

    title: str
    yardstick: str
    rows: list[BenchmarkRow] = field(default_factory=list)

    def start(self) -> None:
        print(f"\n{self.title}")
        print(f"{'':<44}{'ms':>10}{'× ' + self.yardstick:>20}{'reach':>9}")

    def add(
        self, what: str, seconds: float, ratio: float,
        *, limit: float | None = None, opponent: Opponent | None = None, times: Times | None = None,
    ) -> None:  # fmt: skip
        """`times` are the rounds that `seconds` is the best of, where their median is to be shown too."""
        row = BenchmarkRow(what, seconds, ratio, limit, opponent, times and times.median)
        self.rows.append(row)
        promised = "" if limit is None else f"≤ {limit:.3g}"
        verdict = "" if limit is None else "  met" if row.reached else "  missed"
        print(f"{what:<44}{1e3 * seconds:>10.4f}{ratio:>20.2f}{promised:>9}{verdict}", flush=True)
        if times is not None:
            other = "" if opponent is None else f"; the opponent {opponent.theirs.text}"
            print(f"    median / best: Sash {times.text}{other}", flush=True)

    def compare(
        self, times: Mapping[str, Times], *, limits: Mapping[str, float] | None = None, label: str = "{}"
    ) -> None:
        """A row for each contender, by its best round; the first is the yardstick. Below each other one is
        the ratio of the medians: where the two ratios differ much, neither is known well."""
        first = next(iter(times.values()))
        for name, rounds in times.items():
            limit = (limits or {}).get(name)
            self.add(label.format(name), rounds.best, rounds.best / first.best, limit=limit, times=rounds)
            if rounds is not first:
                print(f"    by medians {rounds.median / first.median:.2f} ×", flush=True)

    def markdown(self) -> str:
        """
        >>> table = Table("two instances", yardstick="one")
        >>> table.rows.append(BenchmarkRow("two", 0.05, 0.5, limit=0.6))
        >>> print(table.markdown())
        | two instances | ms | × one | promised |
        |---|---|---|---|
        | two | 50.0 | 0.50 | ≤ 0.6 |
        """
        lines = [f"| {self.title} | ms | × {self.yardstick} | promised |", "|---|---|---|---|"]
        for row in self.rows:
            promised = "" if row.limit is None else f"≤ {row.limit:.3g}"
            lines.append(f"| {row.what} | {1e3 * row.seconds:,.1f} | {row.ratio:.2f} | {promised} |")
        return "\n".join(lines)

    def against(self, opponent: Opponent, *, limit: float | None = None) -> None:
        """Sash beside one opponent, by their best rounds: a row of what `make bench` ends with."""
        ours, theirs = opponent.ours, opponent.theirs
        ratio = ours.best / theirs.best
        self.add(f"against {opponent.name}", ours.best, ratio, limit=limit, opponent=opponent, times=ours)


def elapsed(run: Callable[[], Any]) -> float:
    """Seconds of a run by the clock."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def returned(run: Callable[[], Any]) -> float:
    """Seconds of a run that knows which part of it counts."""
    return float(run())


def turns(
    contenders: Mapping[str, Callable[[], Any]],
    *,
    rounds: int,
    clock: Callable[[Callable[[], Any]], float] = elapsed,
) -> dict[str, Times]:
    """The rounds of each contender, after one round that only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            seconds = clock(run)
            if turn > 0:
                taken[name].append(seconds)
    return {name: Times(tuple(seconds)) for name, seconds in taken.items()}


def race(contenders: Mapping[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """Seconds of the best round of each contender."""
    return {name: times.best for name, times in turns(contenders, rounds=rounds).items()}


def options(
    description: str, *, parts: tuple[str, ...] = (), rows: int | None = None, page: str | None = None
) -> argparse.Namespace:
    """The options that every kernel benchmark takes; `parts` are those of one that can be run in parts.

    `rows` is the default of one that takes a number of them, `page` where one writes its tables."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of how many rounds counts")
    if parts:
        parser.add_argument("--only", nargs="+", choices=parts, default=list(parts), metavar="PART")
    if rows is not None:
        parser.add_argument("--rows", type=int, default=rows, help="how many rows, without --quick")
    if page is not None:
        parser.add_argument(
            "--to", type=Path, metavar="DIRECTORY", help=f"write the tables into its {page}"
        )
    return parser.parse_args()


def finish(tables: list[Table], chosen: argparse.Namespace) -> int:
    """Write the JSON, if wanted; the exit code is 0 if every promise was kept."""
    if chosen.json is not None:
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        content = machine | {"tables": [asdict(table) for table in tables]}
        chosen.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    kept = all(row.reached for table in tables for row in table.rows)
    return 0 if kept or chosen.quick else 1
