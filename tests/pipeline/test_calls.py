"""Calls as text: what is written is read back, what is no call is refused, nothing is evaluated."""

from __future__ import annotations

from keyword import iskeyword

import pytest
from hypothesis import given, strategies as st

from sash.errors import ArgumentError
from sash.pipeline.calls import Call, Value, call_of

IDENTIFIERS = st.from_regex(r"[a-zA-Z_ä][a-zA-Z_ä0-9]{0,5}", fullmatch=True).filter(
    lambda name: not iskeyword(name) and name not in ("true", "false")
)
NAMES = st.lists(IDENTIFIERS, min_size=1, max_size=2).map(".".join)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
TEXTS = st.text("ab ,()='", max_size=4)
CALLS = st.recursive(
    st.builds(Call, NAMES),
    lambda inner: st.builds(
        Call,
        NAMES,
        st.lists(NUMBERS | NAMES | inner, max_size=3).map(tuple),
        st.dictionaries(
            IDENTIFIERS,
            NUMBERS | TEXTS | inner | st.lists(NUMBERS | inner, max_size=3).map(tuple),
            max_size=2,
        ),
    ),
    max_leaves=4,
)


def written(value: Value, *, quote: bool = False) -> str:
    if isinstance(value, Call):
        options = [f"{name} = {written(given, quote=True)}" for name, given in value.options.items()]
        return f"{value.name} ({' , '.join([*map(written, value.arguments), *options])})"
    if isinstance(value, tuple):
        return f"[{' , '.join(written(one, quote=True) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) and quote else str(value)


@given(CALLS)
def test_what_is_written_is_read_back(call: Call) -> None:
    assert call_of(written(call), argument="x") == call


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "At the beginning: invalid syntax"),
        ("sum", "'sum' is no call; write 'sum(…)'"),
        ("5", "'5' is no call"),
        ("sum(price", "After 'sum': '(' was never closed"),
        ("sum(price size)", "Perhaps you forgot a comma"),
        ("sum(price))", "After 'sum(price)': unmatched ')'"),
        ("sum(,)", "After 'sum(': invalid syntax"),
        ("f(a=1, b)", "positional argument follows keyword argument"),
        ("f(a=1, a=2)", "none may be given twice"),
        ("f(**a)", "needs a name"),
        ("f(*a)", "'*a' is neither"),
        ("sum(5x)", "After 'sum(': invalid decimal literal"),
        ("sum(class)", "After 'sum(': invalid syntax"),
        ("sum(None)", "'None' is neither"),
        ("sum(price).__class__", "'sum(price)' is no name"),
        ("(lambda: 0)()", "'lambda: 0' is no name"),
        ("f([1 2])", "Perhaps you forgot a comma"),
        ("f([1)", "does not match opening parenthesis"),
        ("f(1 + 1)", "'1 + 1' is neither a name, a number, a text, a list nor a call"),
        ("f(\0)", ""),
        (5, ""),
    ],
)
def test_what_is_no_call_is_refused(text: object, hint: str) -> None:
    with pytest.raises(ArgumentError, match="total must be a call such as 'sum\\(price\\)'") as refused:
        call_of(text, argument="total")
    assert hint in str(refused.value)


def test_a_comma_may_follow_the_last_argument_and_python_spells_truths_otherwise() -> None:
    assert call_of("f(a, [1, 2,], b=True,)", argument="x") == Call("f", ("a", (1, 2)), {"b": True})
