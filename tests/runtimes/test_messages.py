"""What a user reads after a slip: the message names the mistake and what would work."""

# ruff: noqa: N805  (the functions of a monoid have no self)
from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.api.window_parser import window_of
from sash.errors import ArgumentError, PredicateError, UnknownColumn, Unsupported

EVENTS = pa.table({"t": [1, 2, 3], "amount": [1.0, 2.0, 3.0], "line": ["a b", "c", "d e f"]})


def stream() -> Any:
    return sash.stream(EVENTS, time="t")


def answer(**aggregates: Any) -> pa.Table:
    return stream().window(sash.rows(2)).agg(**aggregates).collect()


def test_a_column_that_is_not_there_is_named_with_the_aggregate_that_reads_it() -> None:
    with pytest.raises(UnknownColumn) as near:
        answer(n=sash.sum("amout"))
    assert str(near.value) == "n = sum('amout'): there is no column 'amout'. Did you mean 'amount'?"
    with pytest.raises(UnknownColumn) as far:
        answer(n=sash.correlation("amount", "wibble"))
    assert str(far.value) == (
        "n = correlation('amount', 'wibble'): there is no column 'wibble'. There are 't', 'amount', 'line'."
    )
    with pytest.raises(UnknownColumn) as condition:
        answer(n=sash.count(where="amout > 3"))
    assert str(condition.value) == (
        "n = count(where='amout > 3'): there is no column 'amout'. Did you mean 'amount'?"
    )


def test_an_aggregate_without_a_name_is_answered_with_how_to_name_it() -> None:
    with pytest.raises(ArgumentError, match=r"For example \.agg\(n=sash\.count\(\)\)\."):
        stream().window(sash.rows(2)).agg(sash.count())


def test_a_lift_that_fails_is_named_with_its_error() -> None:
    @sash.monoid
    class Broken:
        def identity():
            return 0.0

        def lift(x):
            return x.nothing

        def combine(a, b):
            return a + b

    with pytest.raises(ArgumentError) as refused:
        answer(n=Broken("amount"))
    assert str(refused.value) == (
        "n = Broken('amount'): Broken.lift(1.0) raised AttributeError: 'float' object has no attribute "
        "'nothing' (called with a sample value to find the result type)"
    )


def test_a_sample_value_that_may_never_occur_has_the_hint_to_declare_the_result() -> None:
    @sash.monoid
    class BadLift:
        def identity():
            return 0.0

        def lift(x):
            return 1.0 / (x - 1.0)

        def combine(a, b):
            return a + b

    with pytest.raises(ArgumentError) as refused:
        answer(n=BadLift("amount"))
    assert str(refused.value) == (
        "n = BadLift('amount'): BadLift.lift(1.0) raised ZeroDivisionError: float division by zero (called "
        "with a sample value to find the result type). If such values never occur, declare the type: "
        "@sash.monoid(result=pa.float64())."
    )


def test_a_lower_that_fails_on_a_sample_is_named_with_its_error() -> None:
    @sash.monoid
    class Broken:
        def identity():
            return 0.0

        def combine(a, b):
            return a + b

        def lower(e):
            return e.nothing

    with pytest.raises(
        ArgumentError,
        match=r"^n = Broken\('amount'\): Broken\.lower\(1\.0\) raised AttributeError: 'float'",
    ):
        answer(n=Broken("amount"))


@pytest.mark.parametrize("column", ["amount", "line"])
def test_a_lift_that_fails_on_an_event_is_named_with_its_error(column: str) -> None:
    @sash.monoid(result=pa.float64())
    class Inverse:
        def identity():
            return 0.0

        def lift(x):
            return 1.0 / (x - 2.0) if x != "c" else 1.0 / 0.0

        def combine(a, b):
            return a + b

    with pytest.raises(PredicateError, match=r"Inverse\.lift raised (ZeroDivision|Type)Error"):
        answer(n=Inverse(column))


def test_an_identity_without_fields_is_told_to_encode() -> None:
    with pytest.raises(ArgumentError, match=r"of varying length need encode\(e\) → bytes and decode"):

        @sash.monoid
        class Words:
            def identity():
                return ()

            def combine(a, b):
                return a + b


