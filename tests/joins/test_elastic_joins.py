"""Joins in the elastic runtime, without Spark's engine: the pairs of the definition at every degree."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.semantics.asof import evaluate
from sash.semantics.expression import Side
from sash.semantics.join import How, JoinBatch
from tests.runtimes.elastic_batches import DryJoin, Try

from .streams import TRACED, batches, bound, expected, numbers_of, table_of
from .test_asof import bound as bound_asof, joins, numbers_of as answers_of

failed_tries = st.lists(
    st.lists(st.builds(Try, st.integers(1, 4), st.integers(0, 4)), max_size=1), min_size=4, max_size=4
)


@pytest.mark.parametrize("where", ["a band", "an equality", "theta"])
@given(
    data=st.data(),
    within=st.integers(0, 12),
    keys=st.booleans(),
    delays=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    how=st.sampled_from(["inner", "left", "full"]),
    degrees=st.lists(st.integers(1, 4), min_size=4, max_size=4),
    tries=failed_tries,
    forgetful=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_oracle_any_degrees_and_failed_tries_give_the_pairs_and_late_rows_of_the_definition(
    where: str,
    data: st.DataObject,
    within: int,
    keys: bool,
    delays: tuple[int, int],
    how: How,
    degrees: list[int],
    tries: list[list[Try]],
    forgetful: bool,
) -> None:
    join = bound(TRACED[where], within=within, keys=keys, delays=delays, how=how)
    arrived = data.draw(batches(keys=keys, nulls=True))
    dry, rows = run(join, arrived, degrees=degrees, tries=tries, forgetful=forgetful)
    outcome = expected(join, arrived, flush=False)
    found = [(row["time"], row["e_left"], row["e_right"]) for row in rows]
    assert sorted(found, key=str) == sorted(numbers_of(outcome), key=str)
    assert len(dry.late) == len(outcome.late)


@given(
    data=st.data(),
    join=joins,
    delays=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    degrees=st.lists(st.integers(1, 4), min_size=4, max_size=4),
    tries=failed_tries,
    forgetful=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_oracle_any_degrees_and_failed_tries_give_the_as_of_answers_of_the_definition(
    data: st.DataObject,
    join: dict[str, Any],
    delays: tuple[int, int],
    degrees: list[int],
    tries: list[list[Try]],
    forgetful: bool,
) -> None:
    asof = bound_asof(**join, delays=delays)
    arrived = data.draw(batches(keys=join["keys"], nulls=True))
    dry, rows = run(asof, arrived, degrees=degrees, tries=tries, forgetful=forgetful)
    outcome = evaluate(asof.join, arrived, flush=False)
    found = [(row["e"], row["e_right"]) for row in rows]
    assert sorted(found, key=str) == sorted(answers_of(outcome), key=str)
    assert len(dry.late) == len(outcome.late)


def run(
    join: BoundJoin | BoundAsof, arrived: list[JoinBatch], *, degrees: list[int], tries: list[list[Try]],
    forgetful: bool,
) -> tuple[DryJoin, list[dict[str, Any]]]:  # fmt: skip
    tables = [[table_of(side, batch.arrivals(side)) for side in Side] for batch in arrived]
    with tempfile.TemporaryDirectory() as folder:
        dry = DryJoin(join, Path(folder), degrees=degrees.__getitem__, forgetful=forgetful)
        return dry, dry.run(tables, tries=tries)
