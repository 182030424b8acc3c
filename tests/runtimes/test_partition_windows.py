"""Partitions of static input that are computed in pieces."""

from __future__ import annotations

from decimal import Decimal
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.runtimes.spark.batch import bucket_query
from sash.runtimes.spark.batch.bucket_query import BucketQuery, PartitionWindows
from sash.runtimes.spark.packing.columns import ORDINAL, places

KEYS: dict[str, list[Any]] = {
    "numbers": [3, 1, None, 2, 1, 3, None, 2],
    "words": ["a", "b", None, "c", "b", "a", None, "c"],
    "floats": [0.0, 1.0, float("nan"), -0.0, 1.0, -0.0, float("nan"), 0.0],
    "decimals": [Decimal("1.5"), Decimal("2.5"), None, *[Decimal("1.5")] * 5],
}


@pytest.mark.parametrize("kind", KEYS)
def test_pieces_answer_as_the_whole_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"t": list(range(8)), "k": pa.array(KEYS[kind]), "x": list(range(8))})
    query = sash.stream(table, time="t", key="k").window(sash.sliding(4, every=2)).agg(s=sash.sum("x"))
    bound = query.bound
    rows = table.select(bound.columns).rename_columns(places(bound.columns))
    rows = rows.append_column(ORDINAL, pa.array(range(8)))
    window = PartitionWindows(BucketQuery(bound, tuple(bound.columns)), attrgetter("reports"), bound.output)

    def answered() -> list[str]:
        return sorted(str(row) for batch in window(rows.to_batches()) for row in batch.to_pylist())

    whole = answered()
    monkeypatch.setattr(bucket_query, "PIECE", 40)
    assert len(list(window._pieces(rows))) > 2
    assert answered() == whole
    assert whole
