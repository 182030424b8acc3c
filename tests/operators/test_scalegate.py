"""ScaleGate: what is ready, who sees it, and what happens when sources and readers come and go."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import sash
from sash.errors import ArgumentError, DataError, OutOfOrder, UnknownColumn
from sash.operators.order import scalegate_log
from sash.operators.order.interleaved import END_OF_TIME, Input, Interleaved
from sash.operators.order.scalegate import ScaleGate
from sash.operators.order.scalegate_log import Control

SIMPLE = Input(pa.schema([("t", pa.int64()), ("who", pa.int64())]), time="t")
QUOTES = Input(pa.schema([("at", pa.int64()), ("bid", pa.float64())]), time="at")


def gate(*, sources: Any = ("a", "b"), readers: Any = ("r",), **more: Any) -> ScaleGate:
    return ScaleGate(SIMPLE, sources=sources, readers=readers, **more)


def rows(*times: int, who: int = 0) -> dict[str, Any]:
    return {"t": np.array(times, np.int64), "who": np.full(len(times), who)}


def drain(gate: ScaleGate, reader: str, *, together: int = 0) -> list[tuple[int, int]]:
    """Everything that a reader can get now, as (time, who)."""
    found: list[tuple[int, int]] = []
    while (run := gate.get(reader, timeout=0, together=together)) is not None:
        if isinstance(run, Interleaved):
            found += zip(run.times.tolist(), run.tables[0]["who"].to_pylist(), strict=True)
    return found


def test_it_is_exported() -> None:
    assert sash.ScaleGate is ScaleGate


def test_a_tuple_is_ready_once_every_source_has_come_as_far() -> None:
    # a:  1     4     9          latest 9
    # b:     2     6             latest 6     → 1 2 4 6 are ready, 9 waits
    both = gate()
    both.add("a", rows(1, 4, 9))
    assert drain(both, "r") == []
    both.add("b", rows(2, 6, who=1))
    assert drain(both, "r") == [(1, 0), (2, 1), (4, 0), (6, 1)]
    both.add("b", rows(11, who=1))
    assert drain(both, "r") == [(9, 0)]


def test_tuples_of_one_time_stand_in_the_order_of_their_sources() -> None:
    both = gate()
    both.add("b", rows(3, 3, who=1))
    both.add("a", rows(3, 5))
    assert drain(both, "r") == [(3, 0), (3, 1), (3, 1)]


def test_every_reader_sees_every_tuple_once_and_in_the_same_order() -> None:
    three = gate(readers=["x", "y", "z"])
    three.add("a", rows(1, 2, 5))
    three.add("b", rows(2, 2, 4, who=1))
    assert (
        drain(three, "x")
        == drain(three, "y")
        == drain(three, "z")
        == [(1, 0), (2, 0), (2, 1), (2, 1), (4, 1)]
    )
    assert drain(three, "x") == []
    assert three.held == 1


def test_an_idle_source_with_watermarks_holds_nobody_up() -> None:
    both = gate()
    both.add("a", rows(1, 2, 3))
    both.add("b", watermark=2)
    assert drain(both, "r") == [(1, 0), (2, 0)]
    with pytest.raises(OutOfOrder, match="is at time 2"):
        both.add("b", rows(1, who=1))
    # A thousand promises of an idle stream are one promise.
    for time in range(3, 1000):
        both.add("b", watermark=time)
        both.add("a", watermark=time)
    left = 0
    while (run := both.get("r", timeout=0)) is not None:
        left += 1
        assert run.watermark in (2, 999) or len(run)
    assert left <= 3


def test_a_new_reader_goes_on_where_another_one_stands() -> None:
    one = gate(sources=["a"])
    one.add("a", rows(1, 2))
    one.add("a", rows(3))
    assert one.get("r").times.tolist() == [1, 2]
    one.add_readers(["late"], at="r")
    one.add_readers(["latest"])
    one.add("a", rows(4))
    assert drain(one, "late") == [(3, 0), (4, 0)]
    assert drain(one, "latest") == [(4, 0)]


def test_what_a_removed_source_has_added_still_becomes_ready_in_its_turn() -> None:
    both = gate()
    both.add("a", rows(1, 9))
    both.remove_sources(["a"])
    both.add("b", rows(4, who=1))
    assert drain(both, "r") == [(1, 0), (4, 1)]
    both.add("b", rows(9, who=1))
    assert drain(both, "r") == [(9, 0), (9, 1)]


def test_without_sources_everything_is_ready() -> None:
    both = gate()
    both.add("a", rows(1, 9))
    both.remove_sources(["a", "b"])
    assert drain(both, "r") == [(1, 0), (9, 0)]


def test_a_new_source_begins_at_the_latest_ready_time() -> None:
    one = gate(sources=["a"])
    one.add("a", rows(5))
    one.add_sources(["b"])
    with pytest.raises(OutOfOrder):
        one.add("b", rows(4))
    one.add("b", rows(5, who=1))
    assert drain(one, "r") == [(5, 0), (5, 1)]
    with pytest.raises(ArgumentError, match="at least 5"):
        one.add_sources(["c"], time=3)


def test_inputs_with_schemas_of_their_own_are_woven_together() -> None:
    mixed = ScaleGate([SIMPLE, QUOTES], sources={"a": 0, "q": 1}, readers=["r"])
    mixed.add("a", rows(1, 4))
    mixed.add("q", {"at": [2, 4], "bid": [9.5, 9.25]})
    run = mixed.get("r")
    assert run.times.tolist() == [1, 2, 4, 4]
    assert run.inputs.tolist() == [0, 1, 0, 1]
    assert run.tables[0]["t"].to_pylist() == [1, 4]
    assert run.tables[1]["bid"].to_pylist() == [9.5, 9.25]


def test_a_control_message_stands_at_one_place_for_all_readers() -> None:
    one = gate(sources=["a"], readers=["x", "y"])
    one.add("a", rows(1))
    sent = one.control(lambda gamma: f"behind {gamma}")
    one.add("a", rows(2))
    for reader in ("x", "y"):
        assert one.get(reader).times.tolist() == [1]
        assert one.get(reader) is sent
        assert isinstance(sent, Control)
        assert sent.message == "behind 1"
        assert one.get(reader).times.tolist() == [2]


def test_runs_that_nobody_has_read_come_together_as_far_as_they_are_wanted() -> None:
    one = gate(sources=["a"], readers=["x", "y"])
    for time in range(1, 6):
        one.add("a", rows(10 * time), watermark=10 * time + 5)
    run = one.get("x", together=3)
    assert (run.times.tolist(), run.first, run.watermark) == ([10, 20, 30], 0, 35)
    assert run.tables[0]["t"].to_pylist() == [10, 20, 30]
    assert one.get("y") is run, "all readers take the same steps"
    assert one.get("x").times.tolist() == [40]
    assert one.get("y", together=10).times.tolist() == [40], "x has got it already"
    assert one.get("y", together=10).times.tolist() == [50]
    assert one.get("x").watermark == 55
    assert one.held == 0


def test_runs_do_not_come_together_across_a_control_message() -> None:
    one = gate(sources=["a"])
    one.add("a", rows(1))
    one.add("a", rows(2))
    sent = one.control(lambda gamma: gamma)
    one.add("a", rows(3))
    one.add("a", rows(4))
    first, second = one.get("r", together=10), one.get("r", together=10)
    assert (first.times.tolist(), second) == ([1, 2], sent)
    assert one.get("r", together=10).times.tolist() == [3, 4]


def test_inputs_stay_apart_in_runs_that_come_together() -> None:
    both = ScaleGate([SIMPLE, QUOTES], sources={"a": 0, "q": 1}, readers=["r"])
    for time in range(3):
        both.add("a", rows(time))
        both.add("q", {"at": [time], "bid": [float(time)]})
    run = both.get("r", together=100)
    assert run.times.tolist() == [0, 0, 1, 1, 2, 2]
    assert [run.positions(number).tolist() for number in (0, 1)] == [[0, 2, 4], [1, 3, 5]]
    assert run.tables[1]["bid"].to_pylist() == [0.0, 1.0, 2.0]


class WatchedPlace(scalegate_log.LogPlace):
    """Counts how often the item of any place is looked at."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "item":
            WatchedPlace.looks += 1
        return super().__getattribute__(name)


