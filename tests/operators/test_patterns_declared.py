"""Patterns as users write them: what they mean, and what is refused with which reason."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, NotCommutative, Unsupported

TABLE = pa.table({"t": [1, 2, 6], "x": [10, 20, 30]})


def test_a_number_of_workers_is_short_for_that_many_sequential_ones() -> None:
    assert sash.WinFarm(4) == sash.WinFarm(sash.WinSeq(), replicas=4)
    assert sash.KeyFarm(4) == sash.KeyFarm(sash.WinSeq(), replicas=4)


def test_the_workers_of_a_nested_pattern_multiply() -> None:
    assert sash.WinFarm(sash.PaneFarm(plq=2, wlq=3), replicas=2).workers == 10
    assert sash.KeyFarm(sash.WinMapReduce(map=3, reduce=1), replicas=2).workers == 8


def test_a_pattern_is_printed_as_it_is_written() -> None:
    for text in (
        "WinSeq()", "KeyFarm(3)", "WinFarm(3, model='agnostic')", "PaneFarm(plq=1, wlq=2)",
        "KeyFarm(WinMapReduce(map=2, reduce=1), replicas=4)", "PaneFarm(plq=1, wlq=2, optimize=0)",
        "WinFarm(3, optimize=1)", "WinFarm(3, model='agnostic', chunk=512)",
    ):  # fmt: skip
        assert str(eval(text, vars(sash) | {name: getattr(sash, name) for name in sash.__all__})) == text


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: sash.WinFarm(0), ArgumentError, "the number of workers of WinFarm"),
        (lambda: sash.WinFarm(True), ArgumentError, "a positive number of workers"),
        (lambda: sash.WinFarm(2, replicas=2), ArgumentError, "left out when WinFarm is given a number"),
        (lambda: sash.WinFarm(sash.PaneFarm(1, 1)), ArgumentError, "how many copies of PaneFarm"),
        (lambda: sash.WinFarm(sash.KeyFarm(2), replicas=2), ArgumentError, "the inner pattern of WinFarm"),
        (lambda: sash.KeyFarm("4"), ArgumentError, "the inner pattern of KeyFarm"),
        (lambda: sash.PaneFarm(0, 1), ArgumentError, "plq must be a positive number"),
        (lambda: sash.WinMapReduce(1, 1.5), ArgumentError, "reduce must be a positive number"),
        (lambda: sash.WinFarm(2, model="lazy"), ArgumentError, "'active' or 'agnostic'"),
        (
            lambda: sash.WinFarm(sash.PaneFarm(1, 1), replicas=2, model="agnostic"),
            Unsupported,
            "nothing left to split",
        ),
        (
            lambda: sash.WinFarm(2, model="agnostic", chunk=0),
            ArgumentError,
            "chunk must be a positive number of events",
        ),
        (
            lambda: sash.WinFarm(2, model="agnostic", chunk=True),
            ArgumentError,
            "a positive number of events",
        ),
        (lambda: sash.WinFarm(2, chunk=7), ArgumentError, "left out unless model='agnostic'"),
        (lambda: sash.PaneFarm(1, 1, optimize=3), ArgumentError, "optimize must be 0, 1 or 2"),
        (lambda: sash.WinFarm(2, optimize=True), ArgumentError, "optimize must be 0, 1 or 2"),
        (
            lambda: sash.KeyFarm(sash.WinMapReduce(1, 1, optimize=0), replicas=2, optimize=1),
            ArgumentError,
            "optimize must be given once",
        ),
    ],
)
def test_a_pattern_that_cannot_be_is_refused_when_it_is_written(
    build: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize(
    "window",
    [
        sash.slide_by_tuple(5, 2), sash.slide_by_time(5, 2), sash.delta("x", 5, 2),
        sash.punctuated(lambda row: row.x > 1), sash.threshold(lambda row: row.x > 1),
    ],
    ids=str,
)  # fmt: skip
def test_forward_context_aware_windows_and_active_workers_are_refused_with_the_reason(window) -> None:
    query = sash.stream(TABLE, time="t").window(window).agg(n=sash.count())
    with pytest.raises(Unsupported, match=r"'agnostic' for .*forward-context-aware") as refused:
        query.parallel(sash.WinFarm(2))
    assert "only known when a later event has been seen" in str(refused.value)
    agnostic = query.parallel(sash.WinFarm(2, model="agnostic"))
    assert agnostic.collect().equals(query.collect())


@pytest.mark.parametrize("chunk", [1, 7, 512])
def test_the_size_of_chunks_changes_no_result(chunk: int) -> None:
    table = pa.table({"t": range(1000), "x": [n * n % 97 for n in range(1000)]})
    farm = sash.WinFarm(2, model="agnostic", chunk=chunk)
    for window in (sash.sliding(30, every=7), sash.session(1), sash.rows(600, every=50)):
        query = sash.stream(table, time="t").window(window).agg(held=sash.collect("x"), high=sash.max("x"))
        assert query.parallel(farm).collect().equals(query.collect())
    whole = sash.stream(table, time="t").window(sash.rows(60, every=50)).apply(_total, schema="n bigint")
    assert whole.parallel(farm).collect().equals(whole.collect())


def _total(events: pa.Table) -> dict[str, int]:
    return {"n": sum(events["x"].to_pylist())}


def test_rolling_features_look_back_from_each_event_and_need_agnostic_workers() -> None:
    rolling = sash.stream(TABLE, time="t").rolling(5)
    with pytest.raises(Unsupported, match="'agnostic'"):
        rolling.parallel(sash.WinFarm(2)).agg(n=sash.count())


@pytest.mark.parametrize("inner", [sash.PaneFarm(2, 2), sash.WinMapReduce(2, 2)], ids=str)
def test_functions_over_whole_windows_have_no_parts(inner) -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(5))
    for pattern in (inner, sash.KeyFarm(inner, replicas=2), sash.WinFarm(inner, replicas=2)):
        with pytest.raises(Unsupported, match=r"\.apply has no combine"):
            windowed.parallel(pattern).apply(len, schema="n bigint")
        with pytest.raises(Unsupported, match=r"\.fold has no combine"):
            windowed.parallel(pattern).fold(0, lambda n, row: n + 1, schema="n bigint")


def test_what_is_dealt_round_robin_must_commute() -> None:
    query = sash.stream(TABLE, time="t").window(sash.tumbling(5)).agg(xs=sash.collect("x"))
    with pytest.raises(NotCommutative, match="WinMapReduce, which deals events out round-robin"):
        query.parallel(sash.WinMapReduce(2, 1))


def test_windows_without_panes_cannot_be_farmed_by_panes() -> None:
    query = sash.stream(TABLE, time="t").window(sash.session(2)).agg(n=sash.count())
    with pytest.raises(Unsupported, match="tiled by panes"):
        query.parallel(sash.PaneFarm(1, 1))


def test_parallel_takes_a_pattern_a_number_or_auto() -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(5))
    query = windowed.agg(n=sash.count())
    assert query.parallel(sash.KeyFarm(2)).parallel("auto").collect().equals(query.collect())
    assert query.parallel(2).source == query.parallel(sash.Auto(cores=2)).source
    for wrong in ("fast", 0, 2.0, None):
        with pytest.raises(ArgumentError, match="number of workers"):
            query.parallel(wrong)
        with pytest.raises(ArgumentError, match="number of workers"):
            windowed.parallel(wrong)


def test_the_late_output_is_the_same_under_a_pattern() -> None:
    table = pa.table({"t": pa.array([1, None, 3]), "x": [1, 2, 3]})
    query = sash.stream(table, time="t").window(sash.tumbling(5)).agg(n=sash.count())
    assert query.parallel(sash.WinFarm(2)).late().collect().equals(query.late().collect())
