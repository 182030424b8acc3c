"""Policy windows by descent in the tree, against the reference: compiled, calling, interpreted and by
definition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from numba.core.runtime import rtsys
from numba.core.runtime._nrt_python import memsys_disable_stats, memsys_enable_stats

import sash
from sash.aggregation import built_in
from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.numba_compilation import jit_disabled
from sash.aggregation.kernels.compiler.side_by_side_source import CallingSource
from sash.aggregation.kernels.state.policy_window_eviction import slide_policy
from sash.aggregation.monoid import Monoid
from sash.errors import IntegerOverflow, PredicateError
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.engine.groups import policy_group as engine
from sash.operators.predicates.policies import InterpretedPolicy, PolicyCondition, types_of
from sash.operators.windows.windowers import vectorised
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Arrival, Batch, Evaluation, evaluate
from sash.semantics.watermark import Watermark
from sash.semantics.windows import PolicyWindow
from tests.runtimes.tables import expected_rows, rows_of, table_of

TYPES = {"e": pa.int64(), "x": pa.int64(), "y": pa.float64(), "w": pa.string()}
SCHEMA = table_of([], TYPES).schema
AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}
WAYS = ["compiled", "calling", "interpreted", "by definition"]
compiling = pytest.mark.skipif(jit_disabled(), reason="nothing is compiled")


def at_most(limit: int) -> PolicyWindow:
    track = {"s": built_in.sum("x"), "last": built_in.last("x")}
    return windows.policy(lambda total, old: total.s - old.s + old.last > limit, track=track)


def newest(limit: int) -> PolicyWindow:
    return windows.policy(lambda total, old: total.n - old.n >= limit, track={"n": built_in.count()})


def span(limit: int) -> PolicyWindow:
    return windows.policy(lambda total, old: total.t - old.t >= limit, track={"t": built_in.max("t")})


def since_the_maximum(_: int) -> PolicyWindow:
    return windows.policy(lambda total, old: old.high < total.high, track={"high": built_in.max("x")})


def fractions(limit: int) -> PolicyWindow:
    track = {
        "s": built_in.sum("y"),
        "m": built_in.mean("y"),
        "n": built_in.count(),
        "first": built_in.first("y"),
    }
    return windows.policy(
        lambda total, old: (total.s - old.s >= limit / 4) | (old.n * (total.m + abs(old.first)) < -1),
        track=track,
    )


def everything(limit: int) -> PolicyWindow:
    return windows.policy(lambda total, old: total.high > 8 - limit % 2, track={"high": built_in.max("x")})


def words(limit: int) -> PolicyWindow:
    track = {"n": built_in.count(), "w": built_in.max("w")}
    return windows.policy(lambda total, old: (total.n - old.n >= limit) & (old.w <= total.w), track=track)


def no_tree(limit: int) -> PolicyWindow:
    track = {"t": built_in.max("t"), "n": built_in.count()}
    return windows.policy(
        lambda total, old: total.t - old.t >= limit or total.n - old.n >= 2 * limit, track=track
    )


COMPILED = [at_most, newest, span, since_the_maximum, fractions, everything]
POLICIES: list[Callable[[int], PolicyWindow]] = [*COMPILED, words, no_tree]
limits = st.sampled_from([1, 2, 3, 7, 20, 45])


@cache
def interpreted_slides(machines: tuple[Compiled, ...]) -> numba_compilation.Kernel:
    return numba_compilation.interpreted(slide_policy, CallingSource(tuple(one.source for one in machines)))


@contextmanager
def only(way: str) -> Iterator[None]:
    """Policy windows are found in this way, or not at all where a faster one would have to give up."""

    def ways(policy: engine.PolicySlides) -> list[Any]:
        form = PolicyCondition if way == "compiled" else InterpretedPolicy
        found = [(kernel, policy_) for kernel, policy_ in original(policy) if isinstance(policy_, form)]
        if way == "interpreted":
            return [(interpreted_slides(policy.machines), policy_) for _, policy_ in found]
        return found

    original: Any = engine.PolicySlides.ways.func  # type: ignore[attr-defined]
    scan = engine.policy_by_definition.begins

    def no_scan(*_: Any) -> list[int]:
        raise AssertionError(f"not {way}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            engine.PolicySlides, "ways", property(ways if way != "by definition" else lambda _: [])
        )
        patch.setattr(engine.policy_by_definition, "begins", scan if way == "by definition" else no_scan)
        yield


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Up to 150 events of two keys in batches, some of them late: enough for several levels of the tree."""
    count, disorder = draw(st.integers(0, 150)), draw(st.sampled_from([0, 0, 3, 15]))
    random = draw(st.randoms(use_true_random=False))
    arrivals, now = [], 0
    for number in range(count):
        now += random.choice([0, 1, 1, 2, 2, 30 if random.random() < 0.1 else 1])
        time, x = now - random.randint(0, disorder), random.choice([0, 1, 1, 2, 3, 9])
        null = random.random() < 0.02
        values = {"e": number, "t": time, "x": None if null else x, "y": x / 8, "w": "abc"[x % 3]}
        arrivals.append(Arrival(time, random.choice("aab"), values))
    batches = []
    while arrivals:
        size = draw(st.sampled_from([1, 1, 3, 10, 60]))
        batches.append(Batch(tuple(arrivals[:size])))
        arrivals = arrivals[size:]
    return batches