def looks_of(read: Callable[[], Any]) -> int:
    before = WatchedPlace.looks
    read()
    return WatchedPlace.looks - before


@pytest.mark.parametrize("behind", [0, 1, 1_000])
def test_a_reader_far_ahead_of_the_slowest_one_looks_at_what_it_gets_and_no_more(
    behind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalegate_log, "LogPlace", WatchedPlace)
    one = gate(sources=["a"], readers=["leading", "following", "slow"])
    for time in range(behind + 10):
        one.add("a", rows(time))
    for _ in range(behind):
        one.get("leading")
        one.get("following")
    # One look is the item that is returned; with `together` also each of its runs and the one behind.
    assert looks_of(lambda: one.get("leading", together=0)) == 1
    assert looks_of(lambda: one.get("following", together=4)) == 1, "the leading one has got it already"
    assert looks_of(lambda: one.get("leading", together=4)) <= 4 + 3
    assert looks_of(lambda: one.get("following", together=4)) == 1
    assert looks_of(lambda: one.get("leading", together=100)) <= 5 + 3
    assert looks_of(lambda: one.get("slow", together=100)) == 1


def test_a_log_that_nobody_has_read_is_let_go_however_long_it_is() -> None:
    # A chain of places that held one another by recursion would end the process here.
    one = gate(sources=["a"])
    for time in range(200_000):
        one._log.append(Control(time, time))
    one.remove_readers(["r"])
    assert one.held == 0


