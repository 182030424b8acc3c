"""Kinds whose windows a user's predicate cuts: `Runs.marks` has where it holds."""

from __future__ import annotations

from typing import ClassVar

from sash.arrays import Ints
from sash.operators.kinds.kind_base import GrowingKind
from sash.operators.predicates import row_predicates
from sash.semantics.window import PredicateWindow


class PredicateKind(GrowingKind[PredicateWindow]):
    """`next_id` is the number of the windows that are over."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    @property
    def on_columns(self) -> bool:
        return row_predicates.on_columns(self.window.predicate, self.schema)

    def wakes(self, times: Ints) -> Ints:
        return times
