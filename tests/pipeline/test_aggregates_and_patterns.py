"""Aggregates and patterns as text are those of the API."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError
from sash.pipeline.aggregates_and_patterns import aggregate_of, pattern_of

GIVEN = {"q": 0.5, "k": 3}
"""What parameters that are no columns are given."""
CHOICES = {"ewm": {"alpha": 0.5}, "histogram": {"bins": 4}}
"""What aggregates need that want one of several options."""


@pytest.mark.parametrize("name", built_in.__all__)
def test_every_aggregate_can_be_said(name: str) -> None:
    make = getattr(built_in, name)
    needed = [
        one.name
        for one in signature(make).parameters.values()
        if one.default is Parameter.empty and one.kind is not Parameter.KEYWORD_ONLY
    ]
    arguments = [GIVEN.get(one, f"column_{one}") for one in needed]
    options = CHOICES.get(name, {})
    words = [*map(str, arguments), *(f"{option}={value}" for option, value in options.items())]
    parsed, made = aggregate_of(f"{name}({', '.join(words)})", argument="it"), make(*arguments, **options)
    assert (parsed.name, parsed.columns) == (made.name, made.columns)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (
            """sum(x, where="kind == 'buy' and size > 100")""",
            sash.sum("x", where="kind == 'buy' and size > 100"),
        ),
        ("count(where='x is not None')", sash.count(where="x is not None")),
        ("last(x, 3, distinct=true)", sash.last("x", 3, distinct=True)),
        ("last(x, 3, distinct=false)", sash.last("x", 3, distinct=False)),
        ("ewm(x, half_life='5 minutes')", sash.ewm("x", half_life="5 minutes")),
        ("ewm(x, half_life=10)", sash.ewm("x", half_life=10)),
        ("histogram(x, edges=[0, 0.5, 10])", sash.histogram("x", edges=[0, 0.5, 10])),
    ],
)
def test_conditions_lists_and_truths_can_be_said(words: str, made: sash.Monoid) -> None:
    parsed = aggregate_of(words, argument="it")
    assert (str(parsed), parsed.where, parsed.idempotent) == (str(made), made.where, made.idempotent)
    if parsed.columnar:
        assert parsed == made


def test_a_condition_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"where must be a condition .* cannot be read"):
        aggregate_of("count(where='x >')", argument="it")


def test_columns_and_options_may_be_quoted() -> None:
    assert aggregate_of("sum('unit price')", argument="it").columns == ("unit price",)
    parsed = aggregate_of("quantile(x, 0.5, sketch='tdigest')", argument="it")
    assert type(parsed.identity()[0]) is type(sash.quantile("x", 0.5, sketch="tdigest").identity()[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("median(price)", "no aggregate 'median'. Did you mean 'quantile(column, 0.5)'?"),
        ("meen(price)", "Did you mean 'mean'"),
        ("sum()", "must be 'sum(column, [where=…], [exact=False])'"),
        ("sum(a, b)", "must be 'sum(column, [where=…], [exact=False])'"),
        (
            "quantile(a, 0.5, sketsch=kll)",
            "must be 'quantile(column, q, [sketch=kll], [k=200], [where=…])'",
        ),
        ("sum(sum(a))", "'sum(…)' is no column"),
        ("sum(5)", "the name of a column"),
        ("quantile(a, 2.0)", "q must be"),
    ],
)
def test_an_aggregate_that_is_none_is_refused(words: str, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        aggregate_of(words, argument="it")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "pattern",
    [
        sash.WinSeq(),
        sash.KeyFarm(4),
        sash.WinFarm(4, model="agnostic"),
        sash.WinMapReduce(map=2, reduce=1),
        sash.KeyFarm(sash.PaneFarm(plq=2, wlq=3), replicas=2),
    ],
    ids=str,
)
def test_a_pattern_is_read_as_it_is_printed(pattern: sash.KeyFarm) -> None:
    assert pattern_of(str(pattern)) == pattern


def test_the_planner_is_told_in_words_too() -> None:
    assert pattern_of("auto") == sash.Auto()
    assert pattern_of("Auto(hottest=0.9, keys=10)") == sash.Auto(hottest=0.9, keys=10)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("KeyFrm(4)", "Did you mean 'KeyFarm'"),
        ("KeyFarm()", "must be 'KeyFarm("),
        ("KeyFarm(0)", "positive number of workers"),
        ("KeyFarm(price)", "number of workers"),
        (4, "a call such as 'KeyFarm(4)'"),
    ],
)
def test_a_pattern_that_is_none_is_refused(words: object, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        pattern_of(words)
    assert message in str(refused.value)
