"""How far time has come in a micro-batch, as every task behind a shuffle learns it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest

from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED, PACKED_BUCKET, PAYLOAD
from sash.runtimes.spark.packing.time_of_batch import StampedPacker, Stamps, is_stamp


def blocks(buckets: list[int], newest: list[int]) -> pa.RecordBatch:
    columns = [
        pa.array(buckets, pa.int64()),
        pa.array([b"rows"] * len(buckets), pa.binary()),
        pa.array(newest, pa.int64()).cast(pa.timestamp("us", "UTC")),
    ]
    return pa.record_batch(columns, names=PACKED.names)


def packed(*made: pa.RecordBatch, tasks: int = 3) -> list[dict[str, object]]:
    batches = StampedPacker(lambda rows: iter(made), tasks)([])
    return [row for batch in batches for row in batch.to_pylist()]


def test_every_task_gets_one_stamp_with_the_newest_time_of_the_packer() -> None:
    rows = packed(blocks([0, 4], [20, 70]), blocks([1], [50]))
    stamps = [row for row in rows if is_stamp(row[PACKED_BUCKET])]
    assert [-1 - row[PACKED_BUCKET] for row in stamps] == [0, 1, 2]
    assert {row[NEWEST_AT].microsecond for row in stamps} == {70}
    assert len(rows) == 3 + 3


@pytest.mark.parametrize("made", [(), (blocks([], []),)])
def test_a_packer_without_rows_has_stamps_that_change_nothing(made: tuple[pa.RecordBatch, ...]) -> None:
    rows = packed(*made)
    assert [-1 - row[PACKED_BUCKET] for row in rows] == [0, 1, 2]
    stamps = Stamps([5])
    for row in rows:
        stamps.take(pa.py_buffer(row[PAYLOAD]), row[NEWEST_AT].microsecond, 0)
    assert (stamps.newest, stamps.late) == ([5], 0)


def test_a_task_has_the_greatest_time_of_each_input() -> None:
    stamps = Stamps([5, 9])
    for newest, number in ((7, 0), (3, 1), (6, 0)):
        stamps.take(pa.py_buffer(b""), newest, number)
    assert stamps.newest == [7, 9]


def test_panes_of_late_events_are_counted_and_go_no_further() -> None:
    seen: list[pa.RecordBatch] = []

    def packer(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen.extend(rows)
        return iter([blocks([0], [30])])

    panes = pa.record_batch({"t": [30, None, 20], "n": [4, 2, 1], "k": ["a", "b", "a"]})
    (_, stamps) = StampedPacker(packer, 2, ("n", "t"))([panes])
    assert [batch.to_pydict() for batch in seen] == [{"t": [30, 20], "n": [4, 1], "k": ["a", "a"]}]
    counted = Stamps([0])
    for payload in stamps[PAYLOAD]:
        counted.take(payload.as_buffer(), 30, 0)
    assert counted.late == 2
