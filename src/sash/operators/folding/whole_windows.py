"""Whole windows handed to a user's function: what cannot be written as a monoid.

    apply:  fn(events of the window)              →  one row, or several
    fold:   step(… step(step(init, e₁), e₂) …)    →  one row

Both see the events of one window in the query's order. They are computed from all events of a window, so
their cost grows with it; a monoid's does not. A fold over windows that only grow goes on from its last
accumulator on streams (`engine.groups.user_fold`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import PredicateError
from sash.operators.step_counter import counted
from sash.operators.windows.ranges import Ranges
from sash.semantics.event import Row


class WholeWindow(Protocol):
    """A computation over the events of one window."""

    @property
    def schema(self) -> pa.Schema: ...
    def rows(self, events: pa.Table) -> list[Mapping[str, Any]]: ...


@dataclass(frozen=True)
class Apply:
    """`fn(pyarrow.Table)` answers with a dict (one row), a list of dicts, or a table."""

    fn: Callable[[pa.Table], Any]
    schema: pa.Schema

    def rows(self, events: pa.Table) -> list[Mapping[str, Any]]:
        answer = self.fn(events)
        if isinstance(answer, Mapping):
            return [answer]
        if isinstance(answer, pa.Table | pa.RecordBatch):
            return list(answer.to_pylist())
        if isinstance(answer, list | tuple) and all(isinstance(row, Mapping) for row in answer):
            return list(answer)
        raise TypeError(f"it returned {answer!r}, not a dict, a list of dicts or a table")


@dataclass(frozen=True)
class Fold:
    """`step(accumulator, row)` answers with the next accumulator; the last one is the result."""

    init: Any
    step: Callable[[Any, Row], Any]
    schema: pa.Schema

    def rows(self, events: pa.Table) -> list[Mapping[str, Any]]:
        total = self.init() if callable(self.init) else deepcopy(self.init)
        for values in events.to_pylist():
            total = self.step(total, Row(values))
        return [self.result(total)]

    def result(self, total: Any) -> Mapping[str, Any]:
        """The row of a last accumulator."""
        if isinstance(total, Mapping):
            return total
        parts = total if isinstance(total, tuple) else (total,)
        return dict(zip(self.schema.names, parts, strict=True))


def whole_windows(computation: WholeWindow, rows: pa.Table, ranges: Ranges) -> tuple[Ints, pa.Table]:
    """The result rows of all windows, and for each the index of the window that it belongs to."""
    owners: list[int] = []
    results: list[Mapping[str, Any]] = []
    bounds = list(zip(ranges.lo.tolist(), ranges.hi.tolist(), strict=True))
    for index, (lo, hi) in enumerate(counted(bounds)):
        try:
            found = computation.rows(rows.slice(lo, hi - lo))
        except Exception as error:
            raise PredicateError(
                f"the function over whole windows raised {type(error).__name__}: {error}; the window has "
                f"id {ranges.id[index]} and {hi - lo} event{'s' * (hi - lo != 1)} with the "
                f"columns {rows.column_names}"
            ) from error
        owners += [index] * len(found)
        results += found
    return np.array(owners, np.int64), result_table(results, computation.schema)


def result_table(results: list[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """What a user's function returned, as a table; PredicateError if it does not fit."""
    for row in results:
        if set(row) != set(schema.names):
            raise PredicateError(
                f"the function over whole windows must return the columns {schema.names}; got {list(row)}"
            )
    try:
        return pa.Table.from_pylist([dict(row) for row in results], schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise PredicateError(f"a result does not fit the schema ({schema}): {error}") from error
