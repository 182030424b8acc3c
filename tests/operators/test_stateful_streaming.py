"""O+ between batches: what it emits in pieces, saved and loaded in between, is what it emits at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation.stores.values import seal
from sash.errors import CorruptValue, StoreError, Unsupported
from sash.operators import Aggregate, Input, Stateful
from sash.operators.columns.table_bytes import bytes_of
from sash.operators.order.interleaved import interleave
from sash.operators.saved_operator_contents import inventory
from sash.operators.stateful.streaming import HEADER, BoundOperator, OperatorOnStream, chunk_name
from sash.semantics.durations import Duration, Unit

TWEETS = Input(
    pa.schema([("t", pa.int64()), ("tags", pa.list_(pa.string())), ("size", pa.int64())]), time="t"
)
NO_DELAY = Duration(0, Unit.TICKS)


def totals() -> Aggregate:
    return Aggregate(
        advance=5, size=10, inputs=TWEETS, keys="tags", n=sash.count(), total=sash.sum("size"), shares=4
    )


def records() -> Stateful:
    """Says at once when a tweet is the longest so far of its window, and at the end how many there were."""

    def longer(windows: Any, tweet: Any) -> Any:
        windows[0].append(tweet.row.size)
        if tweet.row.size < max(windows[0]):
            return None
        return {"tag": windows.key, "what": f"record {tweet.row.size}"}

    return Stateful(
        advance=5, size=10, inputs=TWEETS, keys="tags", shares=4, update=longer,
        output=lambda windows: {"tag": windows.key, "what": f"{len(windows[0])} tweets"},
        schema=pa.schema([("tag", pa.string()), ("what", pa.string())]),
    )  # fmt: skip


def latest() -> Stateful:
    """One window per tag, which knows its last tweet after that has left it, until the next slide."""

    def keep(windows: Any, tweet: Any) -> Any:
        windows[0].append(tweet)
        return {"tag": windows.key, "what": f"{tweet.row.size} at {tweet.time}"}

    def drop(windows: Any) -> None:
        windows[0] = [tweet for tweet in windows[0][-1:] if tweet.time >= windows.start - 5]

    return Stateful(
        advance=5, size=10, inputs=TWEETS, keys="tags", shares=4, window="single", update=keep, slide=drop,
        output=lambda windows: {"tag": windows.key, "what": str([tweet.ordinal for tweet in windows[0]])},
        schema=pa.schema([("tag", pa.string()), ("what", pa.string())]),
    )  # fmt: skip


def stored() -> Stateful:
    """By default tuples are stored: they are saved once, whatever the number of windows."""
    return Stateful(
        advance=5, size=10, inputs=TWEETS, keys="tags", shares=4,
        output=lambda windows: {"tag": windows.key, "what": str([tweet.time for tweet in windows[0]])},
        schema=pa.schema([("tag", pa.string()), ("what", pa.string())]),
    )  # fmt: skip


def longest() -> Aggregate:
    """Its elements are words, so that it is interpreted."""
    return Aggregate(
        advance=5, size=10, inputs=TWEETS, keys="tags", shares=4, first=sash.first("size"), n=sash.count(),
        sizes=sash.distinct("size"),
    )  # fmt: skip


tweet = st.tuples(
    st.integers(0, 40), st.lists(st.sampled_from(["red", "pink", "blue"]), max_size=3), st.integers(1, 9)
)


def table(rows: list[tuple[int, list[str], int]]) -> pa.Table:
    names = TWEETS.schema.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=TWEETS.schema)


@settings(max_examples=150, deadline=None)
@given(
    batches=st.lists(st.lists(tweet, max_size=8), min_size=1, max_size=5),
    operator=st.sampled_from([totals, records, latest, stored, longest]),
    forgetful=st.lists(st.booleans(), min_size=5, max_size=5),
    delay=st.sampled_from([0, 6]),
)
def test_differential_in_pieces_it_says_what_it_says_at_once(
    batches: list[list[Any]], operator: Any, forgetful: list[bool], delay: int
) -> None:
    bound = BoundOperator.of(operator(), NO_DELAY)
    running, header, chunks = OperatorOnStream(bound), None, {}
    emitted, on_time, watermark = [], [], -100
    for batch, forget in zip(batches, forgetful, strict=False):
        if forget:
            running = OperatorOnStream.load(bound, header, chunks)
        late = running.insert(table(batch), np.arange(len(batch)))
        kept = [row for row in batch if row[0] >= watermark]
        assert late.num_rows == len(batch) - len(kept)
        on_time += kept
        watermark = max([watermark, *(row[0] - delay for row in batch)])
        emitted.append(running.advance(watermark).reports)
        saved = running.save()
        assert not set(saved.written) & saved.dropped
        header, chunks = saved.header, {**chunks, **saved.written}
        chunks = {number: data for number, data in chunks.items() if number not in saved.dropped}
    fed = sorted((row for row in on_time if row[0] < watermark), key=lambda row: row[0])
    at_once = operator().start().process(interleave([TWEETS], [(0, table(fed))], watermark=watermark))
    got = pa.concat_tables(emitted).to_pylist()
    assert sorted(map(str, got)) == sorted(map(str, at_once.to_pylist()))
    assert [row["time"] for row in got] == sorted(row["time"] for row in got)


@pytest.mark.parametrize("operator", [totals, records, latest, stored, longest])
def test_memory_counts_what_open_windows_hold_whatever_it_is(operator: Any) -> None:
    def held(tags: int) -> OperatorOnStream:
        bound = BoundOperator.of(operator(), NO_DELAY)
        running = OperatorOnStream(bound)
        running.insert(table([(time, [f"tag {time % tags}"], 5) for time in range(1000)]), np.arange(1000))
        running.insert(table([(1002, [f"tag {n}" for n in range(tags)], 5)]), np.arange(1))
        running.advance(1003)
        # Nothing waits, so that all of it is windows.
        assert not len(running.waiting.time)
        saved = running.save()
        loaded = OperatorOnStream.load(bound, saved.header, saved.written)
        assert loaded.memory == pytest.approx(running.memory, rel=0.1)
        return running

    few, many = held(1), held(400)
    assert many.memory > 8 * 400
    assert many.memory > 3 * few.memory > 0
    if many.bound.operator.window_type == "multi":
        many.advance(5_000)
        many.save()
        assert many.memory < few.memory


def test_state_is_bounded_by_the_window() -> None:
    running = OperatorOnStream(BoundOperator.of(totals(), NO_DELAY))
    kept: set[int] = set()
    for time in range(0, 400, 4):
        running.insert(table([(time, ["red"], 1)]), np.arange(1))
        running.advance(time)
        saved = running.save()
        kept = (kept | set(saved.written)) - saved.dropped
        assert len(kept) <= 4
    # It wakes for the tuple that waits, and sleeps for ever when there is none.
    assert running.next_timer() == 397
    running.advance(1000)
    assert running.next_timer() is None


def test_long_windows_have_few_chunks_and_one_part_of_a_pane_is_left_of_many() -> None:
    daily = Aggregate(
        advance=500, size=2000, inputs=TWEETS, keys="tags", n=sash.count(), last=sash.last("size")
    )
    bound, chunks, header = BoundOperator.of(daily, NO_DELAY), {}, None
    running, emitted = OperatorOnStream(bound), []
    rows = [(time, [f"tag {time % 3}"], time % 7) for time in range(3000)]
    for time in range(0, 3000, 5):
        running.insert(table(rows[time : time + 5]), np.arange(5))
        emitted.append(running.advance(time + 5).reports)
        saved = running.save()
        header, chunks = saved.header, chunks | dict(saved.written)
        chunks = {number: data for number, data in chunks.items() if number not in saved.dropped}
        assert len(chunks) <= 30
        if time % 250 == 0:
            running = OperatorOnStream.load(bound, header, chunks)
    assert inventory(header, chunks.items()).rows < 200
    whole = [row for row in daily.over(table(rows)).to_pylist() if row["time"] <= 3000]
    found = pa.concat_tables(emitted).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, whole)) != []


def test_tuples_without_a_time_are_late() -> None:
    running = OperatorOnStream(BoundOperator.of(totals(), NO_DELAY))
    late = running.insert(
        pa.Table.from_pylist([{"t": None, "tags": ["red"]}], schema=TWEETS.schema), np.arange(1)
    )
    assert late["late_reason"].to_pylist() == ["time is null"]


def test_a_saved_state_of_something_else_is_refused() -> None:
    with pytest.raises(CorruptValue):
        OperatorOnStream.load(
            BoundOperator.of(totals(), NO_DELAY), b"something else entirely, long enough", {}
        )


def test_a_state_of_a_later_layout_is_refused_by_its_number() -> None:
    later = seal(HEADER, b'{"layout": 3, "watermark": 3, "chunks": 0}')
    with pytest.raises(StoreError, match="has layout 3, and this version of Sash reads layout 2"):
        OperatorOnStream.load(BoundOperator.of(totals(), NO_DELAY), later, {})


@pytest.mark.parametrize("operator", [totals, records, stored])
def test_a_state_of_the_first_layout_which_was_the_tuples_goes_on(operator: Any) -> None:
    # [-5, 5) has ended, [0, 10) and [5, 15) are open, and the tuple of time 9 waits
    rows = table([(1, ["red"], 4), (6, ["red", "blue"], 2), (9, ["red"], 3)])
    bound, chunks = BoundOperator.of(operator(), NO_DELAY), {0: seal(chunk_name(0), bytes_of(rows))}
    old = seal(HEADER, b'{"watermark": 7, "chunks": 1, "live": [0]}')
    saved = OperatorOnStream.load(bound, old, chunks).save()
    again = OperatorOnStream.load(bound, saved.header, chunks | dict(saved.written))
    never_saved = OperatorOnStream(bound)
    never_saved.insert(rows, np.arange(3))
    never_saved.advance(7)
    expected = never_saved.advance(30).reports.to_pylist()
    assert sorted(map(str, again.advance(30).reports.to_pylist())) == sorted(map(str, expected)) != []


def test_a_state_that_cannot_be_saved_is_named() -> None:
    def keep(windows: Any, tweet: Any) -> None:
        windows[0].append(object())

    odd = Stateful(advance=5, size=10, inputs=TWEETS, keys="tags", update=keep)
    running = OperatorOnStream(BoundOperator.of(odd, NO_DELAY))
    running.insert(table([(1, ["red"], 1)]), np.arange(1))
    running.advance(2)
    with pytest.raises(Unsupported, match="Override pack and unpack"):
        running.save()


def test_functions_are_not_called_again_for_what_was_saved() -> None:
    called: list[int] = []

    def note(windows: Any, tweet: Any) -> None:
        called.append(tweet.ordinal)
        windows[0].append(tweet.ordinal)

    bound = BoundOperator.of(
        Stateful(advance=5, size=10, inputs=TWEETS, keys="tags", window="single", update=note), NO_DELAY
    )
    running = OperatorOnStream(bound)
    running.insert(table([(1, ["red"], 1), (2, ["red"], 1)]), np.arange(2))
    running.advance(3)
    saved = running.save()
    again = OperatorOnStream.load(bound, saved.header, saved.written)
    again.insert(table([(3, ["red"], 1)]), np.arange(1))
    again.advance(4)
    assert called == [0, 1, 2]


def test_what_is_written_does_not_grow_with_what_is_held() -> None:
    running = OperatorOnStream(BoundOperator.of(latest(), NO_DELAY))
    running.insert(table([(0, [f"tag {number}"], 1) for number in range(2000)]), np.arange(2000))
    running.advance(1)
    first = running.save()
    running.insert(table([(1, ["tag 7"], 2)]), np.arange(1))
    running.advance(2)
    second = running.save()
    assert sum(map(len, second.written.values())) < sum(map(len, first.written.values())) / 10


def test_single_windows_of_ever_new_keys_leave_nothing_behind() -> None:
    running, chunks = OperatorOnStream(BoundOperator.of(latest(), NO_DELAY)), {}
    for time in range(0, 6000, 20):
        running.insert(table([(time, [f"tag {time + n}" for n in range(5)], 1)]), np.arange(1))
        running.advance(time + 1)
        saved = running.save()
        chunks = {n: data for n, data in (chunks | dict(saved.written)).items() if n not in saved.dropped}
        assert len(chunks) <= 130
