"""Keys that are more uneven than the plan took them to be are a record of the batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.planner.costs.constants import Costs, SparkCosts
from sash.planner.facts import EventFacts
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.observed_counts import decisions_in
from sash.runtimes.spark.epochs.assumed_skew import AssumedSkew
from tests.planner.test_rules import LIGHT, UNKNOWN, plan_of, query
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVEN = np.full(8, 10.0)
ONE_BUSY = np.array([62.0, 4, 6, 8, 5, 5, 5, 5])
MANY = 20_000
DEAR = Costs(spark=SparkCosts(fold=50_000.0))
"""Of a machine on which a hot key holds all others up."""


def skew(events: EventFacts = UNKNOWN, *, cores: int = 4, costs: Costs = DEAR) -> AssumedSkew:
    def planned(hottest: float) -> Plan:
        given = EventFacts(10_000_000, 1_000, hottest, None, "given")
        return plan_of(query(sash.tumbling(100), LIGHT), given, where="spark streaming", costs=costs)

    return AssumedSkew(events, cores, planned)


def found(skew: AssumedSkew, load: Any, events: int = MANY) -> list[str]:
    return [str(one) for one in skew.contradicted(load, events=events)]


def test_a_busy_bucket_contradicts_even_keys_and_the_record_has_what_would_be_planned() -> None:
    assert found(skew(), ONE_BUSY) == [
        "buckets of keys: the hottest key was assumed to have 0.1% of the events, and the busiest of 8 "
        "buckets has 62%; with .parallel(sash.Auto(hottest=0.62)) a new checkpoint would have "
        "PaneFarm(plq=4, wlq=4)"
    ]


def test_the_record_has_that_no_other_plan_is_cheaper() -> None:
    (only,) = found(skew(costs=Costs()), ONE_BUSY)
    assert only.endswith("has 62%; they are estimated to be the cheapest all the same")


@pytest.mark.parametrize(
    ("events", "cores", "load", "many"),
    [
        (UNKNOWN, 4, EVEN, MANY),
        (UNKNOWN, 1, ONE_BUSY, MANY),
        (UNKNOWN, 4, ONE_BUSY, 100),
        (UNKNOWN, 4, ONE_BUSY[:1], MANY),
        (UNKNOWN, 4, np.zeros(8), MANY),
        (EventFacts(1_000_000, 100, 0.6, None, "given"), 4, ONE_BUSY, MANY),
    ],
    ids=["even", "one core", "few events", "one bucket", "no events", "as it was given"],
)
def test_there_is_no_record_where_nothing_is_contradicted(
    events: EventFacts, cores: int, load: Any, many: int
) -> None:
    assert found(skew(events, cores=cores), load, many) == []


@pytest.mark.spark
def test_the_batches_of_a_query_with_a_hot_key_have_the_record(spark: SparkSession, tmp_path: Path) -> None:
    """Rolling features are computed from rows, so that the bucket of a hot key is busy."""
    events = 40_000
    tables = [
        pa.table({
            "t": np.arange(events * n, events * (n + 1)),
            "k": np.where(np.arange(events) % 20 == 0, np.arange(events) % 97, 1),
            "x": np.ones(events),
        })
        for n in range(4)
    ]  # fmt: skip
    stream = sash.stream(stream_batches(spark, tables), time="t", key="k")
    rolling = stream.rolling(100, emit="arrival").agg(s=sash.sum("x"))
    running = rolling.start(
        lambda rows, batch: rows.count(), checkpoint=tmp_path / "c", trigger="available now"
    )
    running.awaitTermination()
    shown = [decisions_in(json.loads(report.json)) for report in running.recentProgress]
    assert not [one for one in shown[0] if "busiest" in one]
    for batch in shown[1:]:
        (only,) = [one for one in batch if "busiest" in one]
        assert only.startswith("buckets of keys: the hottest key was assumed to have 0.1% of the events")