def test_a_source_waits_while_its_tuples_are_not_ready_and_the_other_one_does_not() -> None:
    small = gate(capacity=10)
    assert small.add("a", rows(*range(10)))
    assert not small.add("a", rows(10), timeout=0)
    assert small.add("b", rows(100, who=1), timeout=0)
    assert not small.add("a", rows(10), timeout=0)  # ready now, but nobody has read it
    assert len(drain(small, "r")) == 10
    assert small.add("a", rows(10), timeout=0)


def test_memory_is_bounded_however_slow_the_reader_is() -> None:
    slow = gate(sources=["a"], capacity=100)
    most = []

    def produce() -> None:
        for time in range(300):
            slow.add("a", rows(*[time] * 10))
            most.append(slow.held)
        slow.close()

    thread = threading.Thread(target=produce)
    thread.start()
    count = 0
    while (run := slow.get("r")) is not None:
        count += len(run)
    thread.join()
    assert count == 3000
    assert max(most) <= 110


def test_closing_wakes_everybody_and_what_is_ready_can_still_be_read() -> None:
    one = gate(sources=["a"], capacity=1)
    one.add("a", rows(1))
    refused: list[bool] = []
    waiting = threading.Thread(target=lambda: refused.append(one.add("a", rows(2))))
    waiting.start()
    one.close()
    waiting.join(5)
    assert refused == [False]
    assert drain(one, "r") == [(1, 0)]
    assert one.get("r") is None


def test_a_removed_reader_is_released_from_its_wait() -> None:
    one = gate(sources=["a"], readers=["r", "s"])
    got: list[Any] = []
    waiting = threading.Thread(target=lambda: got.append(one.get("r")))
    waiting.start()
    one.remove_readers(["r"])
    waiting.join(5)
    assert got == [None]


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (ArgumentError, lambda: gate(capacity=0)),
        (ArgumentError, lambda: gate().add("c", rows(1))),
        (ArgumentError, lambda: gate().get("s")),
        (ArgumentError, lambda: gate().add_sources({"c": 1})),
        (ArgumentError, lambda: gate(readers=["r", "r"])),
        (ArgumentError, lambda: gate(sources=["a", "b", "a"])),
        (ArgumentError, lambda: gate().reached("c")),
        (ArgumentError, lambda: gate().read_by("s")),
        (ArgumentError, lambda: gate().add_readers(["s"], at="q")),
        (UnknownColumn, lambda: gate().add("a", {"t": [1]})),
        (OutOfOrder, lambda: gate().add("a", rows(2, 1))),
        (DataError, lambda: gate().add("a", {"t": [None], "who": [1]})),
        (DataError, lambda: gate().add("a", {"t": [1], "who": ["me"]})),
        (UnknownColumn, lambda: Input(SIMPLE.schema, time="when")),
        (ArgumentError, lambda: Input(pa.schema([("t", pa.string())]), time="t")),
    ],
)
def test_what_cannot_be_done_is_refused(error: type[Exception], wrong: Callable[[], Any]) -> None:
    with pytest.raises(error):
        wrong()