def answers(bound: BoundQuery, reports: pa.Table) -> list[Any]:
    revisions = (
        reports["revision"].to_pylist() if "revision" in reports.column_names else [0] * len(reports)
    )
    rows = zip(reports.to_pylist(), revisions, strict=True)
    return sorted((r["k"], r["window"]["id"], r["held"], r["n"], r["s"], revision) for r, revision in rows)


def require_the_reference(bound: BoundQuery, stream: list[Batch], *, restart: Callable[[], bool]) -> None:
    """After every batch, and at the end."""
    operator = WindowOperator.load(bound, None, {})
    chunks: dict[int, bytes] = {}
    watermark = Watermark(delay=bound.query.delay.length)
    reference = Evaluation(bound.query)
    seen = 0

    def require(reports: pa.Table) -> None:
        nonlocal seen
        new = reference.reports[seen:]
        shown = [(r.key, r.id, *(r.values[n] for n in ("held", "n", "s")), r.revision) for r in new]
        assert answers(bound, reports) == sorted(shown)
        seen = len(reference.reports)

    for batch in stream:
        rows = table_of(list(batch.arrivals), TYPES)
        operator.insert(rows, np.arange(rows.num_rows))
        watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        now = -(2**60) if watermark.value is None else watermark.value
        reference.take(batch)
        require(operator.advance(now).reports)
        saved = operator.save()
        chunks = {n: chunk for n, chunk in (chunks | saved.written).items() if n not in saved.dropped}
        if restart():
            operator = WindowOperator.load(bound, saved.header, chunks)
        else:
            operator.resume(saved.header, chunks)
    now = 0 if watermark.value is None else watermark.value
    reference.report(flush=True)
    require(operator.advance(now, flush=True).reports)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(stream=streams(), data=st.data(), limit=limits)
def test_oracle_every_batch_is_answered_as_the_reference_answers_it(
    way: str, stream: list[Batch], data: st.DataObject, limit: int
) -> None:
    possible = COMPILED if way == "compiled" and not jit_disabled() else POLICIES
    window = data.draw(st.sampled_from(possible))(limit)
    window = windows.policy(window.wsp, track=window.track, every=data.draw(st.integers(1, 3)))
    lateness, emit = (
        data.draw(st.sampled_from([0, 0, 5, 30])),
        data.draw(st.sampled_from(["close", "change"])),
    )
    query = Query(
        (window,),
        AGGREGATES,
        delay=Duration(data.draw(st.sampled_from([0, 3, 15])), Unit.TICKS),
        allowed_lateness=Duration(lateness, Unit.TICKS),
        emit=Emit.parse(emit),
        empty=data.draw(st.booleans()),
    )
    bound = BoundQuery(query, SCHEMA, "t", ("k",))
    often = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    random = data.draw(st.randoms(use_true_random=False))
    if way in ("calling", "interpreted") and "w" in window.track:
        way = "by definition"
    if jit_disabled() and way == "compiled":
        way = "by definition" if "w" in window.track else "interpreted"
    with only(way):
        require_the_reference(bound, stream, restart=lambda: random.random() < often)


@settings(max_examples=60)
@given(stream=streams(), policy_of=st.sampled_from(POLICIES), limit=limits, arrival=st.booleans())
def test_oracle_a_bounded_input_is_answered_as_the_reference_answers_one_batch(
    stream: list[Batch], policy_of: Callable[[int], PolicyWindow], limit: int, arrival: bool
) -> None:
    arrivals = [one for batch in stream for one in batch.arrivals]
    order = Order.ARRIVAL if arrival else Order.EVENT_TIME
    source = sash.stream(table_of(arrivals, TYPES), time="t", key="k", order=order.value)
    query = source.window(policy_of(limit)).agg(**AGGREGATES)
    expected = evaluate(query.bound.query, [Batch(tuple(arrivals))]).reports
    assert rows_of(query.collect(), AGGREGATES) == expected_rows(expected, AGGREGATES, named=False)


