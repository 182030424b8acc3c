"""A query that knows its input: explain it, run it, or take it on as a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sash.api.source import Source
from sash.errors import Unsupported
from sash.operators.bound import BoundQuery, BoundWhole
from sash.operators.windowers import vectorised


@dataclass(frozen=True)
class WindowQuery:
    """Windows and aggregates over an input. Nothing runs until it is asked for."""

    source: Source
    bound: BoundQuery

    def __post_init__(self) -> None:
        if self.source.bounded and self.bound.query.emit.early:
            raise Unsupported(
                "emit", self.bound.query.emit.when.value, "'close' for a bounded input",
                hint="Early reports are of windows that are still open; here all input is there at once.",
            )  # fmt: skip

    def dataframe(self) -> Any:
        """The reports as a DataFrame of the kind that went in: Spark for Spark, pandas for pandas."""
        return self.source.dataframe(self.bound)

    def collect(self) -> pa.Table:
        """The reports of a bounded input as an Arrow table, in order."""
        return self.bound.ordered(self.source.collect(self.bound))

    def late(self) -> LateOutput:
        """The events that are in no window, each with the reason, as their own query."""
        return LateOutput(self.source, self.bound)

    def explain(self) -> str:
        """What this query means and how it will be computed. Printed, and returned as text."""
        text = "\n".join(self._lines())
        print(text)
        return text

    def _lines(self) -> list[str]:
        query, bound = self.bound.query, self.bound
        lines = ["semantics"]
        for window in query.windows:
            lines += [f"  {window.label}  ({window.context.value})", f"    {window.formula}"]
            if not vectorised(window):
                lines.append("    evaluated event by event: correct, but slow on large inputs")
        keys = ", ".join(bound.keys) or "none"
        lines.append(f"  {query.order.value} order of {bound.time}, by key ({keys})")
        lines.append("computed over each window")
        if isinstance(bound, BoundWhole):
            lines.append(f"  {type(bound.computation).__name__.lower()}: whole windows, anew for each")
        for name, monoid in bound.aggregates.items():
            algebra = "commutative" if monoid.commutative else "ordered"
            lines.append(f"  {name}: {monoid.name}({', '.join(monoid.columns)}), {algebra}")
        lines.append("stages")
        lines += [f"  {number}. {stage}" for number, stage in enumerate(self.source.stages(bound), start=1)]
        return lines

    def __repr__(self) -> str:
        windows = ", ".join(window.label for window in self.bound.query.windows)
        return f"<sash query: {windows} → {', '.join(field.name for field in self.bound.values)}>"


@dataclass(frozen=True)
class LateOutput:
    """The events that a query could not place: the input columns, the window that refused, the reason."""

    source: Source
    bound: BoundQuery

    def dataframe(self) -> Any:
        return self.source.late_dataframe(self.bound)

    def collect(self) -> pa.Table:
        return self.source.collect_late(self.bound)
