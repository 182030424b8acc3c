"""The parts that patterns are made of: shares, panes, partitions, the owner of a buffer, stages."""

from __future__ import annotations

import math
from itertools import pairwise
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout, arrange
from sash.operators.folding.values import Values
from sash.operators.patterns.agnostic import SharedBuffer, chunk_ends, handed_out
from sash.operators.patterns.folding import Folding
from sash.operators.patterns.key_farm import by_keys
from sash.operators.patterns.owner import Descriptor, Owner
from sash.operators.patterns.pane_farm import PaneRanges, pane_length
from sash.operators.patterns.stages import drawn, fused, graph, levels_of
from sash.operators.patterns.win_farm import by_windows
from sash.operators.patterns.window_share import WindowShare
from sash.operators.patterns.worker_pool import ThreadWorkers
from sash.operators.windows.ranges import Ranges
from sash.operators.windows.windowers import window_ranges
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.window import Window

degree = st.integers(1, 6)
lengths = st.integers(1, 12)


def layout_of(keys: list[str], times: list[int]) -> Layout:
    rows = pa.table({"k": keys, "t": times, "e": list(range(len(keys)))})
    return arrange(rows, ["k"], np.array(times, np.int64), np.arange(len(keys)), Order.EVENT_TIME)


def share_of(window: Window, layout: Layout) -> WindowShare:
    bound = BoundQuery(Query((window,), {"s": sash.sum("e")}), layout.rows.schema, "t", ("k",))
    ranges = window_ranges(window, layout, horizon=int(layout.times.max()))
    return WindowShare.whole(bound, window, layout, ranges)


streams = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), min_size=1, max_size=50).map(
    lambda events: layout_of([key for key, _ in events], [time for _, time in events])
)
tiled = st.one_of(
    st.builds(sash.rows, lengths, every=lengths),
    st.builds(lambda size, every: sash.sliding(size, every=every), lengths, lengths),
    st.builds(lambda step, steps: sash.cumulate(step * steps, step), st.integers(1, 4), degree),
)


def held(share: WindowShare) -> dict[int, list[int]]:
    """Which events each window of a share holds, by the number of the window in the whole."""
    events = share.layout.rows["e"].to_pylist()
    ends = zip(share.windows.tolist(), share.ranges.lo.tolist(), share.ranges.hi.tolist(), strict=True)
    return {window: events[lo:hi] for window, lo, hi in ends}


@settings(max_examples=150, deadline=None)
@given(layout=streams, window=tiled, n=degree, by=st.sampled_from([by_keys, by_windows]))
def test_shares_have_every_window_once_with_all_its_events(layout, window, n, by) -> None:
    whole = share_of(window, layout)
    shares = by(whole, n)
    assert len(shares) <= n
    assert sum(len(share) for share in shares) == len(whole)
    assert {number: events for share in shares for number, events in held(share).items()} == held(whole)


@settings(max_examples=100, deadline=None)
@given(layout=streams, window=tiled, n=degree)
def test_a_key_farm_never_has_a_key_in_two_shares(layout, window, n) -> None:
    slots = [set(share.ranges.slot.tolist()) for share in by_keys(share_of(window, layout), n)]
    assert sum(map(len, slots)) == len(set().union(*slots))


@settings(max_examples=150, deadline=None)
@given(layout=streams, window=tiled, n=degree)
def test_a_window_farm_deals_round_robin_and_sends_only_what_windows_hold(layout, window, n) -> None:
    whole = share_of(window, layout)
    for share in by_windows(whole, n):
        workers = (share.ranges.slot + share.ranges.id) % n
        assert len(set(workers.tolist())) == 1
        sent = sorted(share.layout.rows["e"].to_pylist())
        assert sent == sorted({event for events in held(share).values() for event in events})


@settings(deadline=None)
@given(size=lengths, slide=lengths, n=degree, events=st.integers(1, 200))
def test_windows_of_a_private_buffer_are_the_private_slide_apart(size, slide, n, events) -> None:
    layout = layout_of(["a"] * events, list(range(events)))
    for share in by_windows(share_of(sash.rows(size, every=slide), layout), n):
        assert set(np.diff(share.ranges.lo).tolist()) <= {min(size, n * slide)}


@settings(max_examples=150, deadline=None)
@given(layout=streams, window=tiled, n=degree)
def test_panes_tile_every_window_of_a_share(layout, window, n) -> None:
    whole = share_of(window, layout)
    for share in (whole.privately(), *by_keys(whole, n)):
        share = share.privately()
        panes = PaneRanges.of(share)
        for lo, hi, first, last in zip(
            share.ranges.lo, share.ranges.hi, panes.first, panes.last, strict=True
        ):
            positions = [p for pane in range(first, last) for p in range(panes.lo[pane], panes.hi[pane])]
            assert positions == list(range(lo, hi))