# What has a tree


def condition(policy: Callable[[Any, Any], Any], **track: Any) -> PolicyCondition | None:
    window = windows.policy(policy, track=track)
    return PolicyCondition.of(window, types_of(window, SCHEMA))


def test_policies_that_differ_in_a_constant_share_their_text() -> None:
    one, other = (
        PolicyCondition.of(at_most(limit), types_of(at_most(limit), SCHEMA)) for limit in (10, 20)
    )
    assert one is not None
    assert other is not None
    assert one.body == other.body
    assert (one.numbers[1:], other.numbers[1:]) == ((10,), (20,))


def test_a_policy_that_does_more_than_operators_has_no_tree() -> None:
    n = built_in.count()
    assert condition(lambda total, old: total.n - old.n >= 2, n=n)
    assert condition(lambda total, old: total.n > 2 and old.n > 1, n=n) is None
    assert condition(lambda total, old: max(total.n, old.n) > 1, n=n) is None
    assert condition(lambda total, old: total["n"] > 1, n=n) is None, "a namespace has no items"
    assert condition(lambda total, old: total.m > 1, n=n) is None
    assert condition(lambda total, old: True, n=n) is None
    assert condition(lambda total, old: total.n - old.n, n=n) is None, "a number is no answer"
    assert condition(lambda total, old: total.m // 2 > 1, m=built_in.mean("x")) is None
    assert condition(lambda total, old: total.w > old.w, w=built_in.max("w")) is None
    assert condition(lambda total, old: total.n * 2**70 > old.n, n=n) is None


def test_the_planner_knows_which_policies_are_machine_code() -> None:
    assert vectorised(at_most(10), SCHEMA)
    assert not vectorised(no_tree(10), SCHEMA)
    assert not vectorised(words(10), SCHEMA)


# What Python and 64 bits see differently


def begins(window: PolicyWindow, **columns: Any) -> list[list[Any]]:
    rows = pa.table({"t": pa.array(range(len(next(iter(columns.values()))))), **columns})
    query = sash.stream(rows, time="t").window(window, empty=True).agg(held=sash.collect("t"))
    return [[row["held"][0]] if row["held"] else [] for row in query.collect().to_pylist()]


def test_integers_beyond_64_bits_are_compared_as_python_compares_them() -> None:
    # 3 · 2⁶² does not fit, and as a 64-bit number it would be negative.
    window = windows.policy(lambda total, old: total.x * 3 > 5, track={"x": sash.max("x")})
    assert begins(window, x=[1, 2**62, 1]) == [[0], [], [2]]


def test_a_large_integer_is_not_rounded_when_it_meets_a_fraction() -> None:
    window = windows.policy(lambda total, old: total.x > 2.0**60, track={"x": sash.max("x")})
    assert begins(window, x=[2**60, 2**60 + 1]) == [[0], []]


def test_a_policy_is_not_asked_about_prefixes_that_a_scan_does_not_reach() -> None:
    # The descent meets a prefix of 16 events, for which the policy divides by zero; a scan stops after one.
    window = windows.policy(
        lambda total, old: (total.t - old.t >= 20) & (100 // (16 - old.n) > 0),
        track={"t": sash.max("t"), "n": sash.count()},
    )
    assert begins(window, x=list(range(60))) == [[max(0, t - 19)] for t in range(60)]


def test_what_a_policy_raises_is_an_error_of_the_policy() -> None:
    window = windows.policy(lambda total, old: 1 / (total.n - 5) > old.n, track={"n": sash.count()})
    with pytest.raises(PredicateError, match="the slide policy raised ZeroDivisionError"):
        begins(window, x=list(range(9)))


def test_a_policy_without_a_bool_is_an_error() -> None:
    window = windows.policy(lambda total, old: total.n - old.n, track={"n": sash.count()})
    with pytest.raises(PredicateError, match="must return True or False"):
        begins(window, x=[1, 2])


def test_a_sum_that_does_not_fit_is_an_error_whatever_the_way() -> None:
    window = windows.policy(lambda total, old: total.s < old.s, track={"s": sash.sum("x")})
    with pytest.raises(IntegerOverflow):
        begins(window, x=[2**62, 2**62])


def test_null_results_are_what_python_makes_of_them() -> None:
    # The sample variance of one event is null.
    compared = windows.policy(lambda total, old: total.v > old.v, track={"v": sash.variance("x")})
    with pytest.raises(PredicateError, match="TypeError"):
        begins(compared, x=[1.0, 2.0])
    window = windows.policy(
        lambda total, old: old.v is None and total.v is not None, track={"v": sash.variance("x")}
    )
    assert begins(window, x=[1.0, 2.0, 3.0]) == [[0], [1], [2]]


def test_times_are_times() -> None:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    hours = [0, 0.5, 0.9, 1.0, 3.0]
    for type_ in (pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ms", "Europe/Paris")):
        times = pa.array([start + dt.timedelta(hours=hour) for hour in hours], pa.timestamp("us", "UTC"))
        rows = pa.table({"t": times.cast(type_), "e": range(len(hours))})
        hour = windows.policy(
            lambda total, old: total.t - old.t >= dt.timedelta(hours=1), track={"t": sash.max("t")}
        )
        query = sash.stream(rows, time="t").window(hour).agg(held=sash.collect("e"))
        assert query.collect()["held"].to_pylist() == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [4]]
        assert vectorised(hour, rows.schema) == (type_.unit == "us")


# Aggregates of users


class Weight(NamedTuple):
    total: float
    count: int


def total_of(**functions: Any) -> Monoid:
    """A sum of x and a count, whose functions may be ones that Numba does not know."""
    given: dict[str, Any] = {
        "identity": lambda: Weight(0.0, 0),
        "lift": lambda x: Weight(1.0 * x, 1),
        "combine": lambda a, b: Weight(a[0] + b[0], a[1] + b[1]),
        "lower": lambda a: a[0],
    }
    return Monoid("total", ("x",), **(given | functions))


FUNCTIONS: dict[str, dict[str, Any]] = {
    "names": {"lower": lambda a: a.total},
    "lift": {"lift": lambda x: Weight(float(f"{x:.1f}"), 1)},
    "combine": {"combine": lambda a, b: Weight(float(f"{a[0] + b[0]:.1f}"), a[1] + b[1])},
    "lower": {"lower": lambda a: float(f"{a[0]:.1f}")},
}


@pytest.mark.filterwarnings("ignore:.*cannot be compiled")
@pytest.mark.parametrize("changed", FUNCTIONS)
def test_aggregates_whose_functions_cannot_be_compiled_have_policies(changed: str) -> None:
    monoid = total_of(**FUNCTIONS[changed])
    window = windows.policy(
        lambda total, old: total.s - old.s >= 6 and total.n > old.n,
        track={"s": monoid, "n": sash.count()},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.policy_by_definition, "begins", None)
        assert begins(window, x=[3, 2, 1, 3, 2, 1, 3]) == [[at] for at in [0, 0, 0, 1, 2, 3, 4]]


@compiling
def test_a_policy_that_raises_does_not_keep_the_columns_of_its_batch() -> None:
    window = windows.policy(
        lambda total, old: total.n - old.n >= 3 and 1 // (total.n - old.n - 3) > 0,
        track={"n": sash.count()},
    )
    stats = rtsys.get_allocation_stats
    memsys_enable_stats()
    try:
        before = stats()
        with pytest.raises(PredicateError):
            begins(window, x=list(range(9)))
        after = stats()
    finally:
        memsys_disable_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0


@compiling
def test_decisions_over_floats_do_not_depend_on_batches_or_restarts() -> None:
    random = np.random.default_rng(7)
    rows = pa.table({"t": np.arange(1000), "x": random.random(1000) - 0.2})
    window = windows.policy(
        lambda total, old: total.m * total.n - old.m * old.n > 3.7,
        track={"m": sash.mean("x"), "n": sash.count()},
    )
    bound = BoundQuery(Query((window,), {"n": built_in.count()}), rows.schema, "t", ())
    found = []
    for size, restart in [(1000, False), (1, False), (7, True), (100, True)]:
        operator, chunks, sizes = WindowOperator.load(bound, None, {}), {}, []
        for start in range(0, 1000, size):
            batch = rows.slice(start, size)
            operator.insert(batch, np.arange(batch.num_rows))
            sizes += operator.advance(min(start + size, 1000) - 1).reports["n"].to_pylist()
            if restart:
                saved = operator.save()
                chunks = {n: c for n, c in (chunks | saved.written).items() if n not in saved.dropped}
                operator = WindowOperator.load(bound, saved.header, chunks)
        found.append(sizes)
    assert all(sizes == found[0] for sizes in found[1:])