def test_only_who_adds_or_removes_all_that_was_asked_for_is_told_so() -> None:
    both = gate()
    both.add("a", rows(4))
    both.add("b", rows(6, who=1))
    assert both.get("r").times.tolist() == [4]
    assert both.add_sources(["c", "d"])
    assert not both.add_sources(["c", "d"])
    assert not both.add_sources(["d", "e"])  # e is new, d is not
    assert both.sources == {"a", "b", "c", "d", "e"}
    assert not both.add_readers(["r"])
    assert not both.add_readers(["r", "s"], at="r")
    assert both.add_readers(["t"], at="s")
    assert [both.read_by(reader) for reader in "rst"] == [1, 1, 1]
    assert not both.remove_readers(["s", "u"])
    assert not both.remove_readers(["s"])
    assert both.remove_readers(["t"])
    assert not both.remove_sources(["e", "f"])
    assert not both.remove_sources(["e"])
    assert both.remove_sources(["c", "d"])
    assert both.sources == {"a", "b"}


def test_a_source_that_is_there_already_keeps_its_place() -> None:
    both = gate()
    both.add("a", rows(4))
    assert not both.add_sources(["a"])
    assert both.reached("a") == 4


@pytest.mark.parametrize("method", ["add_sources", "remove_sources", "add_readers", "remove_readers"])
def test_of_many_who_change_the_same_at_once_one_succeeds(method: str) -> None:
    names = ["x", "y", "z"]
    for _ in range(50):
        there = {"sources": ["a", *names], "readers": ["r", *names]} if "remove" in method else {}
        shared, start, results = gate(**there), threading.Barrier(8), list[bool]()

        def change(shared=shared, start=start, results=results) -> None:
            start.wait()
            results.append(getattr(shared, method)(names))

        threads = [threading.Thread(target=change) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [False] * 7 + [True]


def test_the_end_makes_everything_ready_and_passes_all_times() -> None:
    both = gate()
    both.add("a", rows(1, 9))
    both.end()
    last = both.get("r")
    assert (last.times.tolist(), last.watermark) == ([1, 9], END_OF_TIME)
    assert both.get("r") is None
    both.end()  # once is enough
    assert both.get("r") is None


class Gate(RuleBasedStateMachine):
    """Any sequence of the six methods against a list of what was added."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = gate(sources=["s0"], readers=["r0"], capacity=1 << 20)
        self.latest = {"s0": -1}  # has shown nothing yet: times begin at 0
        self.added: list[tuple[int, int]] = []
        self.seen: dict[str, list[tuple[int, int]]] = {"r0": []}
        self.begins = {"r0": 0}
        self.order: list[tuple[int, int]] = []
        self.names = 1

    def floor(self) -> int:
        return min(self.latest.values())

    @precondition(lambda self: self.latest)
    @rule(data=st.data(), steps=st.lists(st.integers(0, 3), max_size=5))
    def add(self, data: st.DataObject, steps: list[int]) -> None:
        source = data.draw(st.sampled_from(sorted(self.latest)))
        times = (max(self.latest[source], 0) + np.cumsum(steps, dtype=np.int64)).tolist()
        whos = [len(self.added) + at for at in range(len(times))]
        assert self.gate.add(source, {"t": times, "who": whos}, timeout=0)
        self.added += zip(times, whos, strict=True)
        self.latest[source] = max([self.latest[source], *times])

    @precondition(lambda self: self.latest)
    @rule(data=st.data(), ahead=st.integers(0, 5))
    def promise(self, data: st.DataObject, ahead: int) -> None:
        source = data.draw(st.sampled_from(sorted(self.latest)))
        self.latest[source] = max(self.latest[source], 0) + ahead
        assert self.gate.add(source, watermark=self.latest[source])

    @rule()
    def new_source(self) -> None:
        self.gate.add_sources([f"s{self.names}"])
        self.latest[f"s{self.names}"] = self.floor()
        self.names += 1

    @precondition(lambda self: len(self.latest) > 1)
    @rule(data=st.data())
    def lose_source(self, data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(self.latest)))
        self.gate.remove_sources([source])
        del self.latest[source]

    @rule(data=st.data())
    def new_reader(self, data: st.DataObject) -> None:
        like = data.draw(st.sampled_from(sorted(self.seen)))
        name = f"r{self.names}"
        self.gate.add_readers([name], at=like)
        self.seen[name] = list(self.seen[like])
        self.names += 1

    @precondition(lambda self: len(self.seen) > 1)
    @rule(data=st.data())
    def lose_reader(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen)))
        self.gate.remove_readers([name])
        del self.seen[name]

    @rule(data=st.data(), together=st.integers(0, 8))
    def read(self, data: st.DataObject, together: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.seen)))
        self.seen[name] += drain(self.gate, name, together=together)
        ready = sorted(one for one in self.added if one[0] <= self.floor())
        assert sorted(self.seen[name]) == ready

    @invariant()
    def readers_agree(self) -> None:
        longest = max(self.seen.values(), key=len)
        times = [time for time, _ in longest]
        assert times == sorted(times)
        for seen in self.seen.values():
            assert seen == longest[: len(seen)]


TestAnySequence = Gate.TestCase
TestAnySequence.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


class Storm:
    """Threads that come as sources and readers, stay for a few batches, and go: each a reconfiguration."""

    def __init__(self, reconfigurations: int, *, threads: int, capacity: int) -> None:
        self.gate = ScaleGate(SIMPLE, sources=[], readers=["judge"], capacity=capacity)
        self.left = {"source": reconfigurations // 4, "reader": reconfigurations // 4}
        self.lock = threading.Lock()
        self.sent: dict[str, list[tuple[int, int]]] = {}
        self.received: dict[str, list[tuple[int, int]]] = {}
        self.begins: dict[str, int] = {}
        self.failures: list[BaseException] = []
        bodies = [self.judge, *(body for _ in range(threads) for body in (self.sources, self.readers))]
        self.threads = [
            threading.Thread(target=self.guarded, args=(body, number)) for number, body in enumerate(bodies)
        ]

    def guarded(self, body: Callable[[int], None], number: int) -> None:
        try:
            body(number)
        except BaseException as error:
            self.failures.append(error)
            self.gate.close()

    def another(self, kind: str) -> int:
        """The number of the next one to come and go: two reconfigurations; 0 when there were enough."""
        with self.lock:
            self.left[kind] -= 1
            return max(self.left[kind] + 1, 0)

    def sources(self, number: int) -> None:
        pace = random.Random(number)
        while (visit := self.another("source")) > 0:
            name, own = f"source {visit}", self.sent.setdefault(f"source {visit}", [])
            assert self.gate.add_sources([name])
            time = max(self.gate.reached(name), 0)
            for _ in range(pace.randrange(1, 4)):
                times = (time + np.cumsum([pace.randrange(3) for _ in range(pace.randrange(5))])).astype(
                    int
                )
                whos = visit * 1000 + len(own) + np.arange(len(times))
                time = int(max([time, *times])) + pace.randrange(2)
                assert self.gate.add(name, {"t": times, "who": whos}, watermark=time)
                own += zip(times.tolist(), whos.tolist(), strict=True)
            self.gate.remove_sources([name])

    def readers(self, number: int) -> None:
        pace = random.Random(number)
        while (visit := self.another("reader")) > 0:
            name, own = f"reader {visit}", self.received.setdefault(f"reader {visit}", [])
            assert self.gate.add_readers([name], at="judge")
            self.begins[name] = self.gate.read_by(name)
            for _ in range(pace.randrange(1, 4)):
                self.take(self.gate.get(name, timeout=0.001, together=pace.randrange(20)), own)
            self.gate.remove_readers([name])

    def judge(self, number: int) -> None:
        own = self.received.setdefault("judge", [])
        while (run := self.gate.get("judge")) is not None:
            self.take(run, own)

    def take(self, run: Any, own: list[tuple[int, int]]) -> None:
        if run is not None:
            own += zip(run.times.tolist(), run.tables[0]["who"].to_pylist(), strict=True)

    def blow(self) -> None:
        for thread in self.threads:
            thread.start()
        for thread in self.threads[1:]:
            thread.join()
        self.gate.close()
        self.threads[0].join()


def test_ten_thousand_random_reconfigurations_lose_repeat_and_disorder_nothing() -> None:
    storm = Storm(10_000, threads=3, capacity=50)
    storm.blow()
    assert not storm.failures, storm.failures[0]
    assert 2 * (len(storm.sent) + len(storm.received) - 1) == 10_000
    everything = storm.received["judge"]
    assert sorted(everything) == sorted(one for own in storm.sent.values() for one in own)
    assert len(set(everything)) == len(everything) > 5_000
    assert [time for time, _ in everything] == sorted(time for time, _ in everything)
    place = {one: at for at, one in enumerate(everything)}
    for own in storm.sent.values():
        assert [place[one] for one in own] == sorted(place[one] for one in own)
    for name, begin in storm.begins.items():
        own = storm.received[name]
        assert own == everything[begin : begin + len(own)]
