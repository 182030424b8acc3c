"""Whole windows in worker processes: what they see, what happens when they fail, what they leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.aggregation.monoid import Monoid
from sash.errors import PredicateError, Unsupported
from sash.operators.arena.owned_folders import OWNER
from sash.operators.bound_query import BoundWhole
from sash.operators.columns.layout import arrange
from sash.operators.folding.whole_windows import Apply
from sash.operators.patterns import process_workers
from sash.operators.patterns.agnostic import SharedBuffer, chunk_ends
from sash.operators.patterns.process_workers import ProcessWorkers
from sash.operators.patterns.window_share import WindowShare
from sash.operators.windows.ranges import Ranges
from sash.operators.windows.windowers import window_ranges
from sash.semantics.event import Order

TABLE = pa.table({"t": range(40), "x": range(40)})
FARMS = [sash.WinFarm(2), sash.WinFarm(2, model="agnostic")]

INTERPRETED_IN_PROCESSES = [
    *FARMS,
    sash.KeyFarm(2),
    sash.PaneFarm(2, 1),
    sash.PaneFarm(1, 2, optimize=0),
    sash.WinMapReduce(2, 2),
    sash.WinFarm(sash.PaneFarm(1, 1), replicas=2),
    sash.KeyFarm(sash.WinMapReduce(1, 1), replicas=2),
]


@pytest.fixture(autouse=True)
def _nothing_left_in_shared_memory() -> Iterator[None]:
    """Of this process, by the number in the name: other queries on the machine have their own."""
    yield
    assert not list(process_workers.IN_MEMORY.glob(f"sash-{os.getpid()}-*"))


def query(fn, *, schema: str = "n bigint"):
    return sash.stream(TABLE, time="t").window(sash.rows(10, every=5)).apply(fn, schema=schema)


@pytest.mark.parametrize("farm", FARMS, ids=str)
def test_windows_are_computed_outside_of_this_process(farm) -> None:
    found = query(lambda events: {"n": os.getpid()}).parallel(farm).collect()["n"].to_pylist()
    assert os.getpid() not in found
    assert 1 <= len(set(found)) <= 2


@pytest.mark.parametrize("farm", FARMS, ids=str)
def test_a_function_that_raises_is_reported_with_its_window_and_its_traceback(farm) -> None:
    def divide(events: pa.Table) -> dict[str, float]:
        return {"n": 1 // (events["x"][0].as_py() - 10)}

    with pytest.raises(PredicateError, match=r"ZeroDivisionError.*id 2 and 10 events") as raised:
        query(divide).parallel(farm).collect()
    assert any("in divide" in note for note in raised.value.__notes__)


@pytest.mark.parametrize("farm", FARMS, ids=str)
def test_a_function_that_ends_its_process_is_an_error_and_the_next_query_works(farm) -> None:
    with pytest.raises(PredicateError, match="a worker process ended with exit code 7"):
        query(lambda events: os._exit(7)).parallel(farm).collect()
    counted = query(lambda events: {"n": events.num_rows}).parallel(farm)
    assert counted.collect()["n"].to_pylist() == [10] * 7 + [5]


def test_workers_stay_for_the_next_query() -> None:
    same = query(lambda events: {"n": os.getpid()}).parallel(sash.WinFarm(1))
    assert set(same.collect()["n"].to_pylist()) == set(same.collect()["n"].to_pylist())


def test_functions_may_refer_to_what_is_around_them() -> None:
    factor, scale = 3, np.array([2])
    scaled = query(lambda events: {"n": int(factor * scale[0] * events.num_rows)})
    assert scaled.parallel(sash.KeyFarm(2)).collect().equals(scaled.collect())


def test_a_worker_that_went_away_while_it_was_idle_is_replaced() -> None:
    own_pid = query(lambda events: {"n": os.getpid()}).parallel(sash.WinFarm(1))
    first = set(own_pid.collect()["n"].to_pylist())
    for process in process_workers._idle:
        process._child.kill()
        process._child.wait()
    assert set(own_pid.collect()["n"].to_pylist()).isdisjoint(first)


def test_chunks_are_files_in_shared_memory_until_they_are_freed() -> None:
    nothing = np.zeros(1, np.int64)
    ranges = Ranges(nothing, nothing, np.array([15]), np.array([25]), nothing, nothing, nothing)
    computation = Apply(
        lambda events: {"xs": events["x"].to_pylist()}, pa.schema([("xs", pa.list_(pa.int64()))])
    )
    with ProcessWorkers.of(computation, TABLE.schema, workers=1) as pool:
        assert list(process_workers.IN_MEMORY.glob(f"sash-{os.getpid()}-*")) == [pool.directory]
        chunks = [pool.put(TABLE, start, start + 20) for start in (0, 20)]
        assert all(Path(chunk).is_file() for chunk in chunks)
        values = pool.values(chunks, ranges)
        assert values.columns["xs"].to_pylist() == [list(range(15, 25))]
        pool.free(chunks[0])
        assert not Path(chunks[0]).exists()


def test_the_agnostic_buffer_in_shared_memory_stays_small() -> None:
    table = pa.table({"t": range(2000)})
    counted = sash.stream(table, time="t").window(sash.rows(20, every=10))
    bound = counted.apply(lambda events: {"n": events.num_rows}, schema="n bigint").bound
    assert isinstance(bound, BoundWhole)
    (window,) = bound.query.windows
    layout = arrange(table, [], np.arange(2000), np.arange(2000), Order.EVENT_TIME)
    share = WindowShare.whole(bound, window, layout, window_ranges(window, layout, horizon=1999))
    with (
        ProcessWorkers.of(bound.computation, table.schema, workers=2) as pool,
        ThreadPoolExecutor(2) as executor,
    ):
        buffer = SharedBuffer(share, pool, workers=2)
        busy = [executor.submit(buffer.work) for _ in range(2)]
        buffer.fill(chunk_ends(layout.times, chunk=10))
        assert sum(len(values.owners) for worker in busy for values in worker.result()) == 200
        assert [path.name for path in pool.directory.iterdir()] == [OWNER]
    # 200 chunks passed through. A descriptor has 6 windows in 7 chunks, and two workers have one each; one
    # that is slow holds back what the other has finished.
    assert buffer.highest < 100


def test_a_function_that_cannot_be_sent_is_refused_with_the_reason() -> None:
    lock = Lock()
    with pytest.raises(Unsupported, match=r"cannot be pickled.*lock"):
        query(lambda events: {"n": lock.locked()}).parallel(sash.WinFarm(2)).collect()


def _who(guard: Lock | None = None) -> Monoid:
    """The processes that have lifted the events of a window: an element is a set, which is interpreted."""

    def lift(x: int) -> frozenset[int]:
        return frozenset([os.getpid() if guard is None or guard.acquire(blocking=False) else -1])

    return Monoid(
        "who", ("x",), frozenset, lift, frozenset.union, sorted, commutative=True,
        result=lambda types: pa.list_(pa.int64()), encode=lambda pids: repr(sorted(pids)).encode(),
        decode=lambda data: frozenset(json.loads(data)),
    )  # fmt: skip


@pytest.mark.parametrize("farm", INTERPRETED_IN_PROCESSES, ids=str)
def test_aggregates_that_python_computes_are_computed_outside_too(farm) -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.rows(10, every=5))
    who = windowed.agg(who=_who(), n=sash.count()).parallel(farm)
    found = who.collect()
    assert all(os.getpid() not in pids and pids for pids in found["who"].to_pylist())
    assert found["n"].to_pylist() == [10] * 7 + [5]
    assert "2 worker processes, which map events from shared memory; who: interpreted" in who.explain(
        "plan"
    )
    # The planner does not start processes for them, and what cannot be sent stays here.
    assert {pid for pids in windowed.agg(who=_who()).collect()["who"].to_pylist() for pid in pids} == {
        os.getpid()
    }
    kept = windowed.agg(who=_who(Lock())).parallel(farm).collect()["who"].to_pylist()
    assert {pid for pids in kept for pid in pids} <= {os.getpid(), -1}


TWO_STEPS = [sash.PaneFarm(2, 2), sash.WinMapReduce(2, 2), sash.WinFarm(sash.PaneFarm(1, 1), replicas=2)]


def _interpreted(lift, combine=frozenset.union, **more) -> Monoid:
    return Monoid(
        "mine", ("x",), frozenset, lift, combine, sorted, commutative=True,
        result=lambda types: pa.list_(pa.int64()), **more,
    )  # fmt: skip


WARNED = pytest.mark.filterwarnings("ignore:.*elements hold:sash.errors.SashWarning")
"""A monoid over objects without bytes of its own, where this process combines it."""


def _divide() -> int:
    return 1 // 0


def _exit() -> None:
    os._exit(7)


@WARNED
@pytest.mark.parametrize("farm", TWO_STEPS, ids=str)
@pytest.mark.parametrize("step", ["lift", "combine"])
@pytest.mark.parametrize(("end", "match"), [(_divide, "by zero"), (_exit, "ended with exit code 7")])
def test_a_step_that_raises_or_ends_its_process_is_the_error_of_any_worker_process(
    farm, step: str, end, match: str
) -> None:
    owner = os.getpid()

    def failing(a, *rest):
        if os.getpid() != owner and 15 in (a if rest else {a}):
            return end()
        return a | rest[0] if rest else frozenset([a])

    functions = {"lift": lambda x: frozenset([x]), "combine": frozenset.union, step: failing}
    windowed = sash.stream(TABLE, time="t").window(sash.rows(10, every=5))
    with pytest.raises(PredicateError, match=match):
        windowed.agg(mine=_interpreted(**functions)).parallel(farm).collect()


class Held:
    """An element that only its own process can have."""

    def __init__(self, events: frozenset[int]) -> None:
        self.events, self.lock = events, Lock()


@WARNED
@pytest.mark.parametrize("farm", TWO_STEPS, ids=str)
def test_elements_that_cannot_be_sent_are_folded_and_combined_in_this_process(farm) -> None:
    kept = Monoid(
        "kept", ("x",), lambda: Held(frozenset()), lambda x: Held(frozenset([x])),
        lambda a, b: Held(a.events | b.events), lambda held: [os.getpid(), *sorted(held.events)],
        commutative=True, result=lambda types: pa.list_(pa.int64()),
    )  # fmt: skip
    query = sash.stream(TABLE, time="t").window(sash.rows(10, every=5)).agg(kept=kept)
    found = query.parallel(farm).collect()["kept"].to_pylist()
    assert found[0] == [os.getpid(), *range(10)]
    assert found == query.collect()["kept"].to_pylist()


@pytest.mark.parametrize("farm", TWO_STEPS, ids=str)
def test_elements_without_bytes_of_their_own_are_sent_all_the_same(farm) -> None:
    query = sash.stream(TABLE, time="t").window(sash.rows(10, every=5))
    seen = query.agg(seen=_interpreted(lambda x: frozenset([x, -os.getpid()])), n=sash.count())
    found = seen.parallel(farm).collect()
    assert all(-os.getpid() not in values for values in found["seen"].to_pylist())
    assert [[x for x in values if x >= 0] for values in found["seen"].to_pylist()][1] == [*range(5, 15)]
    assert found["n"].to_pylist() == [10] * 7 + [5]


def test_a_pane_is_lifted_once_for_all_replicas_of_a_window_farm(tmp_path: Path) -> None:
    lifted = tmp_path / "lifted"

    def lift(x: int) -> frozenset[int]:
        with lifted.open("a") as file:
            file.write("x")
        return frozenset([x])

    nested = sash.WinFarm(sash.PaneFarm(1, 1), replicas=2)
    query = sash.stream(TABLE, time="t").window(sash.rows(10, every=5)).agg(seen=_interpreted(lift))
    query.parallel(nested).collect()
    assert len(lifted.read_text()) == TABLE.num_rows
