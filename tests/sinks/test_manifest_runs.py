"""Manifests that are put together: the same batches are published whatever dies, whoever looks.

batch   0 1 2 3 4 5 6 7 …        FAN = 2 here
runs    1-0 1-1 1-2 1-3          the last batches stay as they are
        2-0     2-1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.sinks import manifest_runs
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.manifests import Manifest, Manifests
from tests.sinks.test_sinks import deliver, numbers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CHANGES = ("write", "create", "rename", "remove")
LOOKS = ("read", "sizes", "names", "exists")
BATCHES, STEPS = 14, 10
"""How many are published; and where each change of a file is looked at."""


class Killed(BaseException):
    """The process has ended here."""


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_runs, "FAN", 2)


@contextmanager
def before_change(
    number: int, happens: Callable[[], None], *, names: tuple[str, ...] = CHANGES
) -> Iterator[list[str]]:
    """Something happens once, before that change of a file; yields the changes so far. With other `names`,
    before that look."""
    calls: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(HadoopFolder, name, _hooked(name, number, happens, calls))
        yield calls


def _hooked(name: str, number: int, happens: Callable[[], None], calls: list[str]) -> Any:
    plain = getattr(HadoopFolder, name)

    def changed(folder: HadoopFolder, *given: Any) -> Any:
        calls.append(name)
        if len(calls) == number + 1:
            happens()
        return plain(folder, *given)

    return changed


def kill() -> None:
    raise Killed


def manifest(batch: int, execution: str = "first") -> Manifest:
    return Manifest(batch, 1, "query", execution, {f"part-{batch}": 10})


class Driver:
    """One that publishes batch after batch, as the folder sink does."""

    def __init__(self, spark: SparkSession, path: Path, execution: str = "first") -> None:
        self.manifests, self.execution = Manifests(spark, str(path)), execution

    def run(self, batches: range) -> None:
        for batch in batches:
            done = self.manifests.read(batch) is not None
            if not done and self.manifests.publish(manifest(batch, self.execution)):
                self.manifests.put_together(batch)

    @property
    def published(self) -> list[tuple[int, str]]:
        return [(one.batch, one.execution) for one in self.manifests.published()]


def files(path: Path) -> list[str]:
    every = (file.relative_to(path / "_sash").as_posix() for file in (path / "_sash").rglob("*"))
    return sorted(name for name in every if not name.endswith(".crc") and name != "runs")


def changes_of(spark: SparkSession, path: Path) -> int:
    with before_change(-1, kill) as changes:
        Driver(spark, path).run(range(STEPS))
    return len(changes)


def test_few_files_have_all_manifests(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path)
    driver.run(range(BATCHES))
    assert files(tmp_path) == ["10", "11", "12", "13", "runs/1-4", "runs/2-0", "runs/2-1"]
    driver.run(range(BATCHES, 40))
    assert driver.published == [(batch, "first") for batch in range(40)]
    assert len(files(tmp_path)) <= 4 + 2 * manifest_runs.LEVELS + 40 // 2**manifest_runs.LEVELS
    assert all(driver.manifests.read(batch) == manifest(batch) for batch in range(40))
    newest = driver.manifests.newest()
    assert newest == manifest(39)


def test_the_newest_is_found_where_only_runs_are(spark: SparkSession, tmp_path: Path) -> None:
    driver = Driver(spark, tmp_path)
    driver.run(range(BATCHES))
    for batch in range(10, 14):
        (tmp_path / "_sash" / str(batch)).unlink()
    assert driver.manifests.newest() == manifest(9)


def test_a_kill_between_any_two_changes_leaves_the_same_answer(spark: SparkSession, tmp_path: Path) -> None:
    steps = changes_of(spark, tmp_path / "whole")
    assert steps > STEPS * 2
    for step in range(steps):
        path = tmp_path / str(step)
        driver = Driver(spark, path)
        with pytest.raises(Killed), before_change(step, kill):
            driver.run(range(STEPS))
        found = driver.published
        assert found == [(batch, "first") for batch in range(len(found))], step
        again = Driver(spark, path)
        again.run(range(max(0, len(found) - 1), STEPS))
        assert again.published == [(batch, "first") for batch in range(STEPS)], step
    assert not [file for file in tmp_path.rglob(".*-*-*") if file.suffix != ".crc"], "temporary files"


def test_whoever_looks_between_any_two_changes_sees_all_that_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    for step in range(changes_of(spark, tmp_path / "whole")):
        driver, seen = Driver(spark, tmp_path / str(step)), list[list[tuple[int, str]]]()

        def look(driver: Driver = driver, seen: list[list[tuple[int, str]]] = seen) -> None:
            seen.append(driver.published)
            later = [(one.batch, one.execution) for one in driver.manifests.published(since=3)]
            assert later == seen[0][3:]

        with before_change(step, look):
            driver.run(range(STEPS))
        assert seen == [[(batch, "first") for batch in range(len(seen[0]))]], step


@pytest.mark.parametrize("begun", [2, 6])
def test_a_batch_is_found_while_its_manifest_moves(spark: SparkSession, tmp_path: Path, begun: int) -> None:
    """It is single or in run 1-0 when the look begins, and in run 2-0 before the next file is read."""
    for step in range(3):
        driver = Driver(spark, tmp_path / str(step))
        driver.run(range(begun))
        assert "runs/2-0" not in files(tmp_path / str(step))
        with before_change(step, partial(driver.run, range(begun, BATCHES)), names=("read",)) as looks:
            assert driver.manifests.read(0) == manifest(0), step
        assert ("runs/2-0" in files(tmp_path / str(step))) == (len(looks) > step), step


def test_a_batch_is_published_at_the_same_cost_however_many_were_before_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Runs of the highest level are put together no more: a query of years has thousands of them."""

    def looks(path: Path, batch: int) -> list[str]:
        manifests = Manifests(spark, str(path))
        with before_change(-1, kill, names=LOOKS) as made:
            assert manifests.publish(manifest(batch))
        return made

    runs = tmp_path / "old" / "_sash" / "runs"
    runs.mkdir(parents=True)
    for index in range(3_000):
        (runs / f"2-{index}").touch()
    batch = 3_000 * manifest_runs.FAN**manifest_runs.LEVELS
    found = looks(tmp_path / "old", batch)
    assert found == looks(tmp_path / "new", 0) == ["read"] * manifest_runs.LEVELS


