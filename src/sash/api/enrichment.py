"""A stream with the columns of a static table: `sash.stream(…).join(table, on=…)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sash.api.runtime_of_input import Source, source_of
from sash.errors import ArgumentError, Unsupported
from sash.operators.joins.lookup import Lookup, Missing
from sash.runtimes.local.local_source import LocalSource
from sash.runtimes.local.local_stream import LocalStream

On: TypeAlias = str | Sequence[str] | Mapping[str, str]


def enriched(source: Source, table: Any, *, on: On, how: Missing, suffix: str) -> Source:
    """The source of the events with what the table has for them."""
    looked_at = source_of(table)
    if not looked_at.bounded:
        raise Unsupported(
            "other", "a streaming DataFrame", "a static table with on=…",
            hint="Two streams are joined by time: sash.stream(…).join(sash.stream(…), within=…).",
        )  # fmt: skip
    lookup = Lookup(source.schema, looked_at.schema, _columns(on), how, suffix)
    if isinstance(source, LocalSource | LocalStream):
        if not isinstance(looked_at, LocalSource):
            raise Unsupported(
                "other", "a static DataFrame, where the stream is a table in this process",
                "an Arrow table, or a pandas or polars frame",
            )  # fmt: skip
        if isinstance(source, LocalStream):
            return source.then(lambda table: lookup.of(table, looked_at.table))
        return LocalSource(lookup.of(source.table, looked_at.table), source.form)
    from sash.runtimes.spark.joins import enrichment

    return enrichment.enriched(source, _data(looked_at), lookup)


def _data(source: Any) -> Any:
    return source.table if isinstance(source, LocalSource) else source.df


def _columns(on: On) -> dict[str, str]:
    if isinstance(on, str):
        return {on: on}
    names = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    if not all(isinstance(name, str) for pair in names.items() for name in pair):
        raise ArgumentError("on", on, "names of columns, or {'column of the stream': 'of the table'}")
    return names
