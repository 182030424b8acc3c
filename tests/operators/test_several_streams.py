"""O+ over several streams, between batches: in pieces it emits what it emits at once, ties included."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st

from sash.aggregation.stores.values import unseal
from sash.operators.columns.table_bytes import table_of
from sash.operators.stateful.rows_of_all_inputs import CommonRows
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream, chunk_name
from sash.semantics.durations import Duration, Unit
from tests.operators.several_inputs import INPUTS, Arrived, OnTime, batches, diary, seen, table

NO_DELAY = Duration(0, Unit.TICKS)


def rows_of(rows: CommonRows, batch: Arrived, *, backwards: bool) -> tuple[pa.Table, np.ndarray]:
    """As a bucket gets them: the inputs in any order, each with ordinals of its own."""
    placed = [rows.placed(number, table(number, tuples)) for number, tuples in enumerate(batch)]
    ordinals = [np.arange(len(tuples)) for tuples in batch]
    step = -1 if backwards else 1
    return pa.concat_tables(placed[::step]), np.concatenate(ordinals[::step])


@settings(max_examples=120, deadline=None)
@given(
    batches=st.integers(2, 3).flatmap(lambda inputs: batches(inputs=inputs)),
    forgetful=st.lists(st.booleans(), min_size=6, max_size=6),
    delay=st.sampled_from([0, 4]),
    backwards=st.booleans(),
)
def test_differential_in_pieces_it_says_what_it_says_at_once(
    batches: list[Arrived], forgetful: list[bool], delay: int, backwards: bool
) -> None:
    operator = diary(INPUTS[: len(batches[0])])
    bound = BoundOperator.of(operator, NO_DELAY)
    running, header, chunks = OperatorOnStream(bound), None, {}
    judged, emitted, late = OnTime.of([[[] for _ in batches[0]]], delay=delay), [], 0
    for batch, forget in zip(batches, forgetful, strict=False):
        if forget:
            running = OperatorOnStream.load(bound, header, chunks)
        late += running.insert(*rows_of(bound.rows, batch, backwards=backwards)).num_rows
        judged.take(batch)
        if judged.watermark is not None:
            emitted += running.advance(judged.watermark).reports.to_pylist()
        saved = running.save()
        header, chunks = saved.header, {**chunks, **saved.written}
        chunks = {number: data for number, data in chunks.items() if number not in saved.dropped}
    assert seen(emitted) == judged.expected(operator)
    assert late == judged.late


def test_tuples_of_one_time_are_taken_in_the_order_of_the_inputs_whichever_came_first() -> None:
    # orders   . . . .  1@3          in the second batch
    # visits   0@3 2@3               in the first
    operator = OperatorOnStream(BoundOperator.of(diary(INPUTS[:2]), NO_DELAY))
    first = [[], [{"t": 3, "tag": "red", "number": 0}, {"t": 3, "tag": "red", "number": 2}]]
    second = [[{"t": 3, "tags": ["red"], "number": 1}], []]
    for batch in (first, second):
        operator.insert(*rows_of(operator.bound.rows, batch, backwards=False))
        assert operator.advance(3).reports.num_rows == 0
    (row,) = operator.advance(5).reports.to_pylist()
    assert row["met"] == ["0: 1", "1: 0", "1: 2"]


def test_a_single_input_travels_and_is_saved_in_its_own_schema() -> None:
    operator = OperatorOnStream(BoundOperator.of(diary(INPUTS[:1]), NO_DELAY))
    tuples = table(0, [{"t": 3, "tags": ["red"], "number": 1}])
    assert operator.bound.rows.placed(0, tuples) is tuples
    operator.insert(tuples, np.arange(1))
    assert table_of(unseal(chunk_name(0), operator.save().written[0])).equals(tuples)
