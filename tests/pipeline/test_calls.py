"""Calls in words: what is said is read back, what cannot be read is refused, nothing is evaluated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.errors import ArgumentError
from sash.pipeline.calls import Call, Value, call_of

WORDS = st.from_regex(r"[a-zA-Z_ä][\w.]{0,5}", fullmatch=True).filter(lambda w: w not in ("true", "false"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
TEXTS = st.text("ab ,()='", max_size=4)
CALLS = st.recursive(
    st.builds(Call, WORDS),
    lambda inner: st.builds(
        Call,
        WORDS,
        st.lists(NUMBERS | WORDS | inner, max_size=3).map(tuple),
        st.dictionaries(
            WORDS, NUMBERS | TEXTS | inner | st.lists(NUMBERS | inner, max_size=3).map(tuple), max_size=2
        ),
    ),
    max_leaves=4,
)


def spoken(value: Value, *, quote: bool = False) -> str:
    if isinstance(value, Call):
        options = [f"{name} = {spoken(given, quote=True)}" for name, given in value.options.items()]
        return f"{value.name} ({' , '.join([*map(spoken, value.arguments), *options])})"
    if isinstance(value, tuple):
        return f"[{' , '.join(spoken(one, quote=True) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) and quote else str(value)


@given(CALLS)
def test_what_is_said_is_read_back(call: Call) -> None:
    assert call_of(spoken(call), argument="x") == call


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("", "After the beginning a name"),
        ("sum", "'sum' is no call; write 'sum(…)'"),
        ("5", "'5' is no call"),
        ("sum(price", "After 'sum(price' there is a ')' or a ',' missing"),
        ("sum(price size)", "After 'sum(price' there is a ')' or a ',' missing"),
        ("sum(price))", "After 'sum(price)' nothing may follow"),
        ("sum(,)", "After 'sum(' a name, a number or a text is missing"),
        ("sum(price,)", "After 'sum(price,' a name, a number or a text is missing"),
        ("f(a=1, b)", "What has no name comes before a="),
        ("sum(5x)", "After 'sum(' a name, a number or a text is missing"),
        ("sum(price).__class__", "After 'sum(price)' nothing may follow"),
        ("(lambda: 0)()", "After the beginning a name"),
        ("f([1 2])", "After 'f([1' there is a ']' or a ',' missing"),
        ("f([1)", "After 'f([1' there is a ']' or a ',' missing"),
        ("f(1 + 1)", "After 'f(1' there is a ')' or a ',' missing"),
        (5, ""),
    ],
)
def test_what_cannot_be_read_is_refused(words: object, hint: str) -> None:
    with pytest.raises(ArgumentError, match="total must be words such as") as refused:
        call_of(words, argument="total")
    assert hint in str(refused.value)
