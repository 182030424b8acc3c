"""What the buffer's parts promise: chunks and panes, views, readers, counted work, snapshots, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sash.aggregation.buffer import WindowBuffer
from sash.aggregation.buffer.folding import Interpreted
from sash.aggregation.buffer.storey import KEPT
from sash.aggregation.monoid import Monoid
from sash.errors import (
    ArgumentError,
    CorruptValue,
    IntegerOverflow,
    OutOfOrder,
    PredicateError,
    Unsupported,
)
from sash.stores import LMDB, Memory


def counting() -> tuple[Monoid, list[int]]:
    """A sum, and a cell that counts its combines."""
    calls = [0]

    def combine(a: int, b: int) -> int:
        calls[0] += 1
        return a + b

    return Monoid("sum", ("x",), lambda: 0, lambda x: x, combine, lambda s: s), calls


def summing(**options: Any) -> WindowBuffer:
    monoid, _ = counting()
    return WindowBuffer(monoid, folding=Interpreted(monoid, [np.dtype(np.int64)]), **options)


def chunks(buffer: WindowBuffer) -> list[list[int]]:
    return [run.columns[0].tolist() for run in buffer.runs(buffer.floor, buffer.end)]


# Chunks and panes


def test_chunks_of_a_fixed_size_are_filled_one_after_the_other() -> None:
    buffer = summing(chunk=3)
    buffer.extend([1, 2])
    buffer.extend([3, 4, 5, 6, 7])
    assert chunks(buffer) == [[1, 2, 3], [4, 5, 6], [7]]


def test_with_panes_a_chunk_ends_where_its_pane_ends() -> None:
    #  time    0    3 | 5    9 9 | 10 | 25
    #  pane    0      | 1        | 2  | 5
    buffer = summing(pane=5)
    buffer.extend([1, 2, 3], times=[0, 3, 5])
    buffer.extend([4, 5, 6, 7], times=[9, 9, 10, 25])
    assert chunks(buffer) == [[1, 2], [3, 4, 5], [6], [7]]


def test_a_pane_that_is_larger_than_a_chunk_takes_several() -> None:
    buffer = summing(pane=100, chunk=2)
    buffer.extend([1, 2, 3, 4, 5], times=[0, 1, 2, 3, 100])
    assert chunks(buffer) == [[1, 2], [3, 4], [5]]


def test_panes_before_time_zero_are_cut_at_multiples_too() -> None:
    buffer = summing(pane=5)
    buffer.extend([1, 2, 3, 4], times=[-6, -5, -1, 0])
    assert chunks(buffer) == [[1], [2, 3], [4]]


# Views


def test_iteration_gives_views_that_cannot_be_written_to() -> None:
    buffer = summing(chunk=4, timed=True)
    buffer.extend(list(range(10)), times=list(range(10)))
    first, again = (next(buffer.runs(0, 10)) for _ in range(2))
    assert np.shares_memory(first.columns[0], again.columns[0])
    assert np.shares_memory(first.times, again.times)
    with pytest.raises(ValueError, match="read-only"):
        first.columns[0][0] = 99


def test_a_view_outlives_the_eviction_of_its_chunk() -> None:
    buffer = summing(chunk=4)
    buffer.extend(list(range(100)))
    run = next(buffer.runs(0, 4))
    buffer.evict(100)
    buffer.extend(list(range(1000)))
    assert run.columns[0].tolist() == [0, 1, 2, 3]


def test_a_view_of_the_tail_does_not_change_when_the_tail_grows() -> None:
    buffer = summing(chunk=1000)
    buffer.extend([1, 2, 3])
    (run,) = buffer.runs(0, 3)
    buffer.extend(list(range(500)))
    assert run.columns[0].tolist() == [1, 2, 3]


def test_runs_say_where_they_start_and_may_begin_and_end_inside_chunks() -> None:
    buffer = summing(chunk=4)
    buffer.extend(list(range(12)))
    assert [(run.start, run.columns[0].tolist()) for run in buffer.runs(2, 8)] == [
        (2, [2, 3]),
        (4, [4, 5, 6, 7]),
    ]


# Readers


def test_eviction_frees_only_what_the_slowest_reader_has_read() -> None:
    store = Memory()
    buffer = summing(chunk=2, store=store)
    slow, fast = buffer.reader("slow"), buffer.reader("fast")
    buffer.extend(list(range(100)))
    fast.advance(80)
    slow.advance(11)
    buffer.evict(90)
    assert (buffer.head, buffer.floor) == (90, 11)
    assert buffer.fold(11, 20) == sum(range(11, 20))
    with pytest.raises(ArgumentError, match="position must be between 11 and 100; got 9"):
        buffer.fold(9, 20)
    slow.close()
    assert buffer.floor == 80
    fast.close()
    assert buffer.floor == 90


def test_a_reader_sees_every_element_once_and_in_order_while_the_buffer_grows() -> None:
    buffer = summing(chunk=3)
    reader, seen = buffer.reader("r"), []
    for start in range(0, 50, 5):
        buffer.extend(list(range(start, start + 5)))
        buffer.evict(len(buffer))
        for run in reader.read():
            seen += run.columns[0].tolist()
    assert seen == list(range(50))
    assert buffer.floor == reader.position == 50


def test_a_reader_that_stops_in_a_run_reads_that_run_again() -> None:
    buffer = summing(chunk=3)
    buffer.extend(list(range(9)))
    reader = buffer.reader("r")
    runs = reader.read(until=8)
    next(runs), next(runs)
    assert [run.columns[0].tolist() for run in reader.read(until=8)] == [[3, 4, 5], [6, 7]]


def test_a_reader_is_found_by_its_name() -> None:
    buffer = summing()
    assert buffer.reader("a") is buffer.reader("a")


# Work, counted


@pytest.mark.parametrize("exponent", [12, 15, 18])
def test_folds_and_evictions_of_any_length_take_logarithmically_many_combines_and_reads(
    exponent: int,
) -> None:
    n = 1 << exponent
    monoid, calls = counting()
    full = WindowBuffer(monoid, folding=Interpreted(monoid, [np.dtype(np.int64)]), chunk=512)
    full.extend(np.ones(n, np.int64))
    hot, store = full.snapshot(), full.tower.storeys[0]._store

    def cost(work: Callable[[WindowBuffer], object]) -> tuple[int, int]:
        buffer = WindowBuffer(monoid, folding=full.folding, chunk=512, store=store)
        buffer.restore(hot)
        calls[0] = 0
        work(buffer)
        combines = calls[0]
        # Freed chunks are deleted later, a group at a time, so the next one finds them all.
        assert buffer.traffic.chunks_deleted == 0
        return combines, buffer.traffic.reads

    costs = []
    for k in [1, 2, 100, n // 3, n // 2, n - n // 7, n - 1]:
        costs.append(cost(lambda buffer, k=k: buffer.fold(k // 3, k)))
        costs.append(cost(lambda buffer, k=k: buffer.evict(k)))
        costs.append(cost(lambda buffer, k=k: buffer.evict_while(lambda total, old: old <= k)))
        costs.append(cost(lambda buffer, k=k: (buffer.evict(k), buffer.query())))
    assert max(combines for combines, _ in costs) <= 8 * exponent
    assert max(reads for _, reads in costs) <= exponent


def test_appending_takes_about_one_combine_for_each_element() -> None:
    monoid, calls = counting()
    buffer = WindowBuffer(monoid, folding=Interpreted(monoid, [np.dtype(np.int64)]))
    for start in range(0, 1 << 16, 1 << 12):
        buffer.extend(np.arange(start, start + (1 << 12)))
    assert calls[0] <= 1.2 * (1 << 16)


def test_many_ranges_take_a_few_combines_for_each_whatever_their_length() -> None:
    n, width = 1 << 16, 1 << 15
    monoid, calls = counting()
    buffer = WindowBuffer(monoid, folding=Interpreted(monoid, [np.dtype(np.int64)]))
    buffer.extend(np.ones(n, np.int64))
    calls[0] = 0
    lo = np.arange(n - width)
    assert (buffer.fold_ranges(lo, lo + width)[0] == width).all()
    assert calls[0] <= 4 * len(lo)


def test_ranges_whose_ends_lie_far_apart_are_not_brought_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sash.aggregation.buffer.ranges.SPAN", 64)
    buffer = summing(chunk=8)
    values = np.arange(2000)
    buffer.extend(values)
    lo, hi = np.array([0, 1, 2, 700, 701, 1500]), np.array([3, 600, 601, 1400, 1401, 2000])
    expected = [values[a:b].sum() for a, b in zip(lo, hi, strict=True)]
    assert buffer.fold_ranges(lo, hi)[0].tolist() == expected


@pytest.mark.parametrize("exponent", [14, 16, 18])
def test_the_chunks_in_memory_are_a_few_for_each_storey(tmp_path: Path, exponent: int) -> None:
    n, chunk, fanout = 1 << exponent, 64, 8
    with LMDB(tmp_path, durable=False) as store:
        buffer = summing(chunk=chunk, fanout=fanout, store=store)
        most = 0
        for epoch, start in enumerate(range(0, 2 * n, n // 4)):
            buffer.extend(np.arange(start, start + n // 4))
            buffer.evict(max(0, len(buffer) - n))
            buffer.query()
            most = max(most, buffer.resident)
            buffer.snapshot()
            store.commit(epoch)
        storeys = 2 + math.ceil(math.log(2 * n / chunk, fanout))
        # A tail, those kept and those that wait to be written: per storey, and no more.
        assert most <= (1 + KEPT + 4) * storeys
        assert most < n / chunk
        assert buffer.query() == sum(range(n, 2 * n))


def test_the_store_holds_what_the_window_needs_and_no_more() -> None:
    store = Memory()
    buffer = summing(chunk=16, store=store)
    for epoch in range(40):
        buffer.extend(np.arange(256))
        buffer.evict(max(0, len(buffer) - 1024))
        buffer.snapshot()
        store.commit(epoch)
    assert len(list(store.keys())) <= 1024 // 16 + 1 + 4
    buffer.evict(len(buffer))
    buffer.snapshot()
    assert len(list(store.keys())) <= 2 * len(buffer.tower.storeys)


def test_a_window_that_fits_the_hot_part_never_touches_the_store() -> None:
    store = Memory()
    buffer = summing(chunk=8, store=store)
    for _ in range(500):
        buffer.extend([1, 2, 3])
        buffer.evict(max(0, len(buffer) - 10))
        assert buffer.query() == sum(([1, 2, 3] * 4)[-len(buffer) :])
    traffic = buffer.traffic
    assert (traffic.chunks_written, traffic.chunks_read, store.pending) == (0, 0, 0)


def test_chunks_are_read_in_groups_and_before_the_head_reaches_them() -> None:
    buffer = summing(chunk=4)
    buffer.extend(list(range(4 * 64)))
    buffer.snapshot()
    buffer.evict(1)
    for _ in range(4 * 40):
        before = buffer.traffic.reads
        assert buffer.tower.storeys[0]._kept.keys() >= {buffer.head_place.chunk}
        buffer.evict(1)
        buffer.query()
        assert buffer.traffic.reads - before <= 1
    assert buffer.traffic.reads <= 40 // 4 + 3


# Snapshots


def test_a_buffer_that_is_restored_goes_on_where_it_was(tmp_path: Path) -> None:
    with LMDB(tmp_path, durable=False) as store:
        one = summing(chunk=4, fanout=2, store=store, timed=True)
        one.extend(list(range(50)), times=list(range(50)))
        one.reader("slow").advance(7)
        one.evict(20)
        hot = one.snapshot()
        store.commit(0)
        two = summing(chunk=4, fanout=2, store=store, timed=True)
        two.restore(hot)
        for buffer in (one, two):
            buffer.extend([50, 51], times=[50, 50])
        assert (two.head, two.end, two.floor, two.query()) == (one.head, one.end, one.floor, one.query())
        assert two.reader("slow").position == 7
        assert two.fold(8, 30) == sum(range(8, 30))
        with pytest.raises(OutOfOrder):
            two.append(1, time=49)


def test_a_snapshot_is_of_the_size_of_a_chunk_for_each_storey_not_of_the_window() -> None:
    buffer = summing(chunk=64, fanout=8)
    buffer.extend(np.arange(1 << 16))
    assert len(buffer.snapshot()) < len(buffer.tower.storeys) * 64 * 16 + 500


def test_a_damaged_snapshot_is_refused() -> None:
    hot = bytearray(summing().snapshot())
    hot[40] ^= 1
    with pytest.raises(CorruptValue, match="snapshot of a window buffer"):
        summing().restore(hot)


def test_a_snapshot_of_a_buffer_that_was_built_differently_is_refused() -> None:
    hot = summing(chunk=8).snapshot()
    with pytest.raises(ArgumentError, match="snapshot must be of a buffer built as this one is"):
        summing(chunk=16).restore(hot)


def test_a_chunk_that_is_gone_from_the_store_is_an_error_that_names_its_key() -> None:
    store = Memory()
    buffer = summing(chunk=2, store=store, name=b"trades")
    buffer.extend(list(range(200)))
    store.delete_many(list(store.keys()))
    with pytest.raises(CorruptValue, match=r"trades.* is gone from the store"):
        buffer.fold(1, 150)


def test_a_chunk_of_another_monoid_is_an_error_that_names_its_key() -> None:
    store = Memory()
    pairs = Monoid("pairs", ("x",), lambda: (0, 0), lambda x: (x, x), lambda a, b: b, lambda s: s)
    other = WindowBuffer(pairs, folding=Interpreted(pairs, [np.dtype(np.int64)] * 2), store=store, chunk=2)
    other.extend(list(range(100)))
    hot = other.snapshot()
    with pytest.raises(CorruptValue, match="chunk of sum"):
        summing(chunk=2, store=store).restore(hot)


def test_buffers_of_different_names_share_a_store() -> None:
    store = Memory()
    buffers = {name: summing(chunk=2, store=store, name=name) for name in (b"", b"a", b"ab", b"a\x00")}
    for i, buffer in enumerate(buffers.values()):
        buffer.extend([i + 1] * 100)
        buffer.snapshot()
    assert [buffer.fold(3, 97) for buffer in buffers.values()] == [94, 188, 282, 376]


# Refusals


def test_times_that_go_back_are_refused_and_nothing_is_appended() -> None:
    buffer = summing(timed=True)
    buffer.extend([1, 2], times=[5, 5])
    with pytest.raises(OutOfOrder, match="the element at 0 has time 4"):
        buffer.extend([3], times=[4])
    with pytest.raises(OutOfOrder, match="the element at 1 has time 6"):
        buffer.extend([3, 4], times=[7, 6])
    assert (len(buffer), buffer.query()) == (2, 3)
    buffer.append(3, time=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk": 0}, "chunk must be a positive number"),
        ({"fanout": 1}, "fanout must be"),
        ({"pane": 0}, "pane must be a positive number"),
        ({"name": bytes(256)}, "name must be fewer than 256 bytes"),
    ],
)
def test_unusable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        summing(**options)


@pytest.mark.parametrize(
    "use",
    [
        lambda b: b.evict(3),
        lambda b: b.evict(-1),
        lambda b: b.fold(1, 0),
        lambda b: b.fold(0, 3),
        lambda b: b.fold(-1, 1),
        lambda b: b.fold_ranges(np.array([1, 0]), np.array([1, 2])),
        lambda b: b.fold_ranges(np.array([0]), np.array([3])),
        lambda b: b.between(0, 1),
        lambda b: b.evict_before(1),
        lambda b: b.extend([1], times=[1]),
        lambda b: b.extend(),
    ],
)
def test_what_cannot_be_answered_is_refused(use: Any) -> None:
    buffer = summing()
    buffer.extend([1, 2])
    with pytest.raises(ArgumentError):
        use(buffer)
    assert buffer.query() == 3


def test_a_timed_buffer_wants_a_time_for_each_element() -> None:
    buffer = summing(timed=True)
    with pytest.raises(ArgumentError, match="times must be one time for each of the 2 elements"):
        buffer.extend_elements((np.array([1, 2]),), times=[1])
    with pytest.raises(ArgumentError, match="times must be integers"):
        buffer.extend([1], times=np.array([1.5]))


def test_a_policy_that_raises_or_does_not_answer_is_a_predicate_error() -> None:
    buffer = summing()
    buffer.extend([1, 2])
    with pytest.raises(PredicateError, match="ZeroDivisionError"):
        buffer.evict_while(lambda total, old: 1 / 0 > 1)
    with pytest.raises(PredicateError, match="True or False"):
        buffer.evict_while(lambda total, old: "yes")
    assert len(buffer) == 2


def test_a_fold_that_does_not_fit_64_bits_is_an_integer_overflow_and_leaves_the_buffer_usable() -> None:
    buffer = summing()
    buffer.extend([1, 2, 3])
    with pytest.raises(IntegerOverflow):
        buffer.extend([2**62] * 100)
    assert (len(buffer), buffer.query()) == (3, 6)
    buffer.extend(list(range(5000)))
    assert buffer.query() == 6 + sum(range(5000))


def test_objects_without_an_encoding_cannot_go_to_a_store() -> None:
    texts = Monoid("texts", ("x",), str, str, lambda a, b: a + b, lambda s: s)
    buffer = WindowBuffer(texts, folding=Interpreted(texts, [np.dtype(object)]), chunk=1)
    with pytest.raises(Unsupported, match="has encode and decode"):
        buffer.extend(list("abcdefgh"))


def test_an_empty_window_has_the_value_nothing() -> None:
    buffer = summing()
    assert buffer.query() is None
    buffer.extend([1])
    buffer.evict()
    assert buffer.query() is None
    assert buffer.fold(1, 1) == 0


def test_a_count_without_columns_is_told_how_many() -> None:
    count = Monoid("count", (), lambda: 0, lambda: 1, lambda a, b: a + b, lambda s: s, nothing=0)
    buffer = WindowBuffer(count, folding=Interpreted(count, [np.dtype(np.int64)]), chunk=3)
    buffer.extend(n=10)
    buffer.append()
    buffer.evict(4)
    assert buffer.query() == 7
