"""The bytes of stored values: they come back whole, or an error names their key."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from sash.aggregation.stores.values import pack, seal, unpack, unseal
from sash.errors import ArgumentError, CorruptValue

ARRAYS = st.lists(
    st.sampled_from(["?", "i1", "u2", "i4", "i8", "u8", "f4", "f8", ">i8"]).flatmap(
        lambda code: hnp.arrays(code, st.integers(0, 20))
    ),
    max_size=5,
)


@given(key=st.binary(min_size=1), payload=st.binary())
def test_what_is_sealed_comes_back(key: bytes, payload: bytes) -> None:
    assert unseal(key, seal(key, payload)) == payload


@given(key=st.binary(min_size=1, max_size=8), payload=st.binary(max_size=40), data=st.data())
def test_any_flipped_bit_is_noticed(key: bytes, payload: bytes, data: st.DataObject) -> None:
    sealed = bytearray(seal(key, payload))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptValue, match="key"):
        unseal(key, sealed)


@given(payload=st.binary(max_size=40), cut=st.integers(1, 60))
def test_a_truncated_value_is_noticed(payload: bytes, cut: int) -> None:
    sealed = seal(b"k", payload)
    with pytest.raises(CorruptValue, match="b'k'"):
        unseal(b"k", sealed[: max(0, len(sealed) - cut)])


def test_a_value_under_another_key_is_noticed() -> None:
    with pytest.raises(CorruptValue, match="b'two'"):
        unseal(b"two", seal(b"one", b"payload"))


def test_a_foreign_value_is_called_foreign() -> None:
    with pytest.raises(CorruptValue, match=r"b'k' was not written by Sash: it begins with b'\{\"js'"):
        unseal(b"k", b'{"json": "of another program"}')


def test_a_later_layout_version_is_refused_by_name() -> None:
    sealed = bytearray(seal(b"k", b"payload"))
    struct.pack_into("<H", sealed, 4, 2)
    with pytest.raises(CorruptValue, match="layout version 2; this Sash reads version 1"):
        unseal(b"k", sealed)


@given(arrays=ARRAYS)
def test_arrays_come_back_with_their_values_and_types(arrays: list[np.ndarray]) -> None:
    back = unpack(b"k", b"test", pack(b"test", arrays))
    assert len(back) == len(arrays)
    for one, two in zip(arrays, back, strict=True):
        assert two.dtype == one.dtype.newbyteorder("<")
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
        assert not two.flags.writeable


def test_arrays_are_read_in_place() -> None:
    payload = pack(b"test", [np.arange(1000)])
    (array,) = unpack(b"k", b"test", payload)
    assert not array.flags.owndata
    assert array.flags.aligned


def test_arrays_of_another_tag_are_refused() -> None:
    with pytest.raises(CorruptValue, match=r"b'k' holds b'one.'; b'two.' was expected"):
        unpack(b"k", b"two.", pack(b"one.", []))


@given(payload=st.binary(max_size=100))
def test_arbitrary_bytes_are_never_arrays(payload: bytes) -> None:
    with pytest.raises(CorruptValue, match="b'k'"):
        unpack(b"k", b"test", b"test" + payload if len(payload) < 4 else payload)


@given(arrays=ARRAYS.filter(bool), cut=st.integers(1, 30))
def test_truncated_arrays_are_noticed(arrays: list[np.ndarray], cut: int) -> None:
    payload = pack(b"test", arrays)
    with pytest.raises(CorruptValue, match="b'k'"):
        unpack(b"k", b"test", payload[: max(0, len(payload) - cut)])


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["text"]), np.zeros((2, 2))])
def test_only_flat_arrays_of_numbers_are_packed(array: np.ndarray) -> None:
    with pytest.raises(ArgumentError, match="one-dimensional booleans or numbers"):
        pack(b"test", [array])
