"""What a pipeline file may contain: one frozen class for each of its tables, one field for each key.
`binding.py` makes a query of it, `contradictions.py` has what does not go together.

    [source]      where rows come from              [sink]   where reports go
    [stream]      their time and keys               [late]   where events go that are in no window
    [query]       windows, or look-backs            [run]    when, and from which checkpoint on
    [aggregates]  name = "words"                    [spark]  settings of the session

Several queries over one source are several tables [[query]], each with a name and with the tables
[query.aggregates], [query.sink] and [query.late] of its own.

A field has its own reader, so that a key is declared in one place: its name, its type, how
it is read and what it is when it is left out. What the classes hold is already understood: windows and
aggregates, not their words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sash.aggregation.monoid import Monoid
from sash.pipeline import value_readers
from sash.pipeline.aggregates_and_patterns import pattern_of
from sash.pipeline.formats import SINKS, SOURCES
from sash.pipeline.line_errors import FileLines
from sash.pipeline.line_numbers import PathInDocument
from sash.planner.auto_declaration import AUTO, Parallelism
from sash.runtimes.trigger import AVAILABLE_NOW, Trigger
from sash.semantics.durations import DurationLike
from sash.semantics.query import Emit
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow

READ, EACH = "read", "each"


def by(read: Callable[[Any, str], Any], *, each: Callable[[Any, str], Any] | None = None) -> Any:
    """The metadata of a field that is read with `read(given, name)`. Where it is a list, `each` reads its
    elements one by one, so that an error can point at the line of one."""
    return {READ: read, EACH: each}


@dataclass(frozen=True, kw_only=True)
class SourceTable:
    format: str = field(metadata=by(value_readers.one_of(*SOURCES)))
    path: str = field(metadata=by(value_readers.text), default="")
    table: str = field(metadata=by(value_readers.text), default="")
    """Of a catalog, for delta and iceberg."""
    schema: str = field(metadata=by(value_readers.schema), default="")
    """Columns and types as Spark writes them; of the JSON in `value` for kafka and socket."""
    select: tuple[str, ...] = field(metadata=by(value_readers.texts), default=())
    """Expressions of Spark SQL over the columns of the source; all columns as they are when left out."""
    options: Mapping[str, str] = field(metadata=by(value_readers.options), default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StreamTable:
    time: str = field(metadata=by(value_readers.text))
    key: tuple[str, ...] = field(metadata=by(value_readers.texts), default=())
    delay: DurationLike = field(metadata=by(value_readers.length), default=0)
    allowed_lateness: DurationLike = field(metadata=by(value_readers.length), default=0)
    order: str = field(metadata=by(value_readers.one_of("event-time", "arrival")), default="event-time")
    idle: DurationLike | None = field(metadata=by(value_readers.lookback), default=None)
    forget_after: DurationLike | None = field(metadata=by(value_readers.lookback), default=None)


@dataclass(frozen=True, kw_only=True)
class QueryTable:
    windows: tuple[Window, ...] = field(
        metadata=by(value_readers.listed, each=value_readers.window), default=()
    )
    rolling: tuple[DurationLike | SlideByTupleWindow, ...] = field(
        metadata=by(value_readers.listed, each=value_readers.rolling), default=()
    )
    latest: tuple[DurationLike | SlideByTupleWindow, ...] = field(
        metadata=by(value_readers.listed, each=value_readers.rolling), default=()
    )
    every: DurationLike | None = field(metadata=by(value_readers.lookback), default=None)
    decay: Literal["watermark", "clock"] = field(
        metadata=by(value_readers.one_of("watermark", "clock")), default="watermark"
    )
    """Both are of `latest`."""
    emit: Emit = field(metadata=by(value_readers.emit), default=Emit())
    empty: bool = field(metadata=by(value_readers.flag), default=False)
    flat: bool = field(metadata=by(value_readers.flag), default=False)
    semantics: str = field(metadata=by(value_readers.engine), default="")
    parallel: Parallelism = field(
        metadata=by(lambda given, name: pattern_of(given, argument=name)), default=AUTO
    )
    online: str = field(metadata=by(value_readers.online), default="")
    """Where the look-backs of a stream are published by key."""

    @property
    def kind(self) -> str:
        """The key that has its windows or look-backs."""
        return "rolling" if self.rolling else "latest" if self.latest else "windows"


@dataclass(frozen=True, kw_only=True)
class NamedQueryTable(QueryTable):
    """One of several."""

    name: str = field(metadata=by(value_readers.name))


@dataclass(frozen=True, kw_only=True)
class SinkTable:
    format: str = field(metadata=by(value_readers.one_of(*SINKS)))
    path: str = field(metadata=by(value_readers.text), default="")
    table: str = field(metadata=by(value_readers.text), default="")
    overwrite: bool = field(metadata=by(value_readers.flag), default=False)
    """Whether a batch run takes the place of what is there."""
    keys: tuple[str, ...] = field(metadata=by(value_readers.texts), default=())
    """Columns or fields (window.id) by which a stream merges rows into a delta or iceberg table."""
    options: Mapping[str, str] = field(metadata=by(value_readers.options), default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunTable:
    name: str = field(metadata=by(value_readers.text), default="")
    mode: str = field(metadata=by(value_readers.one_of("stream", "batch")), default="stream")
    trigger: Trigger = field(metadata=by(Trigger.parse), default=AVAILABLE_NOW)
    checkpoint: str = field(metadata=by(value_readers.text), default="")


OWN_STREAM_KEYS = ("key", "delay", "allowed_lateness", "order", "forget_after")
"""Keys of [stream] that one of several queries may have for itself."""


@dataclass(frozen=True, kw_only=True)
class DeclaredQuery:
    """A query with where its rows go: that of [query], or one of the [[query]]."""

    name: str
    """Empty for that of [query]."""
    at: PathInDocument
    """Where it stands: () for [query], whose tables stand beside it, ("query", n) for one of several."""
    stream: StreamTable
    """As in [stream], with what the query has for itself."""
    query: QueryTable
    aggregates: Mapping[str, Monoid]
    sink: SinkTable
    late: SinkTable | None = None

    def place(self, table: str, *keys: str | int) -> PathInDocument:
        """Where one of its tables stands, or a key of that table."""
        own = self.at if self.at and table in ("query", "stream") else (*self.at, table)
        return (*own, *keys)

    @property
    def sinks(self) -> dict[str, SinkTable]:
        """By table."""
        return {"sink": self.sink} | ({} if self.late is None else {"late": self.late})


def titled(place: PathInDocument) -> str:
    """A table as it is written in the file.

    >>> titled(("sink",)), titled(("query", 1)), titled(("query", 1, "sink"))
    ('[sink]', '[[query]]', '[query.sink]')
    """
    names = ".".join(part for part in place if isinstance(part, str))
    return f"[[{names}]]" if isinstance(place[-1], int) else f"[{names}]"


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A pipeline, as a file declares it."""

    file: Path
    file_lines: FileLines
    """Where each key stands, for what turns out to be wrong only later."""
    source: SourceTable
    queries: tuple[DeclaredQuery, ...]
    run: RunTable = field(default_factory=RunTable)
    spark: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the running query: what Spark calls it, and the table of the memory sink."""
        return self.run.name or value_readers.identifier(self.file.stem)

    def name_of(self, query: DeclaredQuery) -> str:
        """Of one of its queries, among those of all pipelines."""
        return f"{self.name}_{query.name}" if query.name else self.name

    @property
    def together(self) -> bool:
        """Whether its queries stand in tables [[query]], be it one: another may be added later."""
        return any(query.name for query in self.queries)

    @property
    def streaming(self) -> bool:
        return self.run.mode == "stream"

    def located(self, path: str) -> str:
        """A path as Spark should have it: one without a scheme is relative to the folder of the file."""
        return path if "://" in path else str(self.file.parent.resolve() / path)
