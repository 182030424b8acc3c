"""Bytes that somebody has changed."""

from __future__ import annotations

from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """Cut short, extended, or with a few bytes replaced; lengths are among what is replaced."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(("byte", "number", "cut", "insert"))):
            case "byte" if at < len(data):
                data[at] = draw(st.integers(0, 255))
            case "number":
                number = draw(st.sampled_from([0, 1, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]))
                data[at : at + 8] = number.to_bytes(8, "little")
            case "cut":
                del data[at:]
            case _:
                data[at:at] = draw(st.binary(max_size=9))
    return bytes(data)
