"""A store describes its query, so that a reader needs nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.aggregation import built_in
from sash.errors import DifferentQuery, StoreError
from sash.operators.bound_query import BoundRolling
from sash.serving.query_description import described, narrowed, require_same, restored
from tests.aggregation.every_monoid import VARIANTS, build

EVERY = [(name, options) for name in built_in.__all__ for options in VARIANTS.get(name, [{}])]
TABLE = pa.table({"t": [1], "k": ["a"], "c0": [1], "c1": [2], "unused": [3]})


@pytest.mark.parametrize(("name", "options"), EVERY, ids=[f"{name} {options}" for name, options in EVERY])
def test_every_built_in_aggregate_is_made_again(name: str, options: dict[str, Any]) -> None:
    rolling = sash.stream(TABLE, time="t", key="k").rolling(5, sash.lifetime())
    bound = narrowed(rolling.agg(value=build(name, where="c1 > 1", **options)).bound)
    again = restored(described(bound), query=None)
    assert again.schema == bound.schema
    assert "unused" not in again.schema.names
    assert again.features == bound.features
    assert again.aggregates["value"].made_by == bound.aggregates["value"].made_by
    assert str(again.aggregates["value"]) == str(bound.aggregates["value"])


def test_conditions_come_back_with_their_constants() -> None:
    table = pa.table({"t": [1], "at": [datetime(2026, 1, 5)], "odd name": ["x"]})
    where = lambda row: (row.at > datetime(2026, 1, 1)) & (row["odd name"] != None)  # noqa: E711, E731
    bound = sash.stream(table, time="t").rolling(5).agg(n=sash.count(where=where)).bound
    again = restored(described(bound), query=None)
    assert again.aggregates["n"].where == bound.aggregates["n"].where


def test_columns_of_other_types_are_another_query() -> None:
    """What is kept of events are the bits of their columns."""

    def bound(values: list[float]) -> BoundRolling:
        table = pa.table({"t": [1], "k": ["a"], "x": values})
        return narrowed(sash.stream(table, time="t", key="k").rolling(5).agg(s=sash.sum("x")).bound)

    require_same(described(bound([1])), bound([2]))
    with pytest.raises(DifferentQuery, match="other types of x"):
        require_same(described(bound([1])), bound([1.5]))


def test_a_description_of_another_version_is_refused() -> None:
    from sash.aggregation.encoding import encode

    with pytest.raises(StoreError, match="another version of Sash"):
        restored(encode({"format": 99}), query=None)
