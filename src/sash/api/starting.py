"""Beginning a query on a stream: the part of `q.start(…)` that needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sash.api.source import Source
from sash.errors import Unsupported
from sash.operators.bound import BoundQuery
from sash.semantics.durations import DurationLike

if TYPE_CHECKING:
    from sash.operators.elastic.declaration import Elastic
    from sash.runtimes.spark.streaming.sinks import Sink


class Inputs(Protocol):
    """One input or two, and the runtime that they belong to."""

    @property
    def bounded(self) -> bool: ...


def start(
    source: Source,
    bound: BoundQuery,
    output: Literal["reports", "late"],
    sink: Sink,
    *,
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
) -> Any:
    """The reports or the late events of a query over windows."""
    _require_unbounded(source)
    from sash.runtimes.spark.streaming import start as starting
    from sash.runtimes.spark.streaming import streaming_source as streaming

    assert isinstance(source, streaming.StreamingSource), "only Spark has streams"
    return starting.start(
        source, bound, output, sink, checkpoint=checkpoint, elastic=elastic, trigger=trigger, name=name
    )


def start_join(
    runtime: Inputs,
    answer: Callable[[], Any],
    sink: Sink,
    *,
    checkpoint: str | PathLike[str],
    trigger: DurationLike | None,
    name: str | None,
) -> Any:
    """What a join answers with."""
    _require_unbounded(runtime)
    from sash.runtimes.spark.streaming.start import start_writing

    return start_writing(answer(), sink, checkpoint=checkpoint, trigger=trigger, name=name)


def _require_unbounded(inputs: Inputs) -> None:
    if inputs.bounded:
        raise Unsupported(
            "data", "a bounded input", "a streaming DataFrame for start()",
            hint="What has an end is computed with collect() or dataframe().",
        )  # fmt: skip