@pytest.mark.soak
def test_an_old_driver_that_goes_on_at_any_change_loses_nothing_and_wins_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """It stands still before a change, and another one does the rest in its place."""
    for step in range(changes_of(spark, tmp_path / "whole")):
        path = tmp_path / str(step)
        old, new = Driver(spark, path, "old"), Driver(spark, path, "new")

        def take_over(new: Driver = new) -> None:
            first = len(new.published)
            new.run(range(max(0, first - 1), STEPS + 10))

        with before_change(step, take_over):
            old.run(range(STEPS))
        winners = dict(new.published)
        assert sorted(winners) == list(range(STEPS + 10)), step
        begun = [batch for batch in winners if winners[batch] == "old"]
        assert begun == list(range(len(begun))), step
        assert len(files(path)) < 20, files(path)


def test_an_execution_that_comes_after_its_batch_was_put_into_a_run_is_too_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    driver = Driver(spark, tmp_path)
    driver.run(range(BATCHES))
    assert not driver.manifests.publish(manifest(3, "late"))
    assert "3" not in files(tmp_path)
    assert driver.manifests.read(3) == manifest(3)
    # Killed before it has found that out: what is in the run wins.
    with pytest.raises(Killed), before_change(1, kill):
        driver.manifests.publish(manifest(3, "late"))
    assert "3" in files(tmp_path)
    assert driver.manifests.read(3) == manifest(3)
    assert (3, "first") in driver.published
    assert len(driver.published) == BATCHES


def test_a_folder_of_an_older_layout_is_put_together_bit_by_bit(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = Manifests(spark, str(tmp_path))
    for batch in range(0, 40, 2):
        old.publish(manifest(batch))
    assert len(files(tmp_path)) == 20
    driver = Driver(spark, tmp_path)
    driver.run(range(40, 41))
    assert len([name for name in files(tmp_path) if name.isdecimal()]) == 21 - manifest_runs.AT_ONCE
    driver.run(range(41, 60))
    assert [name for name in files(tmp_path) if name.isdecimal()] == ["56", "57", "58", "59"]
    assert driver.published == [(batch, "first") for batch in [*range(0, 40, 2), *range(40, 60)]]


def test_a_query_puts_the_manifests_of_its_folder_together(spark: SparkSession, tmp_path: Path) -> None:
    for start in (0, 5):  # it is started again in between
        sink = FolderSink(str(tmp_path))
        for batch in range(start, start + 5):
            deliver(sink, spark.range(batch, batch + 1), batch)
    deliver(FolderSink(str(tmp_path)), spark.range(100), 2)
    assert numbers(sash.published(tmp_path, spark=spark)) == list(range(10))
    assert "runs/2-0" in files(tmp_path)
