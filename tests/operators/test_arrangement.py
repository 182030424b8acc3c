"""Keys as codes, and rows by key: against what Arrow and numpy answer, in any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation.kernels.rows.numbering import SMALLEST, dense_codes
from sash.aggregation.kernels.rows.text_numbering import LONGEST, numbered_texts
from sash.operators.columns import coded_keys as coding
from sash.operators.columns.arrow_columns import raw_texts
from sash.operators.columns.coded_keys import coded_keys, key_codes
from sash.operators.columns.layout import Arrangement
from sash.semantics.event import Order

TEXTS = st.text(max_size=7) | st.sampled_from(["", "a" * LONGEST, "a" * 8, "a" * 9, "é" * 8, "b" * 40])
COLUMNS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3),
    pa.int8(): st.integers(-3, 3),
    pa.uint32(): st.integers(0, 3) | st.just(2**32 - 1),
    pa.uint64(): st.integers(0, 3) | st.just(2**64 - 1),
    pa.timestamp("us"): st.integers(-3, 3),
    pa.date32(): st.integers(-3, 3),
    pa.float64(): st.sampled_from([0.0, -0.0, 1.5, -2.0]),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.binary(): st.binary(max_size=20),
}


@st.composite
def columns(draw: st.DrawFn, rows: int) -> pa.ChunkedArray:
    """Of any type, in any number of chunks, with a part of their memory before them; nulls, sometimes."""
    type_ = draw(st.sampled_from(list(COLUMNS)))
    values = COLUMNS[type_] | st.none() if draw(st.booleans()) else COLUMNS[type_]
    skipped = draw(st.integers(0, 2))
    whole = pa.array(draw(st.lists(values, min_size=rows + skipped, max_size=rows + skipped)), type_)
    cut = draw(st.integers(0, rows))
    return pa.chunked_array([whole.slice(skipped, cut), whole.slice(skipped + cut)], type_)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows, count = draw(st.integers(0, 25)), draw(st.integers(0, 2))
    keys = [draw(columns(rows)) for _ in range(count)]
    return pa.table([*keys, pa.array(range(rows), pa.int64())], [*"ab"[:count], "row"])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "BLOCK", 4)
    monkeypatch.setattr("sash.operators.columns.layout.BLOCK", 4)


def _same(value: Any) -> Any:
    return 0.0 if value == 0 and isinstance(value, float) else value


def _keys(table: pa.Table) -> list[tuple[Any, ...]]:
    names = [name for name in table.column_names if name != "row"]
    return [tuple(_same(row[name]) for name in names) for row in table.to_pylist()]


@settings(max_examples=150, deadline=None)
@given(table=tables(), threads=st.integers(1, 3))
def test_oracle_codes_are_equal_where_keys_are_and_grow_with_them(table: pa.Table, threads: int) -> None:
    names = [name for name in table.column_names if name != "row"]
    keys, found = _keys(table), coded_keys(table, names, threads=threads)
    codes = found.ranked.tolist()
    assert sorted(set(codes)) == list(range(found.keys))
    assert len(set(keys)) == found.keys == len(set(zip(keys, codes, strict=True)))
    if names:
        ordered = table.take(pc.sort_indices(table, [(name, "ascending") for name in names]))
        by_rank = [codes[row] for row in ordered["row"].to_pylist()]
        assert by_rank == sorted(by_rank)
    plain = key_codes(table, names).tolist()
    assert len(set(plain)) == len(set(keys)) == len(set(zip(keys, plain, strict=True)))


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    threads=st.integers(1, 3),
    order=st.sampled_from(list(Order)),
    kind=st.sampled_from(["sorted", "by key", "any", "shuffled"]),
    data=st.data(),
)
def test_oracle_rows_stand_by_key_then_in_order(
    table: pa.Table, threads: int, order: Order, kind: str, data: st.DataObject
) -> None:
    rows, names = table.num_rows, [name for name in table.column_names if name != "row"]
    times = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), np.int64)
    ordinals = None
    if kind == "sorted":
        times.sort()
    elif kind == "by key":  # in order within each key only
        times = np.array(
            [sum(key == own for key in _keys(table)[:at]) for at, own in enumerate(_keys(table))]
        )
        times = times.astype(np.int64)
    elif kind == "shuffled":
        ordinals = np.array(data.draw(st.permutations(range(rows))), np.int64)
    arranged = Arrangement.of(table, names, times, ordinals, order, threads=threads)
    codes = coded_keys(table, names).ranked
    arrival = np.arange(rows) if ordinals is None else ordinals
    by = (arrival,) if order is Order.ARRIVAL else (arrival, times)
    expected = np.lexsort((*by, codes))
    layout = arranged.layout()
    assert layout.rows.equals(table.take(pa.array(expected)).combine_chunks()) or (
        layout.rows.to_pylist() == table.take(pa.array(expected)).to_pylist()
    )
    assert layout.times.tolist() == times[expected].tolist()
    assert layout.sizes.tolist() == np.bincount(codes, minlength=layout.slots).tolist()
    half = layout.slots // 2
    parts = [arranged.layout(0, half), arranged.layout(half, layout.slots)]
    assert pa.concat_tables([part.rows for part in parts]).to_pylist() == layout.rows.to_pylist()


def test_tables_of_codes_grow() -> None:
    values = np.random.default_rng(1).permutation(3 * SMALLEST) % (2 * SMALLEST + 7)
    codes, distinct = dense_codes(values)
    assert distinct[codes].tolist() == values.tolist()
    assert len(set(distinct.tolist())) == len(distinct)
    texts = pa.array([f"key {value}" for value in values.tolist()])
    raw = raw_texts(texts)
    assert raw is not None
    found = numbered_texts(*raw)
    assert found is not None
    assert texts.take(pa.array(found[1])).take(pa.array(found[0])).equals(texts)
    assert len(found[1]) == len(distinct)
