"""Beginning a query on a stream: the part of `q.start(…)` that needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from sash.api.source import Source
from sash.errors import Unsupported
from sash.operators.bound import BoundQuery
from sash.semantics.durations import DurationLike

if TYPE_CHECKING:
    from sash.operators.elastic.declaration import Elastic


def start(
    source: Source,
    bound: BoundQuery,
    output: Literal["reports", "late"],
    sink: str | PathLike[str] | Callable[[Any, int], None],
    *,
    checkpoint: str | PathLike[str],
    elastic: Elastic | None,
    trigger: DurationLike | None,
    name: str | None,
) -> Any:
    if source.bounded:
        raise Unsupported(
            "data", "a bounded input", "a streaming DataFrame for start()",
            hint="What has an end is computed with collect() or dataframe().",
        )  # fmt: skip
    from sash.runtimes.spark import starting, streaming

    assert isinstance(source, streaming.StreamingSource), "only Spark has streams"
    return starting.start(
        source, bound, output, sink, checkpoint=checkpoint, elastic=elastic, trigger=trigger, name=name
    )
