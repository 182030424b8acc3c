"""Which pattern computes what, where: `python tools/pattern_matrix.py docs/reference/matrix.md`.

Every combination of window kind, aggregates, pattern and runtime is passed to the functions that refuse it
when a user asks for it. The page is part of the repository; a test compares it with what the code does
today. A refusal that is not in `REASONS` fails: somebody has to decide whether it is meant to stay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pyarrow as pa

import sash
from sash.aggregation import built_in
from sash.api.together import not_together
from sash.errors import SashError
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling, BoundWhole
from sash.operators.folding.whole_windows import Apply
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce
from sash.runtimes.local.local_stream import LocalStream
from sash.runtimes.spark.patterns.static_plan import impossible
from sash.runtimes.spark.patterns.stream_plan import impossible_on_streams
from sash.runtimes.spark.streaming.start import not_elastic
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Emit, Query, When
from sash.semantics.window import Window

TITLE = """# What is accepted

Written by `make docs` from the functions that refuse a query. `yes` is computed; a number is the reason
below for which it can not be, a letter stands for what nobody has built. Windows with the same row share
it. Nested patterns are as what they hold: `WinFarm(PaneFarm(…))` is accepted where `WinFarm` and `PaneFarm`
both are. `WinSeq` computes everything.

On Spark an owner of all events of a key has to find windows that a row alone does not tell: sessions,
`rows` on streams, windows that depend on later events, and all windows over windows of a stream. It hands
them to the workers of a pattern: whole to those of `WinFarm`, which is then the same as
`WinFarm(…, model="agnostic")`; in parts to those of `PaneFarm` and `WinMapReduce`. `auto` chooses no
pattern whose costs are not estimated.

