"""The same query gives the same answer under every pattern and every degree: that of the reference."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.api.windowed import Windowed
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals, shift, small
from tests.runtimes.tables import expected_rows, rows_of, table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
COMMUTATIVE = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "top": built_in.top_k("x", 2),
}
ORDERED = {
    "held": built_in.collect("e"),
    "first": built_in.first("x"),
    "run": built_in.longest_increasing_run("x"),
}

degree = st.integers(1, 6)
level = st.sampled_from([None, 0, 1, 2])
leaf: st.SearchStrategy[Any] = st.one_of(
    st.just(WinSeq()),
    st.builds(PaneFarm, degree, degree, optimize=level),
    st.builds(WinMapReduce, degree, degree, optimize=level),
)
pattern: st.SearchStrategy[Pattern] = st.one_of(
    leaf,
    st.builds(lambda inner, n: KeyFarm(inner, replicas=n), leaf, degree),
    st.builds(lambda inner, n: WinFarm(inner, replicas=n), leaf, degree),
    st.builds(lambda n: WinFarm(n, model="agnostic"), degree),
)
context_free: st.SearchStrategy[Window] = st.one_of(
    st.builds(sash.rows, small, every=small),
    st.builds(
        lambda size, every, origin: sash.sliding(size, every=every, origin=origin), small, small, shift
    ),
    st.builds(lambda step, steps: sash.cumulate(step * steps, step), st.integers(1, 4), st.integers(1, 4)),
)


@st.composite
def split(draw: st.DrawFn) -> tuple[Pattern, Window, dict[str, Monoid]]:
    """A pattern, and a window and aggregates that it can compute."""
    chosen = draw(pattern)
    inner = chosen.held if isinstance(chosen, KeyFarm | WinFarm) else chosen
    window = draw(context_free if isinstance(inner, PaneFarm) else st.one_of(context_free, any_window))
    names = COMMUTATIVE if isinstance(inner, WinMapReduce) else COMMUTATIVE | ORDERED
    aggregates = draw(st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=4, unique=True))
    return chosen, window, {name: names[name] for name in aggregates}


def windowed(stream: list[Arrival], window: Window, **options: Any) -> Windowed:
    keyed = sash.stream(table_of(stream, TYPES), time="t", key="k", **options.pop("of", {}))
    return keyed.window(window, **options)


@settings(max_examples=400, deadline=None)
@given(case=split(), stream=arrivals(), empty=st.booleans(), flush=st.booleans())
def test_oracle_every_pattern_answers_as_the_reference_does(
    case: tuple[Pattern, Window, dict[str, Monoid]], stream: list[Arrival], empty: bool, flush: bool
) -> None:
    chosen, window, aggregates = case
    query = windowed(stream, window, empty=empty, flush=flush).agg(**aggregates)
    assume(refusal(chosen, query.bound) is None)
    reports = query.parallel(chosen).dataframe()
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(reports, aggregates) == expected_rows(oracle.reports, aggregates, named=False)
    assert reports.equals(query.dataframe())  # and in the same order, before anybody sorts


@settings(max_examples=60, deadline=None)
@given(
    n=degree, model=st.sampled_from(["active", "agnostic", "by key"]), window=any_window, stream=arrivals()
)
def test_oracle_whole_windows_go_to_worker_processes_and_come_back_in_order(
    n: int, model: str, window: Window, stream: list[Arrival]
) -> None:
    chosen = KeyFarm(n) if model == "by key" else WinFarm(n, model=model)
    query = windowed(stream, window).apply(
        lambda events: [{"e": e} for e in events["e"].to_pylist()], schema="e bigint"
    )
    assume(refusal(chosen, query.bound) is None)
    held = built_in.collect("e")
    oracle = evaluate(Query((window,), {"e": held}), [Batch(tuple(stream))])
    by_window = {}
    for row in query.parallel(chosen).collect().to_pylist():
        by_window.setdefault((row["k"], row["window"]["id"]), []).append(row["e"])
    assert by_window == {
        (report.key, report.id): report.values["e"] for report in oracle.reports if report.ordinals
    }


@settings(max_examples=20, deadline=None)
@given(n=degree, agnostic=st.booleans(), stream=arrivals())
def test_oracle_a_fold_under_a_window_farm_is_that_of_the_reference(
    n: int, agnostic: bool, stream: list[Arrival]
) -> None:
    window = sash.rows(5, every=2)
    folded = windowed(stream, window).fold(
        [], lambda held, row: [*held, row.e], schema="held array<bigint>"
    )
    chosen = WinFarm(n, model="agnostic" if agnostic else "active")
    held = {"held": built_in.collect("e")}
    oracle = evaluate(Query((window,), held), [Batch(tuple(stream))])
    assert rows_of(folded.parallel(chosen).collect(), held) == expected_rows(
        oracle.reports, held, named=False
    )


@settings(max_examples=15, deadline=None)
@given(n=degree, keyed=st.booleans(), stream=arrivals())
def test_differential_rolling_features_are_the_same_in_parallel(
    n: int, keyed: bool, stream: list[Arrival]
) -> None:
    table = table_of(stream, TYPES)
    rolling = sash.stream(table, time="t", key="k" if keyed else None).rolling(3, 10)
    plain = rolling.agg(s=built_in.sum("x"), n=built_in.count())
    panes = PaneFarm(n, n)
    for chosen in (
        KeyFarm(n), WinFarm(n, model="agnostic"), WinMapReduce(n, n), panes, KeyFarm(panes, replicas=2)
    ):  # fmt: skip
        assert plain.parallel(chosen).collect().equals(plain.collect())


@settings(max_examples=15, deadline=None)
@given(
    n=degree, engine=st.sampled_from(["flink", "coral8", "oracle_cep", "kafka_streams"]), stream=arrivals()
)
def test_differential_windows_that_run_as_another_engine_are_the_same_in_parallel(
    n: int, engine: str, stream: list[Arrival]
) -> None:
    plain = windowed(stream, sash.sliding(6, every=2)).semantics(engine).agg(s=built_in.sum("x"))
    for chosen in (KeyFarm(n), WinFarm(n, model="agnostic"), WinMapReduce(n, n)):
        assert plain.parallel(chosen).collect().equals(plain.collect())


@pytest.mark.parametrize("n", range(1, 7))
def test_oracle_every_degree_of_every_pattern_over_one_key(n: int) -> None:
    stream = [Arrival(t, None, {"e": t, "t": t, "x": t * 7 % 10}) for t in range(60) if t % 13]
    query = (
        sash.stream(table_of(stream, TYPES), time="t")
        .window(sash.sliding(12, every=3), sash.rows(9, every=4).named("c"))
        .agg(**COMMUTATIVE)
    )
    expected = query.collect()
    shapes: list[Pattern] = [KeyFarm(n), WinFarm(n), WinFarm(n, model="agnostic")]
    for m in range(1, 7):
        for inner in (PaneFarm(n, m), WinMapReduce(n, m)):
            shapes += [inner, KeyFarm(inner, replicas=m), WinFarm(inner, replicas=m)]
    for shape in shapes:
        assert query.parallel(shape).collect().equals(expected), shape