@pytest.mark.parametrize("column", ["amount", "line"])
def test_elements_that_vary_in_length_are_told_to_encode(column: str) -> None:
    @sash.monoid(result=pa.float64())
    class Growing:
        def identity():
            return (0.0,)

        def lift(x):
            return (x, x)

        def combine(a, b):
            return a

        def lower(e):
            return float(len(e))

    with pytest.raises(ArgumentError) as refused:
        answer(n=Growing(column))
    assert str(refused.value) == (
        "Growing.lift returned 2 fields, but identity() has 1. Elements of varying length need encode(e) → "
        "bytes and decode(bytes) → e."
    )


class Appending:
    """Two elements become a longer one."""

    def identity():
        return (0,)

    def lift(x):
        return (1,)

    def combine(a, b):
        return a + b

    def lower(e):
        return len(e)


def test_a_combine_that_grows_on_a_sample_is_refused_before_anything_runs() -> None:
    path = sash.monoid(Appending)
    with pytest.raises(ArgumentError) as refused:
        stream().window(sash.tumbling(10)).agg(n=path("amount"))
    assert str(refused.value) == (
        "n = Appending('amount'): Appending.combine returned 2 fields, but identity() has 1. Combine field "
        "by field, as in (a[0] + b[0], a[1] + b[1]). Elements of varying length need encode(e) → bytes and "
        "decode(bytes) → e."
    )


@pytest.mark.parametrize("column", ["amount", "line"])
def test_a_combine_that_returns_more_fields_is_named(column: str) -> None:
    vary = sash.monoid(result=pa.int64())(Appending)
    message = r"^Appending\.combine returned 2 fields, but identity\(\) has 1\. "
    with pytest.raises(ArgumentError, match=message):
        answer(n=vary(column))


@pytest.mark.parametrize("name", ["sum", "max", "mean", "last", "top_k", "skyline", "collect"])
def test_a_function_where_a_column_is_expected_is_answered_with_where(name: str) -> None:
    aggregate = getattr(sash, name)
    with pytest.raises(ArgumentError) as refused:
        aggregate(lambda row: row.amount > 1, *([3] if name == "top_k" else []))
    assert str(refused.value) == (
        f"{name}() takes column names. Pass a condition as sash.{name}('column', where=lambda row: …)."
    )


def test_rolling_supports_only_agg() -> None:
    for make in (
        lambda rolling: rolling.apply(len, schema="n bigint"),
        lambda rolling: rolling.fold(0, lambda n, row: n + 1, schema="n bigint"),
    ):
        with pytest.raises(Unsupported, match=r"^rolling\(\) supports only \.agg\(\)"):
            make(stream().rolling(5))


@pytest.mark.parametrize(
    ("words", "slips"),
    [
        ("sliding 1 minut evry 10 seconds", ["'minute' instead of 'minut'", "'every' instead of 'evry'"]),
        (
            "sliding 1 minut every 9 secnds",
            ["'minute' instead of 'minut'", "'seconds' instead of 'secnds'"],
        ),
        ("slidng 1 minut every 1 s", ["Did you mean 'sliding <duration>", "'minute' instead of 'minut'"]),
        ("cumulate 1 day stp 1 huor", ["'step' instead of 'stp'", "'hour' instead of 'huor'"]),
        ("tumbling 1 minut", ["'minute' instead of 'minut'"]),
        ("1 minut evry", ["'minute' instead of 'minut'", "'every' instead of 'evry'"]),
    ],
)
def test_every_slip_in_the_words_of_a_window_is_named(words: str, slips: list[str]) -> None:
    with pytest.raises(ArgumentError) as refused:
        window_of(words)
    for slip in slips:
        assert slip in str(refused.value)


def test_a_slip_in_a_duration_gets_a_hint() -> None:
    with pytest.raises(sash.errors.DurationError, match="Did you mean 'minute'"):
        sash.tumbling("1 minut")


def test_counting_with_a_function_gets_a_hint() -> None:
    with pytest.raises(
        ArgumentError, match=r"^count\(\) takes .* as sash\.count\(where=lambda row: …\)\.$"
    ):
        sash.count(lambda row: row.amount > 1)
