"""One matrix for every algorithm: algorithms × forms × schedules × monoids, against recalculation.

The forms are what `sash.aggregators` exports, which runs machine code where elements are numbers, and the
interpreted algorithm. The oracle is the interpreted `Recalculate`. `collect` and `AFFINE` are not
commutative and reveal every re-ordering; `bloom` and `collect` have objects as elements. Inputs have nulls
in them: they hold their place in the window and add nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sash import aggregators
from sash.aggregation import algorithms, built_in
from sash.aggregation.algorithms import Algorithm
from sash.aggregation.algorithms.finger_tree_nodes import Node, NodePlace
from sash.aggregation.monoid import Monoid
from sash.aggregators import Aggregator, tracked

from .kernel_monoids import AFFINE, MACHINE_CODE, TOTAL

FIFO = ["SubtractOnEvict", "TwoStacks", "DABALite", "LogMTA", "AMTA"]
ANY_ORDER = ["FiBA", "Recalculate"]
FORMS: dict[str, Any] = {"exported": vars(aggregators), "interpreted": algorithms.INTERPRETED}

Window = Aggregator | Algorithm
Oracle = algorithms.RecalculatedWindow

OBJECTS = {"collect", "bloom"}
MONOIDS: dict[str, Monoid] = {
    "sum": built_in.sum("x").bind(("int",)),
    "max": built_in.max("x"),
    "mean": built_in.mean("x"),
    "stddev": built_in.stddev("x"),
    "argmax": built_in.argmax("x", "y"),
    "affine": AFFINE,
    "collect": built_in.collect("x"),
    "bloom": built_in.bloom("x"),
}

Operation = Callable[[Window], None]


# Schedules. Each is a list of operations that any aggregator can be put through.


class Script:
    """Writes a schedule: knows how long the window is, and gives every event a value and a time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.operations: list[Operation] = []
        self.size = 0
        self.clock = 0

    def row(self, *, late: int = 0) -> tuple[tuple[Any, Any], int]:
        self.clock += self.random.choice((0, 1, 1, 3))
        value = None if self.random.random() < 0.1 else self.random.randint(-50, 50)
        return (value, self.random.randint(0, 5)), self.clock - self.random.randint(0, late)

    def insert(self, *, late: int = 0) -> None:
        row, time = self.row(late=late)
        self.operations.append(lambda window: window.insert(*_inputs(window, row), time=time))
        self.size += 1

    def insert_many(self, count: int, *, late: int = 0) -> None:
        rows, times = zip(*(self.row(late=late) for _ in range(count)), strict=True)

        def operation(window: Window) -> None:
            columns = zip(*(_inputs(window, row) for row in rows), strict=True)
            window.insert_many(*columns, times=times)

        self.operations.append(operation)
        self.size += count

    def evict(self) -> None:
        self.operations.append(lambda window: window.evict())
        self.size -= 1

    def bulk_evict(self, count: int) -> None:
        self.operations.append(lambda window: _expect(window.bulk_evict(count), count))
        self.size -= count

    def evict_until(self, time: int) -> None:
        self.operations.append(lambda window: window.bulk_evict(until=time) and None)

    def slide_to(self, size: int) -> None:
        while self.size > size:
            self.evict()


def _inputs(window: Window, row: tuple[Any, Any]) -> tuple[Any, ...]:
    return row[: len(window.monoid.columns)]


def _expect(found: Any, wanted: Any) -> None:
    assert found == wanted


def fixed() -> list[Operation]:
    script = Script(1)
    for size in (1, 2, 7, 16):
        for _ in range(3 * size + 10):
            script.insert()
            script.slide_to(size)
    return script.operations


def growing() -> list[Operation]:
    script = Script(2)
    for step in range(150):
        script.insert()
        if step % 4 == 3:
            script.evict()
    return script.operations


def shrinking() -> list[Operation]:
    script = Script(3)
    for _ in range(90):
        script.insert()
    while script.size:
        script.evict()
        if script.size and script.size % 5 == 0:
            script.insert()
            script.evict()
    return script.operations


