"""What the planner learns of the events, and from how few of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.operators.bound_query import BoundQuery
from sash.planner.sampling import SAMPLE, assumed, facts_of_table, seen


def bound(table: pa.Table, *, key: str | None = "k") -> BoundQuery:
    return sash.stream(table, time="t", key=key).window(sash.tumbling(5)).agg(n=sash.count()).bound


def table_of(keys: np.ndarray) -> pa.Table:
    return pa.table({"t": np.arange(len(keys)), "k": keys})


@settings(deadline=None)
@given(keys=st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=50))
def test_oracle_a_small_table_is_counted_exactly(keys: list[int | None]) -> None:
    table = pa.table({"t": pa.array(range(len(keys)), pa.int64()), "k": pa.array(keys, pa.int64())})
    events = facts_of_table(bound(table), table, sash.Auto())
    assert events.rows == len(keys)
    assert events.keys == max(1, len(set(keys)))
    assert events.hottest == (max(keys.count(key) for key in keys) / len(keys) if keys else 1.0)
    assert events.span == (len(keys) - 1 if keys else None)
    assert events.known == "counted"


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_the_share_of_a_hot_key_is_found_in_a_sample(share: float) -> None:
    random = np.random.default_rng(3)
    rows = 10 * SAMPLE
    keys = np.where(random.random(rows) < share, 0, random.integers(1, 200, rows))
    events = facts_of_table(bound(table_of(keys)), table_of(keys), sash.Auto())
    assert events.known == "sampled"
    assert events.hottest == pytest.approx(share, abs=0.02)
    assert 200 / 10**0.5 <= events.keys <= 200 * 10**0.5


@pytest.mark.parametrize("distinct", [1_000, 100_000])
def test_the_number_of_keys_is_estimated_within_the_error_of_the_estimator(distinct: int) -> None:
    rows = 16 * SAMPLE
    keys = np.random.default_rng(5).integers(0, distinct, rows)
    found = facts_of_table(bound(table_of(keys)), table_of(keys), sash.Auto()).keys
    real = len(np.unique(keys))
    # The ratio error of the estimator is at most √(n / m): here 4.
    assert real / 4 <= found <= real * 4


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_span_is_measured_in_the_units_of_the_windows(unit: str) -> None:
    times = pa.array([0, 3_600, 60], pa.timestamp("s")).cast(pa.timestamp(unit, "UTC"))
    table = pa.table({"t": times})
    query = sash.stream(table, time="t").window(sash.tumbling("1 minute")).agg(n=sash.count())
    assert facts_of_table(query.bound, table, sash.Auto()).span == 3_600_000_000


def test_times_that_are_all_null_have_no_span() -> None:
    table = pa.table({"t": pa.array([None, None], pa.int64()), "k": [1, 2]})
    assert facts_of_table(bound(table), table, sash.Auto()).span is None
    assert sash.stream(table, time="t").window(sash.rows(2)).agg(n=sash.count()).collect().num_rows == 0


def test_what_the_user_says_counts_more_than_what_is_seen() -> None:
    table = table_of(np.arange(100) % 4)
    facts = facts_of_table(bound(table), table, sash.Auto(rows=10**9, keys=50, hottest=0.9))
    assert (facts.rows, facts.keys, facts.hottest) == (10**9, 50, 0.9)
    assert facts_of_table(bound(table), table, sash.Auto(keys=50)).hottest == 0.02


def test_a_query_without_a_key_has_one() -> None:
    table = table_of(np.arange(100))
    keyless = bound(table, key=None)
    for events in (
        facts_of_table(keyless, table, sash.Auto()),
        seen(keyless, table, sash.Auto()),
        assumed(keyless, sash.Auto()),
    ):
        assert (events.keys, events.hottest) == (1, 1.0)


def test_the_first_rows_of_a_dataframe_are_a_stretch_of_it() -> None:
    first = table_of(np.arange(1_000) % 10)
    events = seen(bound(first), first, sash.Auto(rows=1_000_000))
    assert events.span == 999 * 1_000
    assert (events.keys, events.hottest, events.known) == (10, 0.1, "sampled")


def test_nothing_is_known_of_a_dataframe_that_nobody_has_looked_at() -> None:
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64())]).empty_table()
    events = assumed(bound(schema), sash.Auto())
    assert events.known == "assumed"
    assert events.span is None
    assert assumed(bound(schema), sash.Auto(hottest=0.5)).known == "given"
