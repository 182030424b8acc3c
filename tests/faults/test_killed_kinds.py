"""Every kind of window and of look-back is in a query of `OPERATORS`, which are killed; so are look-backs
that are published, and look-backs that buckets share."""

from __future__ import annotations

from collections.abc import Iterator

from sash.operators.bound_query import BoundQuery
from sash.operators.engine.state_layout import StatePlan, latest, look_back
from sash.operators.kinds import KINDS
from sash.semantics.windows import lifetime, slide_by_tuple
from tests.faults.operator_checks import HotKey
from tests.faults.operator_events import SCHEMA
from tests.faults.operators import OPERATORS


def queries() -> Iterator[BoundQuery]:
    for operator in OPERATORS.values():
        found = operator.query(SCHEMA.empty_table())
        for query in found.values() if isinstance(found, dict) else (found,):
            if isinstance(getattr(query, "bound", None), BoundQuery):
                yield query.bound


def test_every_kind_of_window_is_killed() -> None:
    killed = {type(window) for bound in queries() for window in bound.query.windows}
    assert KINDS.keys() <= killed


def test_every_kind_of_look_back_is_killed_with_an_end_and_without() -> None:
    killed = {type(kind) for bound in queries() for kind in StatePlan(bound).kinds}
    for window in (slide_by_tuple(5, 1), lifetime()):
        assert {type(kind(window, SCHEMA)) for kind in (look_back, latest)} <= killed


def test_what_is_published_and_what_is_shared_is_killed() -> None:
    assert any(operator.online for operator in OPERATORS.values())
    assert any(isinstance(operator, HotKey) for operator in OPERATORS.values())