| aggregates | which |
|---|---|
| numbers | commute, with elements that are numbers: `sum`, `max`, `mean`, `variance` … |
| objects | commute, with other elements: `distinct`, `top_k`, `skyline`, `max` of texts, your `encode` |
| in order | do not commute: `first`, `collect`, `ewm` … |
| whole | functions over whole windows: `.apply`, `.fold` |
"""

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("x", pa.int64()), ("flag", pa.bool_())])

KINDS: dict[str, Window] = {
    "`sliding`, `tumbling`": windows.time(10, 5),
    "`cumulate`": windows.cumulate(10, 5),
    "`rows`": windows.rows(4, every=2),
    "`session`": windows.session(5),
    "`slide_by_tuple`": windows.slide_by_tuple(10, 2),
    "`slide_by_time`": windows.slide_by_time(4, 5),
    "`delta`": windows.delta("x", 5, 2),
    "`policy`": windows.policy(lambda total, old: total.n - old.n >= 3, track={"n": built_in.count()}),
    "`threshold`": windows.threshold(lambda event: event.flag),
    "`punctuated`": windows.punctuated(lambda event: event.flag),
}
AGGREGATES = {
    "numbers": {"s": built_in.sum("x")},
    "objects": {"d": built_in.top_k("x", 3)},
    "in order": {"held": built_in.collect("x")},
}
WHOLE = "whole"
PATTERNS: dict[str, Pattern] = {
    "KeyFarm": KeyFarm(2),
    "WinFarm": WinFarm(2),
    "WinFarm, agnostic": WinFarm(2, model="agnostic"),
    "PaneFarm": PaneFarm(2, 2),
    "WinMapReduce": WinMapReduce(2, 2),
}
Refuse = Callable[[Pattern, BoundQuery], SashError | None]
STREAM = "Spark, streaming DataFrame"
PLACES: dict[str, Refuse] = {
    "In process": refusal,
    "Spark, static DataFrame": lambda pattern, bound: refusal(pattern, bound) or impossible(pattern, bound),
    STREAM: lambda pattern, bound: refusal(pattern, bound) or impossible_on_streams(pattern, bound),
}
DECLARED: dict[str, dict[str, Any]] = {
    "nothing else": {},
    "`allowed_lateness=`": {"allowed_lateness": Duration(5, Unit.TICKS)},
    '`emit="change"`, `"every …"`': {"emit": Emit(When.CHANGE)},
    "`empty=True`": {"empty": True},
    "`forget_after=`": {"forget_after": Duration(50, Unit.TICKS)},
}
"""What a stream may have besides its windows."""
ELSEWHERE: dict[str, Refuse] = {
    "streams over the windows of a stream": lambda pattern, bound: impossible_on_streams(
        pattern, bound, derived=True
    ),
    "`start(…, elastic=…)`": lambda pattern, bound: not_elastic(pattern),
    "`together(…)`": lambda pattern, bound: not_together("query", pattern),
    "an iterator of tables": lambda pattern, bound: _refused(
        lambda: LocalStream.of([SCHEMA.empty_table()]).parallel(pattern, bound)
    ),
    "joins": lambda pattern, bound: _refused(lambda: _join().parallel(pattern)),
}
MEANT = "by definition"
REASONS: dict[str, str] = {
    "are tiled by panes of one length": MEANT,
    "only known when a later event has been seen": MEANT,
    "deals events out round-robin, combines elements out of order": MEANT,
    "has no combine": MEANT,
    "there are none to share": MEANT,
    "A pattern hands out windows, and a join has none": MEANT,
    "shares look-backs of hot keys itself, without a pattern": "It needs no pattern, decision 42.",
    "workers that share its panes need no owner": "PaneFarm has the same use, decision 42.",
    "folds rows before they are in order": "It takes a shuffle more, in which rows of a pane are sorted.",
    "is not cut into parts": "KeyFarm shares out keys, which is enough unless one has most events.",
    "an elastic query chooses that for every": "Elastic is a key farm whose degree changes; windows of a "
    "key are not shared there.",
    "All queries share the buckets of their keys": "Other buckets would need another pass.",
    "One process keeps its windows": "Threads share a whole table, not a stream.",
}
"""By a part of the text of a refusal: whether it is meant to stay, or why nobody has done the work."""


@dataclass
class Notes:
    """The reasons in order of appearance."""

    by_definition: list[str] = field(default_factory=list)
    not_built: list[str] = field(default_factory=list)

    def cell(self, reason: SashError | str | None) -> str:
        if reason is None:
            return "yes"
        text = reason if isinstance(reason, str) else getattr(reason, "hint", "") or str(reason)
        meant = standing(text) == MEANT
        texts = self.by_definition if meant else self.not_built
        if text not in texts:
            texts.append(text)
        at = texts.index(text)
        return f"[{at + 1}](#why-not)" if meant else f"[{ascii_lowercase[at]}](#not-built)"

    def page(self) -> str:
        numbered = [f"{at}. {text}" for at, text in enumerate(self.by_definition, 1)]
        lettered = [
            f"| {letter} | {text} | {standing(text)} |"
            for letter, text in zip(ascii_lowercase, self.not_built, strict=False)
        ]
        why = [
            "## Why not",
            "",
            "By definition, of the windows, the aggregates or the pattern:",
            "",
            *numbered,
        ]
        effort = [
            "## Not built",
            "",
            "What could be, and is not:",
            "",
            "| | refused with | why |",
            "|---|---|---|",
        ]
        return "\n".join([*why, "", *effort, *lettered, ""])


def standing(text: str) -> str:
    """Whether a refusal is by definition, or why nobody has done the work."""
    for part, known in REASONS.items():
        if part in text:
            return known
    raise LookupError(f"is this refused by definition? Add it to REASONS: {text}")


def page() -> str:
    """The page as Markdown."""
    notes, sections = Notes(), []
    for place, refuse in PLACES.items():
        queries_here = queries(flush=place != STREAM)
        rows = _grouped((query, [*_cells(refuse, bound, notes)]) for query, bound in queries_here)
        sections += [f"## {place}", "", _table(["windows", "aggregates", *PATTERNS], rows), ""]
    refuse = PLACES[STREAM]
    bound = _bound(KINDS["`sliding`, `tumbling`"], AGGREGATES["numbers"], flush=False)
    lines = [
        [name, *_cells(refuse, replace(bound, query=replace(bound.query, **words)), notes)]
        for name, words in DECLARED.items()
    ]
    sections += ["## Streams with more than windows", "", "Of `sliding` windows of numbers.", ""]
    sections += [_table(["option", *PATTERNS], lines), ""]
    elsewhere = [[name, *_cells(refuse, bound, notes)] for name, refuse in ELSEWHERE.items()]
    sections += ["## Elsewhere", "", "`sliding` windows of numbers, except joins.", ""]
    sections += [_table(["where", *PATTERNS], elsewhere), ""]
    return "\n".join([TITLE, *sections, notes.page()])


def queries(*, flush: bool) -> Iterable[tuple[tuple[str, str], BoundQuery]]:
    for aggregates, functions in AGGREGATES.items():
        for kind, window in KINDS.items():
            yield (kind, aggregates), _bound(window, functions, flush=flush)
    computed = Apply(lambda events: {"n": events.num_rows}, pa.schema([("n", pa.int64())]))
    for kind, window in KINDS.items():
        query = Query((window,), flush=flush)
        yield (kind, WHOLE), BoundWhole(query, SCHEMA, "t", ("k",), computed)
    backwards = windows.slide_by_tuple(10, 1).named("ten")
    for aggregates, functions in AGGREGATES.items():
        query = Query((backwards,), functions, flush=flush)
        yield ("`.rolling`", aggregates), BoundRolling(query, SCHEMA, "t", ("k",))
    query = Query((backwards,), AGGREGATES["numbers"], flush=flush)
    yield ("`.latest`", "any"), BoundLatest(query, SCHEMA, "t", ("k",))


def _refused(call: Callable[[], Any]) -> SashError | None:
    try:
        call()
    except SashError as error:
        return error
    return None


def _join() -> Any:
    left, right = (sash.stream(SCHEMA.empty_table(), time="t", key="k") for _ in range(2))
    return left.join(right, within=5)


def _bound(window: Window, aggregates: dict[str, Any], *, flush: bool) -> BoundQuery:
    return BoundQuery(Query((window,), aggregates, flush=flush), SCHEMA, "t", ("k",))


def _cells(refuse: Refuse, bound: BoundQuery, notes: Notes) -> Iterable[str]:
    return (notes.cell(refuse(pattern, bound)) for pattern in PATTERNS.values())


def _grouped(rows: Iterable[tuple[tuple[str, str], list[str]]]) -> list[list[str]]:
    """Windows with the same aggregates and the same cells on one line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for (kind, aggregates), cells in rows:
        lines.setdefault((aggregates, *cells), []).append(kind)
    return [[", ".join(kinds), *line] for line, kinds in lines.items()]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(page(), encoding="utf-8")
        print(path)
