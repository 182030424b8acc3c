"""The codec of elements that are not plain numbers."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation.encoding import decode, encode, sketch_key
from sash.errors import CorruptValue, Unsupported
from sash.operators import InputEvent
from sash.semantics.event import Row
from sash.testing.sameness import same

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.timedeltas(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(value=VALUES)
def test_every_value_comes_back_equal_and_of_its_own_type(value):
    back = decode(encode(value))
    assert type(back) is type(value)
    assert same(back, value, relative=0.0, absolute=0.0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(value=VALUES, cut=st.integers(1, 5))
def test_bytes_that_are_cut_off_or_padded_are_never_decoded(value, cut):
    data = encode(value)
    for damaged in (data[:-cut], data + b"\0" * cut):
        with pytest.raises(CorruptValue):
            decode(damaged)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.binary(max_size=40))
def test_foreign_bytes_are_decoded_to_a_value_or_refused_by_type(data):
    with suppress(CorruptValue):
        value = decode(data)
        assert same(decode(encode(value)), value, relative=0.0, absolute=0.0)


def test_numpy_scalars_are_written_as_the_numbers_they_are():
    assert decode(encode((np.int64(3), np.float64(0.5), np.bool_(True)))) == (3, 0.5, True)


def test_the_sign_of_zero_survives():
    assert str(decode(encode(-0.0))) == "-0.0"


def test_what_cannot_be_written_says_what_to_do():
    with pytest.raises(Unsupported, match="Give the monoid its own encode and decode for object"):
        encode(object())


def test_equal_sets_have_equal_bytes_whatever_was_added_first():
    words = [str(number) for number in range(50)]
    backwards = dict.fromkeys(words[::-1])
    assert encode(set(words)) == encode(set(backwards))
    assert decode(encode({1, "a", (2.5, None)})) == {1, "a", (2.5, None)}
    assert type(decode(encode(frozenset(words)))) is frozenset


def test_tuples_of_a_stream_come_back_and_what_is_none_is_refused():
    arrival = InputEvent(3, 1, 7, Row({"x": 2.5, "tags": ["a", None]}))
    back = decode(encode([arrival]))[0]
    assert (back.time, back.input, back.ordinal, dict(back.row)) == (3, 1, 7, dict(arrival.row))
    for damaged in (
        b"R" + encode((5,)),
        b"A" + encode((1, 2, 3, {"x": 1})),
        b"A" + encode((1,)),
        b"R" + encode(3),
    ):
        with pytest.raises(CorruptValue):
            decode(damaged)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (datetime(1970, 1, 2), 86_400_000_000),
        (datetime(1970, 1, 2, tzinfo=UTC), 86_400_000_000),
        (date(1970, 1, 2), 1),
        (timedelta(seconds=1), 1_000_000),
        (np.int64(5), 5),
    ],
)
def test_values_that_a_runtime_may_pass_either_way_have_one_sketch_key(one, other):
    assert sketch_key(one) == sketch_key(other)


def test_values_that_differ_have_different_sketch_keys():
    values = ["", "a", b"", b"a", 1, 2**70, Decimal(1), time(1), (1,), [1], None]
    assert len(set(map(sketch_key, values))) == len(values)
