"""`sash.together(name=query, …)`: several queries over one stream, which is read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, cast

from sash.api.handle import require_unbounded
from sash.api.window_query import WindowQuery
from sash.errors import ArgumentError, SashError, Unsupported
from sash.operators.patterns.declared import Pattern
from sash.planner.auto_declaration import Auto
from sash.planner.explain.explanation_text import as_text, numbered_lines, printed, require_form, sections
from sash.runtimes.local.local_stream import LocalStream
from sash.semantics.durations import DurationLike

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import Sink
    from sash.runtimes.spark.streaming.streaming_source import StreamingSource


def together(**queries: WindowQuery) -> Together:
    """Queries that run in one pass over the stream that they share: `together(bars=q1, features=q2)`.

    Windows, look-backs (`rolling`, `latest`) and whole windows (`apply`, `fold`) in any number, each
    with its own keys, delay and late rows. The stream is read and packed once; queries with the same
    keys share a shuffle.
    """
    if not queries:
        raise ArgumentError("together", {}, "given at least one query by name, such as bars=query")
    for name, query in queries.items():
        if not name.isidentifier():
            raise ArgumentError(
                "together", name, "given queries by names of letters, digits and underscores"
            )
        if not isinstance(query, WindowQuery):
            expected = "a query over windows, such as stream.window(…).agg(…)"
            raise ArgumentError(name, type(query).__name__, expected)
        if isinstance(query.source, LocalStream):
            raise Unsupported("together", f"{name}, over an iterator", "used with a streaming DataFrame")
        require_unbounded(query.source.bounded, call=f"sash.together({name}=…)")
    first_name, first = next(iter(queries.items()))
    for name, query in queries.items():
        _require_same_stream(name, query, first_name, first)
    return Together(queries)


@dataclass(frozen=True)
class Together:
    """Queries by name, over one stream. Nothing runs until it is started.

    It is no `QueryHandle`: a handle has one answer for `collect`, `head` and `dataframe`, here there is one
    for each query, under its name; `start` takes a sink for each.
    """

    queries: Mapping[str, WindowQuery]

    def start(
        self,
        sinks: Mapping[str, Sink],
        *,
        late: Mapping[str, Sink] | None = None,
        checkpoint: str | PathLike[str],
        trigger: DurationLike | None = None,
        name: str | None = None,
        online: Mapping[str, str | PathLike[str]] | None = None,
    ) -> Any:
        """Run until it is stopped; returns the handle of the running stream, as `WindowQuery.start` does.

        sinks: where the reports of each query go, by its name.
        late:  the same for late rows, for those queries whose late rows are wanted.
        checkpoint: of all queries. One that is added or removed later leaves the others as they are: a new
            one begins with the next micro-batch.
        online: where the features of look-backs are published, by the names of their queries, each in a
            store of its own.
        """
        late, online = late or {}, online or {}
        self._require_names("sinks", sinks)
        if set(sinks) != set(self.queries):
            missing = sorted(set(self.queries) - set(sinks))
            raise ArgumentError("sinks", sorted(sinks), f"a sink for each query; {missing} have none")
        self._require_names("late", late)
        self._require_names("online", online)
        if len({fspath(store) for store in online.values()}) < len(online):
            raise ArgumentError(
                "online", dict(online), "a store for each query: another folder, or redis://…#name"
            )
        from sash.runtimes.spark.streaming.streaming_source import StreamingSource
        from sash.runtimes.spark.together.start_together import start_together

        source = next(iter(self.queries.values())).source
        assert isinstance(source, StreamingSource), "only Spark has streams"
        bounds = {name: query.bound for name, query in self.queries.items()}
        return start_together(
            source, bounds, sinks, late=late, checkpoint=checkpoint, trigger=trigger, name=name,
            flat=frozenset(name for name, query in self.queries.items() if query.plain), online=online,
        )  # fmt: skip

    def _require_names(self, argument: str, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self.queries:
                raise ArgumentError(argument, name, f"the name of a query: {', '.join(self.queries)}")

    def explain(self, form: Literal["text", "plan", "json"] = "text", /) -> str:
        """What all queries share, then what each of them means and costs, as `explain()` of a query.

        "text" and "plan", for people, are printed and returned; "json", for machines, is only returned:
        `stages`, and the explanation of each of the `queries`.
        """
        require_form(form)
        plans = {name: query.plan() for name, query in self.queries.items()}
        if form == "json":
            data = {name: json.loads(plan.explanation.as_json()) for name, plan in plans.items()}
            return json.dumps({"stages": self._stages(), "queries": data}, ensure_ascii=False)
        queries = [f"{name}: {query!r}" for name, query in self.queries.items()]
        shared = sections([("queries", queries), ("stages", numbered_lines(self._stages()))])
        alone = {
            name: str(plan) if form == "plan" else as_text(plan.explanation) for name, plan in plans.items()
        }
        return printed(
            "\n\n".join(
                [shared, *(f"{name}, as it would be alone\n{text}" for name, text in alone.items())]
            )
        )

    def _stages(self) -> list[str]:
        groups: dict[str, list[str]] = {}
        for name, query in self.queries.items():
            groups.setdefault(", ".join(query.bound.keys) or "no key", []).append(name)
        columns = {column for query in self.queries.values() for column in query.bound.columns}
        return [
            "read the stream once",
            f"pack {len(columns)} columns into a block for each bucket",
            *(
                f"buckets of ({keys}): {', '.join(names)}; {self._sent(names)}"
                for keys, names in groups.items()
            ),
            "one shuffle, one stateful step, each query with its own state",
            "each output to its own sink",
        ]

    def _sent(self, names: list[str]) -> str:
        """What travels to the buckets of these queries, which have the same keys."""
        sources = {name: cast("StreamingSource", self.queries[name].source) for name in names}
        whys = {name: source.why_rows(self.queries[name].bound) for name, source in sources.items()}
        needs = [f"{name}: {why}" for name, why in whys.items() if why is not None]
        if needs:
            return f"rows as they are: {'; '.join(needs)}"
        return "panes that they share, where that saves a quarter of the rows"

    def __repr__(self) -> str:
        return f"<sash queries together: {', '.join(self.queries)}>"


def _require_same_stream(name: str, query: WindowQuery, first_name: str, first: WindowQuery) -> None:
    from sash.runtimes.spark.streaming.streaming_source import StreamingSource

    mine, theirs = query.source, first.source
    assert isinstance(mine, StreamingSource)
    assert isinstance(theirs, StreamingSource)
    same_time = (mine.idle, query.bound.time) == (theirs.idle, first.bound.time)
    if mine.origin is not theirs.origin or not same_time:
        raise Unsupported(
            name, "a query over another stream", f"a query over the stream of {first_name}",
            hint="Make both from one streaming DataFrame, with the same time column and idle=…; time "
            "follows the clock (decay='clock') for all of them, or for none.",
        )  # fmt: skip
    if not isinstance(mine.parallelism, Auto):
        raise not_together(name, mine.parallelism)


def not_together(name: str, pattern: Pattern) -> SashError:
    """Why a query under a pattern has a pass of its own."""
    return Unsupported(
        name, f"a query under {pattern}", "without a pattern",
        hint="All queries share the buckets of their keys.",
    )  # fmt: skip