def sawtooth() -> list[Operation]:
    """Fill up to a peak and empty again, with ever other peaks and troughs."""
    script = Script(4)
    for peak, trough in ((8, 0), (9, 1), (31, 0), (16, 5), (40, 3), (33, 0), (1, 0), (20, 0)):
        while script.size < peak:
            script.insert()
        script.slide_to(trough)
    return script.operations


def thirds() -> list[Operation]:
    """Grow, lose a third, grow by a third, lose two thirds: flips meet windows of every phase."""
    script = Script(5)
    for size in (6, 15, 45, 30):
        while script.size < size:
            script.insert()
        script.slide_to(2 * size // 3)
        while script.size < size:
            script.insert()
        script.slide_to(size // 3)
    script.slide_to(0)
    return script.operations


def random_walk() -> list[Operation]:
    script = Script(6)
    for _ in range(300):
        if script.size and script.random.random() < 0.47:
            script.evict()
        else:
            script.insert()
    return script.operations


def bulk() -> list[Operation]:
    script = Script(7)
    for _ in range(60):
        script.insert_many(script.random.randint(1, 40))
        for _ in range(script.random.randint(0, 3)):
            script.insert()
        script.bulk_evict(script.random.choice((0, 1, script.size // 2, script.size, script.size // 7)))
    return script.operations


def by_time() -> list[Operation]:
    script = Script(8)
    for step in range(150):
        script.insert()
        if step % 3 == 0:
            script.evict_until(script.clock - script.random.choice((0, 5, 20, 20, 40)))
    return script.operations


def out_of_order() -> list[Operation]:
    script = Script(9)
    for step in range(200):
        script.insert(late=script.random.choice((0, 0, 2, 30, 500)))
        if script.size > 60:
            script.evict()
        if step % 40 == 39:
            script.insert_many(25, late=100)
            script.bulk_evict(script.random.randint(1, script.size - 1))
    return script.operations


IN_ORDER_SCHEDULES = [fixed, growing, shrinking, sawtooth, thirds, random_walk, bulk, by_time]


def _combinations() -> Iterator[Any]:
    for algorithm, form in product(FIFO + ANY_ORDER, FORMS):
        for schedule in IN_ORDER_SCHEDULES + ([out_of_order] if algorithm in ANY_ORDER else []):
            for name, monoid in MONOIDS.items():
                if algorithm != "SubtractOnEvict" or monoid.invertible:
                    label = f"{algorithm}-{form}-{schedule.__name__}-{name}"
                    yield pytest.param(algorithm, form, schedule, name, id=label)


@pytest.mark.parametrize(("algorithm", "form", "schedule", "name"), list(_combinations()))
def test_oracle_every_algorithm_equals_recalculation_after_every_operation(
    algorithm: str, form: str, schedule: Callable[[], list[Operation]], name: str
) -> None:
    window, oracle = FORMS[form][algorithm](MONOIDS[name]), Oracle(MONOIDS[name])
    for operation in schedule():
        operation(window)
        operation(oracle)
        assert len(window) == len(oracle)
        assert _close(window.query(), oracle.query())
    if form == "exported":
        assert window.mode == ("compiled" if MACHINE_CODE and name not in OBJECTS else "interpreted")


def _close(found: Any, expected: Any) -> bool:
    return bool(found == (pytest.approx(expected, rel=1e-9, abs=1e-9) if _is_float(expected) else expected))


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


def test_every_exported_algorithm_is_in_the_matrix() -> None:
    exported = set(aggregators.__all__) - {"tracked", "Aggregator"}
    assert exported == {*FIFO, *ANY_ORDER}
    assert {case.values[:2] for case in _combinations()} == set(product(exported, FORMS))


# Random programs: all algorithms side by side, under monoids that show every mistake.

TEXT = Monoid("text", ("x",), str, str, lambda a, b: a + b, lambda s: s)


class AllAlgorithmsAgree(RuleBasedStateMachine):
    """Interpreted, over text."""

    def __init__(self) -> None:
        super().__init__()
        self.oracle, self.windows = self.made()
        self.clock = 0
        self.names = self.values()

    def made(self) -> tuple[Oracle, list[Any]]:
        windows = [algorithms.INTERPRETED[name](TEXT) for name in (*FIFO[1:], "FiBA")]
        return Oracle(TEXT), [*windows, algorithms.FingerTree(TEXT, arity=2)]

    def values(self) -> Iterator[Any]:
        return (f"{i}." for i in range(1_000_000))

    def everyone(self, operation: Operation) -> None:
        for window in (self.oracle, *self.windows):
            operation(window)

    def tick(self, gap: int) -> int:
        self.clock += gap
        return self.clock

    @rule(gap=st.integers(0, 2), null=st.booleans())
    def insert(self, gap: int, null: bool) -> None:
        time, name = self.tick(gap), None if null and gap else next(self.names)
        self.everyone(lambda window: window.insert(name, time=time))

    @rule(gaps=st.lists(st.integers(0, 2), max_size=120))
    def insert_many(self, gaps: list[int]) -> None:
        times = [self.tick(gap) for gap in gaps]
        names = [next(self.names) for _ in gaps]
        self.everyone(lambda window: window.insert_many(names, times=times))

    @precondition(lambda self: len(self.oracle))
    @rule()
    def evict(self) -> None:
        self.everyone(lambda window: window.evict())

    @rule(share=st.floats(0, 1))
    def bulk_evict(self, share: float) -> None:
        count = round(share * len(self.oracle))
        self.everyone(lambda window: _expect(window.bulk_evict(count), count))

    @rule(back=st.integers(-1, 30))
    def evict_until(self, back: int) -> None:
        expected = self.oracle.bulk_evict(until=self.clock - back)
        for window in self.windows:
            assert window.bulk_evict(until=self.clock - back) == expected

    @invariant()
    def all_agree(self) -> None:
        for window in self.windows:
            assert len(window) == len(self.oracle)
            assert window.query() == self.oracle.query(), type(window).__name__


class AllCompiledAlgorithmsAgree(AllAlgorithmsAgree):
    """As they are exported, over maps of numbers, whose order cannot be changed either."""

    def made(self) -> tuple[Oracle, list[Any]]:
        return Oracle(AFFINE), [getattr(aggregators, name)(AFFINE) for name in (*FIFO[1:], *ANY_ORDER)]

    def values(self) -> Iterator[Any]:
        return iter(range(1_000_000))


THOROUGH = settings(max_examples=150, stateful_step_count=40, deadline=None)

AllAlgorithmsAgree.TestCase.settings = THOROUGH
test_differential_all_algorithms_agree_on_random_programs = AllAlgorithmsAgree.TestCase
AllCompiledAlgorithmsAgree.TestCase.settings = THOROUGH
test_differential_all_compiled_algorithms_agree_on_random_programs = AllCompiledAlgorithmsAgree.TestCase


class FingerTreeKeepsItsShape(RuleBasedStateMachine):
    """FiBA with late elements, ties and bulks; its balance and places are checked after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.oracle, self.tree = self.made()
        self.names = self.values()

    def made(self) -> tuple[Oracle, Any]:
        return Oracle(TEXT), algorithms.FingerTree(TEXT, arity=2)

    def values(self) -> Iterator[Any]:
        return (f"{i}." for i in range(1_000_000))

    @rule(time=st.integers(0, 60))
    def insert(self, time: int) -> None:
        name = next(self.names)
        for window in (self.oracle, self.tree):
            window.insert(name, time=time)

    @rule(times=st.lists(st.integers(0, 60), max_size=40))
    def insert_many(self, times: list[int]) -> None:
        names = [next(self.names) for _ in times]
        for window in (self.oracle, self.tree):
            window.insert_many(names, times=times)

    @rule(share=st.floats(0, 1))
    def bulk_evict(self, share: float) -> None:
        count = round(share * len(self.oracle))
        for window in (self.oracle, self.tree):
            window.bulk_evict(count)

    @rule(until=st.integers(0, 61))
    def evict_until(self, until: int) -> None:
        assert self.tree.bulk_evict(until=until) == self.oracle.bulk_evict(until=until)

    @invariant()
    def agrees_and_is_balanced(self) -> None:
        assert len(self.tree) == len(self.oracle)
        assert self.tree.query() == self.oracle.query()
        self.check()

    def check(self) -> None:
        check_shape(self.tree)


class CompiledFingerTreeAgrees(FingerTreeKeepsItsShape):
    """The exported one, with nulls anywhere in time."""

    def made(self) -> tuple[Oracle, Any]:
        return Oracle(AFFINE), aggregators.FiBA(AFFINE)

    def values(self) -> Iterator[Any]:
        return (None if i % 5 == 3 else i for i in range(1_000_000))

    def check(self) -> None:
        pass


FingerTreeKeepsItsShape.TestCase.settings = THOROUGH
test_oracle_finger_tree_takes_any_order_and_stays_balanced = FingerTreeKeepsItsShape.TestCase
CompiledFingerTreeAgrees.TestCase.settings = THOROUGH
test_oracle_compiled_finger_tree_takes_any_order = CompiledFingerTreeAgrees.TestCase


def check_shape(tree: algorithms.FingerTree) -> None:
    depths: set[int] = set()
    arity = tree._capacity // 2

    def walk(node: Node, depth: int, place: NodePlace) -> None:
        assert node.place is place
        assert len(node.items) <= tree._capacity
        if place in (NodePlace.INSIDE, NodePlace.RIGHT):
            assert len(node.items) >= arity
        if node.is_leaf:
            depths.add(depth)
            assert len(node.keys) == len(node.items)
            assert node.keys == sorted(node.keys)
            return
        assert len(node.items) >= (2 if place is NodePlace.ROOT else 1)
        assert len(node.keys) == len(node.items) - 1
        for i, child in enumerate(node.items):
            assert child.parent is node
            first, last = i == 0, i == len(node.items) - 1
            if first and place in (NodePlace.ROOT, NodePlace.LEFT):
                walk(child, depth + 1, NodePlace.LEFT)
            elif last and place in (NodePlace.ROOT, NodePlace.RIGHT):
                walk(child, depth + 1, NodePlace.RIGHT)
            else:
                walk(child, depth + 1, NodePlace.INSIDE)

    walk(tree._root, 0, NodePlace.ROOT)
    assert len(depths) == 1


# Slide policies: the descent finds what a scan from the head finds.

SUM_COUNT_LAST = {"s": built_in.sum("x"), "n": built_in.count(), "last": built_in.last("x")}

POLICIES: dict[str, Callable[[int], Callable[[Any, Any], bool]]] = {
    "at most so many": lambda limit: lambda total, old: total.n - old.n >= limit,
    "at most this sum": lambda limit: lambda total, old: total.s - old.s + old.last > limit,
    "nothing leaves": lambda limit: lambda total, old: False,
    "all leave": lambda limit: lambda total, old: True,
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("algorithm", ["LogMTA", "AMTA", "Recalculate"])
@settings(deadline=None, max_examples=50)
@given(values=st.lists(st.integers(0, 9), max_size=80), limit=st.integers(0, 60), batch=st.integers(1, 30))
def test_oracle_policy_descent_evicts_what_a_scan_from_the_head_evicts(
    algorithm: str, policy: str, values: list[int], limit: int, batch: int
) -> None:
    monoid = tracked(**SUM_COUNT_LAST)
    tree, oracle = getattr(aggregators, algorithm)(monoid), Oracle(monoid)
    for begin in range(0, len(values), batch):
        for window in (tree, oracle):
            window.insert_many(values[begin : begin + batch])
        wsp = POLICIES[policy](limit)
        assert tree.evict_by_policy(wsp) == oracle.evict_by_policy(wsp)
        assert tree.query() == oracle.query()


@pytest.mark.parametrize("algorithm", ["LogMTA", "AMTA", "Recalculate"])
@settings(deadline=None, max_examples=100)
@given(
    values=st.lists(st.none() | st.integers(0, 9), max_size=120),
    limit=st.integers(0, 60),
    batches=st.lists(st.integers(1, 40), min_size=1, max_size=5),
)
def test_oracle_compiled_policy_descent_evicts_what_a_scan_from_the_head_evicts(
    algorithm: str, values: list[int | None], limit: int, batches: list[int]
) -> None:
    tree, oracle = getattr(aggregators, algorithm)(TOTAL, kinds=("int",)), Oracle(TOTAL)
    left = list(values)
    for size in batches * 5:
        some, left = left[:size], left[size:]
        for window in (tree, oracle):
            window.insert_many(some)
        evicted = [window.evict_by_policy(_at_most(limit)) for window in (tree, oracle)]
        assert evicted[0] == evicted[1]
        assert (len(tree), tree.query()) == (len(oracle), oracle.query())


def _at_most(limit: int) -> Callable[[Any, Any], bool]:
    """Keep a sum of at most so much; leading nulls have no sum and leave."""
    return lambda total, old: old is None or total - old >= limit


# Batches.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algorithm", [*FIFO, *ANY_ORDER])
def test_differential_a_batch_is_its_elements_one_by_one(algorithm: str, form: str) -> None:
    made = FORMS[form][algorithm]
    single, batch = made(MONOIDS["sum"]), made(MONOIDS["sum"])
    values = np.arange(1_000, dtype=np.int64)
    batch.insert_many(values, times=values // 3)
    for value in values.tolist():
        single.insert(value, time=value // 3)
    for window in (single, batch):
        window.bulk_evict(until=100)
    assert len(single) == len(batch) == 700
    assert single.query() == batch.query()


@settings(deadline=None, max_examples=80)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 600), st.integers(0, 5), st.floats(0, 1)), max_size=8),
    algorithm=st.sampled_from([algorithms.LogForest, algorithms.AmortizedForest]),
)
def test_differential_vectorised_batches_equal_plain_ones(
    sizes: list[tuple[int, int, float]],
    algorithm: type[algorithms.LogForest] | type[algorithms.AmortizedForest],
) -> None:
    total = Monoid("sum", ("x",), int, lambda x: x, lambda a, b: a + b, lambda s: s)
    vectorised, plain = algorithm(total, pairwise=np.add), algorithm(total)
    value = 0
    for size, singles, share in sizes:
        batch = np.arange(value, value + size, dtype=np.int64)
        for window in (vectorised, plain):
            window.insert_elements(batch)
            for extra in range(singles):
                window.insert(None if extra == 3 else extra)
            window.bulk_evict(round(share * len(window)))
        value += size
        assert vectorised.query() == plain.query()
        assert type(vectorised.query()) in (int, type(None))


@pytest.mark.parametrize("name", MONOIDS)
@pytest.mark.parametrize("algorithm", [*FIFO, *ANY_ORDER])
@settings(deadline=None, max_examples=15)
@given(
    rows=st.lists(st.tuples(st.none() | st.integers(-50, 50), st.integers(0, 5)), min_size=1, max_size=60),
    size=st.integers(1, 70),
)
def test_oracle_sliding_over_columns_is_insert_evict_and_query(
    algorithm: str, name: str, rows: list[tuple[Any, Any]], size: int
) -> None:
    monoid = MONOIDS[name]
    if algorithm == "SubtractOnEvict" and not monoid.invertible:
        return
    columns = list(zip(*rows, strict=True))[: len(monoid.columns)]
    oracle, expected = Oracle(monoid), []
    for row in zip(*columns, strict=True):
        oracle.insert(*row)
        if len(oracle) > size:
            oracle.evict()
        expected.append(oracle.query())
    found = getattr(aggregators, algorithm).slide(monoid, *columns, window=size)
    assert all(map(_close, found.tolist(), expected))


@pytest.mark.parametrize("algorithm", ANY_ORDER)
@settings(deadline=None, max_examples=40)
@given(
    events=st.lists(st.tuples(st.none() | st.integers(0, 99), st.integers(-9, 30)), min_size=1),
    size=st.integers(1, 90),
    typed=st.sampled_from([int, float, str]),
)
def test_oracle_sliding_by_time_keeps_the_latest_events(
    algorithm: str, events: list[tuple[int | None, int]], size: int, typed: type
) -> None:
    oracle, expected = Oracle(AFFINE), []
    values, times = [value for value, _ in events], [typed(time) for _, time in events]
    for value, time in zip(values, times, strict=True):
        oracle.insert(value, time=time)
        if len(oracle) > size:
            oracle.evict()
        expected.append(oracle.query())
    found = getattr(aggregators, algorithm).slide(AFFINE, values, window=size, times=times)
    assert found.tolist() == expected