@settings(deadline=None)
@given(size=st.integers(1, 60), slide=st.integers(1, 60))
def test_panes_are_as_long_as_the_greatest_common_divisor(size, slide) -> None:
    assert pane_length(sash.sliding(size, every=slide)) == math.gcd(size, slide)
    assert pane_length(sash.rows(size, every=slide)) == math.gcd(size, min(size, slide))


def test_a_pane_is_folded_once_however_many_windows_share_it() -> None:
    # 3 keys · 40 panes, each in up to 8 windows.
    layout = layout_of(["a", "b", "c"] * 160, [event // 3 for event in range(480)])
    assert len(PaneRanges.of(share_of(sash.sliding(32, every=4), layout).privately())) == 3 * 40


# The owner of a buffer.


@st.composite
def monotone_ranges(draw: st.DrawFn) -> tuple[Ranges, int]:
    size = draw(st.integers(0, 60))
    count = draw(st.integers(0, 30))
    lo = sorted(draw(st.lists(st.integers(0, size), min_size=count, max_size=count)))
    ends = sorted(draw(st.lists(st.integers(0, size), min_size=count, max_size=count)))
    hi = np.maximum.accumulate(np.maximum(lo, ends)).astype(np.int64) if count else np.empty(0, np.int64)
    lows, none = np.array(lo, np.int64), np.zeros(count, np.int64)
    return Ranges(none, np.arange(count), lows, hi, none, none, none), size


@settings(max_examples=150, deadline=None)
@given(given=monotone_ranges(), chunk=st.integers(1, 20), most=st.integers(1, 5), data=st.data())
def test_an_owner_frees_a_chunk_when_no_window_needs_it_whatever_the_order_of_feedback(
    given: tuple[Ranges, int], chunk: int, most: int, data: Any
) -> None:
    ranges, size = given
    owner, at_work, live = Owner(ranges), list[Descriptor](), set[range]()
    finished: set[int] = set()

    def some_feedback(*, everything: bool) -> None:
        while at_work and (everything or data.draw(st.booleans())):
            done = at_work.pop(data.draw(st.integers(0, len(at_work) - 1)))
            finished.update(range(done.first, done.last))
            live.difference_update(owner.done(done))
            for window in set(range(len(ranges))) - finished:
                wanted = range(ranges.lo[window], min(ranges.hi[window], owner.arrived))
                assert all(any(position in part for part in live) for position in wanted)

    for start in range(0, size, chunk):
        part = range(start, min(start + chunk, size))
        live.add(part)
        owner.arrive(part, len(part))
        while descriptor := owner.take(most):
            assert (ranges.hi[descriptor.first : descriptor.last] <= owner.arrived).all()
            held = [position for part in descriptor.chunks for position in part]
            lo, hi = ranges.lo[descriptor.first], ranges.hi[descriptor.last - 1]
            assert held[lo - descriptor.base : hi - descriptor.base] == list(range(lo, hi))
            at_work.append(descriptor)
        some_feedback(everything=False)
    some_feedback(everything=True)
    if size and len(ranges):
        assert finished == set(range(len(ranges)))
        # What arrived after the last window was done is nobody's.
        assert not any(part.start < ranges.hi[-1] for part in live)


def test_an_owner_keeps_few_chunks_alive_on_a_long_stream() -> None:
    layout = layout_of(["a"] * 10_000, list(range(10_000)))
    share = share_of(sash.rows(100, every=50), layout)
    pool = ThreadWorkers(Folding.of(share.bound, layout.rows, share.ranges), layout.rows.schema)
    buffer = SharedBuffer(share, pool, workers=1)
    worker = Thread(target=buffer.work)
    worker.start()
    buffer.fill(chunk_ends(layout.times, chunk=100))
    worker.join()
    # 100 chunks passed through. A descriptor has at most 16 windows, which lie in 9 or 10 of them; while
    # one is at work, the owner is a few chunks ahead.
    assert buffer.highest <= 20
    assert buffer.owner.live == 0


def test_threads_read_windows_that_span_chunks_where_they_are() -> None:
    layout = layout_of(["a"] * 1000, list(range(1000)))
    share = share_of(sash.rows(100, every=50), layout)
    folding, seen = Folding.of(share.bound, layout.rows, share.ranges), []

    class Looking(Folding):
        def values(self, rows: pa.Table, ranges: Ranges) -> Values:
            seen.append(rows)
            return super().values(rows, ranges)

    pool = ThreadWorkers(Looking(folding.bound, folding.folders), layout.rows.schema)
    assert handed_out(share, pool, workers=2, chunk=7).columns.num_rows == len(share)
    name = layout.rows.column_names[-1]
    whole = layout.rows[name].to_numpy()
    assert sum(len(rows) for rows in seen) >= 1000
    assert all(np.shares_memory(rows[name].to_numpy(), whole) for rows in seen)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(1, 20))
def test_a_chunk_by_time_has_all_events_between_two_multiples_of_its_span(
    times: list[int], span: int
) -> None:
    ordered = np.sort(np.array(times))
    ends = chunk_ends(ordered, span=span).tolist()
    chunks = [ordered[start:end] for start, end in pairwise([0, *ends])]
    assert np.concatenate(chunks).tolist() == ordered.tolist()
    numbers = [set((chunk // span).tolist()) for chunk in chunks]
    assert all(len(number) == 1 for number in numbers)
    assert len(set.union(*numbers)) == len(chunks)


def test_chunks_by_time_change_no_value() -> None:
    random = np.random.default_rng(4)
    layout = layout_of(["a"] * 500 + ["b"] * 300, np.sort(random.integers(0, 2_000, 800)).tolist())
    share = share_of(sash.sliding(100, every=30), layout)
    pool = ThreadWorkers(Folding.of(share.bound, layout.rows, share.ranges), layout.rows.schema)
    by_count = handed_out(share, pool, workers=2, chunk=7)
    by_time = handed_out(share, pool, workers=2, span=10)
    assert by_time.columns.equals(by_count.columns)


# Stages.


@pytest.mark.parametrize(
    ("pattern", "levels"),
    [
        (sash.WinSeq(), ["window worker"] * 3),
        (sash.KeyFarm(4), ["emitter → 4 window workers → collector"] * 3),
        (
            sash.WinFarm(2, model="agnostic"),
            ["owner of the buffer → 2 window workers → collector"] * 3,
        ),
        (
            sash.WinFarm(sash.WinMapReduce(3, 1), replicas=2),
            [
                "emitter → 2 emitters → 6 map workers → 2 collectors → 2 emitters → 2 reduce workers → "
                "2 collectors → collector",
                "emitter → 6 map workers → 2 collector + emitters → 2 reduce workers → collector",
                "emitter → 6 map workers → 2 reduce workers → collector",
            ],
        ),
        (
            # Each map worker has one reduce worker to itself: they are one from level 1 on.
            sash.KeyFarm(sash.WinMapReduce(1, 1), replicas=3),
            [
                "emitter → 3 emitters → 3 map workers → 3 collectors → 3 emitters → 3 reduce workers → "
                "3 collectors → collector",
                "emitter → 3 map + reduce workers → collector",
                "emitter → 3 map + reduce workers → collector",
            ],
        ),
    ],
    ids=str,
)
def test_fusion_leaves_out_stages_that_only_pass_things_on(pattern, levels: list[str]) -> None:
    assert [drawn(fused(graph(pattern), level=level)) for level in (0, 1, 2)] == levels


def test_explain_shows_the_stages_before_and_after_fusion_and_who_works() -> None:
    windowed = sash.stream(pa.table({"t": [1], "x": [1], "s": ["a"]}), time="t").window(sash.tumbling(5))
    farm = sash.WinFarm(sash.PaneFarm(plq=2, wlq=3), replicas=2)
    text = windowed.parallel(farm).agg(n=sash.count(), high=sash.max("x")).explain("plan")
    assert "WinFarm(PaneFarm(plq=2, wlq=3), replicas=2): 10 workers" in text
    for line in levels_of(farm):
        assert line in text
    assert "10 threads over shared columns" in text
    assert "replicas share panes, each folded once" in text
    interpreted = windowed.parallel(sash.PaneFarm(2, 1)).agg(n=sash.count(), held=sash.collect("x"))
    assert "2 worker processes" in interpreted.explain("plan")
    assert "held: interpreted, so that threads would take turns" in interpreted.explain("plan")
    alone = windowed.parallel(sash.PaneFarm(1, 1)).agg(held=sash.collect("x")).explain("plan")
    assert "held: interpreted, so that threads take turns" in alone
    applied = windowed.apply(len, schema="n bigint").parallel(sash.WinFarm(2)).explain("plan")
    assert "2 worker processes, which map its events from shared memory" in applied
