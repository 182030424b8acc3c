"""The planner's pattern of a stream: by measured constants at first, and then that of the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash
from sash.errors import DifferentQuery
from sash.planner.costs.constants import DEFAULTS, Costs, SparkCosts
from sash.runtimes.spark.state.queries_of_checkpoint import Register, queries_in
from sash.runtimes.spark.streaming import streaming_source
from sash.runtimes.spark.streaming.epochs_or_state_store import keeps_epochs
from sash.runtimes.spark.streaming.plan_of_checkpoint import settled
from tests.runtimes.micro_batches import read_batches, write_batches
from tests.runtimes.test_streaming_patterns import hot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NO_PATTERN: Costs = DEFAULTS
PANES = Costs(spark=SparkCosts(stateful=1e3, step=1e3, stage=1e3), spark_measured=True)
"""Of a machine on which steps over the state store cost nothing."""
HOT = sash.Auto(hottest=0.99)
SLIDING = sash.sliding(20, every=5)


class Restarted:
    """A query that is started again and again over one checkpoint, each time with one more file."""

    def __init__(self, spark: SparkSession, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.spark, self.folder, self.patch = spark, folder, patch
        (folder / "in").mkdir()
        self.batches, self.files = hot(400), 0

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def query(self, parallel: Any, window: Any = SLIDING) -> Any:
        df = read_batches(self.spark, self.folder / "in", self.batches[0].schema)
        windows = sash.stream(df, time="t", key="k").window(window)
        return windows.agg(n=sash.count()).parallel(parallel)

    def run(self, constants: Costs, parallel: Any = HOT) -> str | None:
        """The pattern that the register has afterwards."""
        self.patch.setattr(streaming_source, "costs", lambda: constants)
        write_batches(self.folder / "in", self.batches[self.files : self.files + 1], first=self.files)
        self.files += 1
        running = self.query(parallel).start(
            self.folder / "out", checkpoint=self.checkpoint, trigger="available now"
        )
        running.awaitTermination()
        return self.pattern()

    def pattern(self) -> str | None:
        for file in (self.checkpoint / "sash").glob("queries.*"):
            query = queries_in(file.read_bytes())[""].query
            assert query is not None
            return query.get("pattern")
        return None

    def reports(self) -> int:
        return self.spark.read.parquet(str(self.folder / "out")).count()


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Restarted:
    return Restarted(spark, tmp_path, monkeypatch)


def test_a_new_checkpoint_has_the_plan_of_measured_constants_and_keeps_it(place: Restarted) -> None:
    assert place.run(PANES) == "PaneFarm(plq=2, wlq=2)"
    before = place.reports()
    assert place.run(NO_PATTERN) == "PaneFarm(plq=2, wlq=2)"
    assert place.run(NO_PATTERN, sash.Auto(hottest=0.99, cores=7)) == "PaneFarm(plq=2, wlq=2)"
    assert place.run(NO_PATTERN, "auto") == "PaneFarm(plq=2, wlq=2)"
    assert place.reports() > before
    with pytest.raises(DifferentQuery, match="WinFarm"):
        place.run(NO_PATTERN, sash.WinFarm(2))


def test_a_checkpoint_without_a_pattern_goes_on_without_one(place: Restarted) -> None:
    assert place.run(NO_PATTERN) is None
    assert keeps_epochs(place.spark, str(place.checkpoint))
    before = place.reports()
    assert place.run(PANES) is None
    assert place.reports() > before


def test_a_plan_is_made_again_where_nothing_was_computed_and_the_query_has_changed(
    place: Restarted,
) -> None:
    assert place.run(PANES) == "PaneFarm(plq=2, wlq=2)"
    for file in (place.checkpoint / "commits").iterdir():
        file.unlink()
    same, other = place.query(HOT), place.query(HOT, sash.session(7))
    patterns = [
        settled(query.source, query.bound, str(place.checkpoint), elastic=False).plan(query.bound).pattern
        for query in (same, other)
    ]
    assert patterns == [sash.PaneFarm(2, 2), other.source.plan(other.bound).pattern]
    assert patterns[1] != patterns[0]


def test_an_older_register_without_a_description_has_the_plan_of_the_defaults(
    place: Restarted,
) -> None:
    assert place.run(PANES) == "PaneFarm(plq=2, wlq=2)"
    place.patch.setattr(Register, "described", lambda register, name="": None)
    query = place.query(HOT)
    source = settled(query.source, query.bound, str(place.checkpoint), elastic=False)
    assert source.plan(query.bound).pattern is None


def test_a_streaming_dataframe_has_the_plan_that_every_machine_would_make(place: Restarted) -> None:
    """Its checkpoint is somewhere else, and cannot be read."""
    place.patch.setattr(streaming_source, "costs", lambda: PANES)
    query = place.query(HOT)
    assert query.source.plan(query.bound).pattern == sash.PaneFarm(2, 2)
    assert query.source.planned_anywhere(query.bound).plan(query.bound).pattern is None
    explained = json.loads(query.explain("json"))
    assert explained["pattern"]["name"] == "PaneFarm(plq=2, wlq=2)"
