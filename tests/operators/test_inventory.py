"""What is shown of a saved operator is what the operator holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation.stores.values import seal
from sash.errors import CorruptValue
from sash.operators import Aggregate, Input
from sash.operators.engine import WindowOperator
from sash.operators.engine.saving.operator_journal import JournalHead
from sash.operators.joins.join_operator import JoinOperator
from sash.operators.saved_operator_contents import inventory
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Side
from tests.runtimes.operator_runtime import LEASTS, leasts, small_journals

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
rows = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from(["a", "b", None]), st.integers(0, 9)), max_size=12
)
batches = st.lists(rows, max_size=4)


def table(some: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*some, strict=True)) or [[], [], []]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def stream() -> Any:
    return sash.stream(SCHEMA.empty_table(), time="t", key="k", delay=10)


def saved_after(operator: Any, arrived: list[Any]) -> tuple[bytes, dict[int, bytes]]:
    """Header and chunks after some batches, saved after each."""
    header, chunks = b"", dict[int, bytes]()
    for number, batch in enumerate(arrived):
        operator.insert(batch, np.arange(batch.num_rows))
        operator.advance(10 * number)
        saved = operator.save()
        header = saved.header
        chunks |= saved.written
        for gone in saved.dropped:
            chunks.pop(gone, None)
        operator.resume(header, chunks)
    return header, chunks


WINDOWED = {
    "events": stream().window(sash.rows(3), sash.session(5)).agg(n=sash.count()),
    "panes": stream().window(sash.sliding(20, every=5)).agg(n=sash.count(), s=sash.sum("x")),
    "folds": stream().window(sash.session(5)).agg(n=sash.count(), all=sash.collect("x")),
}


@pytest.mark.parametrize("held", WINDOWED)
@settings(deadline=None, max_examples=30)
@given(arrived=batches.filter(len), least=leasts)
def test_oracle_an_operator_of_windows_is_counted_with_its_keys_and_its_journal(
    held: str, arrived: list[Any], least: int
) -> None:
    bound = WINDOWED[held].bound
    operator = WindowOperator(bound)
    with small_journals(least):
        header, chunks = saved_after(operator, [table(batch).select(bound.columns) for batch in arrived])
    found = inventory(header, chunks.items())
    assert (found.holds, found.chunks) == ("rows of the journal", len(chunks))
    assert found.keys == len(operator.slots)
    if least == max(LEASTS):  # no snapshot: all rows that were on time, or the panes that they fold to
        on_time = sum(len(batch) for batch in arrived) - late_ones(arrived)
        assert found.rows <= on_time if held == "panes" else found.rows == on_time
    assert found.watermark == 10 * (len(arrived) - 1)
    assert found.bytes == len(header) + sum(map(len, chunks.values()))


def test_the_events_of_a_snapshot_are_counted() -> None:
    operator = WindowOperator(stream().window(sash.rows(100)).agg(n=sash.sum("x")).bound)
    arriving = [table([(9 * n + at, "a", 1) for at in range(9)]).select(["k", "t", "x"]) for n in range(9)]
    with small_journals(1):
        header, chunks = saved_after(operator, arriving)
    assert JournalHead.of(header).parts
    assert inventory(header, chunks.items()).rows == 81


def late_ones(arrived: list[Any]) -> int:
    return sum(
        time < 10 * (number - 1) for number, batch in enumerate(arrived) if number for time, *_ in batch
    )


def test_the_rows_of_both_sides_of_a_join_are_counted() -> None:
    query = stream().join(stream(), within=5)
    operator = JoinOperator(query.bound)
    for side in Side:
        operator.insert(side, table([(7, "a", 1), (9, None, 2)]), np.arange(2))
    saved = operator.save()
    found = inventory(saved.header, saved.written.items())
    assert (found.holds, found.rows, found.chunks, found.keys) == ("rows of both sides", 4, 2, None)
    assert found.watermark is None


def test_the_tuples_of_a_stateful_operator_are_counted() -> None:
    counts = Aggregate(advance=5, size=10, inputs=Input(SCHEMA, time="t"), keys="k", n=sash.count())
    operator = OperatorOnStream(BoundOperator.of(counts, Duration(0, Unit.TICKS)))
    header, chunks = saved_after(operator, [table([(7, "a", 1), (9, "b", 2), (9, "b", 2)])])
    found = inventory(header, chunks.items())
    assert (found.holds, found.rows, found.keys) == ("tuples and windows", 3, None)
    assert (found.missing, found.orphaned) == (0, 0)


def test_what_was_not_written_by_an_operator_is_refused() -> None:
    with pytest.raises(CorruptValue, match="the header of an operator cannot be read"):
        inventory(b"something else that is long enough", ())
    with pytest.raises(CorruptValue, match="the header of an operator cannot be read"):
        inventory(seal(b"header of a cake", b"{}"), ())


def test_a_damaged_chunk_is_refused_by_name() -> None:
    operator = WindowOperator(stream().window(sash.tumbling(20)).agg(n=sash.count()).bound)
    header, chunks = saved_after(operator, [table([(7, "a", 1)])])
    damaged = {number: data[:-1] + b"?" for number, data in chunks.items()}
    with pytest.raises(CorruptValue, match="damaged"):
        inventory(header, damaged.items())
