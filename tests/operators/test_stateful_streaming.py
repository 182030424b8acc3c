"""O+ between batches: what it says in pieces, saved and loaded in between, is what it says at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.errors import CorruptValue, Unsupported
from sash.operators import Aggregate, Input, Stateful
from sash.operators.order.interleaved import interleave
from sash.operators.stateful.streaming import BoundOperator, OperatorOnStream
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


tweet = st.tuples(
    st.integers(0, 40), st.lists(st.sampled_from(["red", "pink", "blue"]), max_size=3), st.integers(1, 9)
)


def table(rows: list[tuple[int, list[str], int]]) -> pa.Table:
    names = TWEETS.schema.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=TWEETS.schema)


@settings(max_examples=150, deadline=None)
@given(
    batches=st.lists(st.lists(tweet, max_size=8), min_size=1, max_size=5),
    operator=st.sampled_from([totals, records]),
    forgetful=st.lists(st.booleans(), min_size=5, max_size=5),
    delay=st.sampled_from([0, 6]),
)
def test_differential_in_pieces_it_says_what_it_says_at_once(
    batches: list[list[Any]], operator: Any, forgetful: list[bool], delay: int
) -> None:
    bound = BoundOperator(operator(), NO_DELAY)
    running, header, chunks = OperatorOnStream(bound), None, {}
    said, on_time, watermark = [], [], -100
    for batch, forget in zip(batches, forgetful, strict=False):
        if forget:
            running = OperatorOnStream.load(bound, header, chunks)
        late = running.insert(table(batch), np.arange(len(batch)))
        kept = [row for row in batch if row[0] >= watermark]
        assert late.num_rows == len(batch) - len(kept)
        on_time += kept
        watermark = max([watermark, *(row[0] - delay for row in batch)])
        said.append(running.advance(watermark).reports)
        saved = running.save()
        assert not set(saved.written) & saved.dropped
        header, chunks = saved.header, {**chunks, **saved.written}
        chunks = {number: data for number, data in chunks.items() if number not in saved.dropped}
    fed = sorted((row for row in on_time if row[0] < watermark), key=lambda row: row[0])
    at_once = operator().start().process(interleave([TWEETS], [(0, table(fed))], watermark=watermark))
    got = pa.concat_tables(said).to_pylist()
    assert sorted(map(str, got)) == sorted(map(str, at_once.to_pylist()))
    assert [row["time"] for row in got] == sorted(row["time"] for row in got)


def test_state_is_bounded_by_the_window() -> None:
    running = OperatorOnStream(BoundOperator(totals(), NO_DELAY))
    kept: set[int] = set()
    for time in range(0, 400, 4):
        running.insert(table([(time, ["red"], 1)]), np.arange(1))
        running.advance(time)
        saved = running.save()
        kept = (kept | set(saved.written)) - saved.dropped
        assert len(kept) <= 4
    # It wakes for the tuple that waits, and sleeps for ever when there is none.
    assert running.wakes_at() == 397
    running.advance(1000)
    assert running.wakes_at() is None


def test_tuples_without_a_time_are_late() -> None:
    running = OperatorOnStream(BoundOperator(totals(), NO_DELAY))
    late = running.insert(
        pa.Table.from_pylist([{"t": None, "tags": ["red"]}], schema=TWEETS.schema), np.arange(1)
    )
    assert late["late_reason"].to_pylist() == ["time is null"]


def test_a_saved_state_of_something_else_is_refused() -> None:
    with pytest.raises(CorruptValue):
        OperatorOnStream.load(
            BoundOperator(totals(), NO_DELAY), b"something else entirely, long enough", {}
        )


def test_what_cannot_be_saved_is_refused_on_a_stream() -> None:
    single = Stateful(advance=5, size=10, inputs=TWEETS, keys="tags", window="single")
    with pytest.raises(Unsupported, match="window must be 'multi' on a stream"):
        BoundOperator(single, NO_DELAY)
