"""What is published from a batch on: the same rows, and no look at what was before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.errors import ArgumentError, CorruptValue
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.manifest_runs import AT_ONCE, FAN, Manifest, ManifestRuns
from sash.runtimes.spark.sinks.manifests import FOLDER, RUNS, Manifests
from tests.sinks.test_manifest_runs import LOOKS, before_change, kill
from tests.sinks.test_sinks import deliver, numbers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAME = "part-0.parquet"


def write_history(spark: SparkSession, path: Path, batches: int, *, files: Sequence[int]) -> None:
    """A folder with the manifests of so many batches, all of them in runs, and the files of some: a row
    with the number of its batch."""
    sizes = {}
    for batch in files:
        file = path / f"batch={batch}" / "first" / NAME
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [batch]}), file)
        sizes[batch] = file.stat().st_size

    def manifest(batch: int) -> Manifest:
        return Manifest(batch, 1, "query", "first", {NAME: sizes.get(batch, 1)})

    runs = ManifestRuns(HadoopFolder(spark, str(path / FOLDER / RUNS)))
    for start in range(0, batches, AT_ONCE * FAN):
        some = range(start, min(start + AT_ONCE * FAN, batches))
        singles = {batch: str(batch) for batch in some}
        assert runs.put_together(singles, batches + 2 * FAN, read=manifest, remove=lambda name: None)


def test_the_cost_of_what_is_new_does_not_grow_with_what_is_old(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls: list[list[str]] = []
    for batches in (200, 2_000):
        path, since = tmp_path / str(batches), batches - 10
        write_history(spark, path, batches, files=range(since, batches))
        with before_change(-1, kill, names=LOOKS) as looks:
            rows = sash.published(path, since=since, spark=spark)
        assert numbers(rows) == list(range(since, batches))
        calls.append(sorted(looks))
    # The runs, the folder of manifests and those of ten batches are listed, and one run is read.
    assert calls[0] == calls[1] == ["names", "read", *["sizes"] * 11]


def test_a_folder_of_which_a_part_was_removed_is_refused_where_it_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_history(spark, tmp_path, 2_000, files=range(1_990, 2_000))
    with pytest.raises(CorruptValue, match=r"batch 0 .* is not as it was published: .* is missing"):
        sash.published(tmp_path, spark=spark)
    (tmp_path / "batch=1995" / "first" / NAME).unlink()
    with pytest.raises(CorruptValue, match=r"batch 1995 .* is not as it was published: .* is missing"):
        sash.published(tmp_path, since=1_990, spark=spark)
    assert numbers(sash.published(tmp_path, since=1_996, spark=spark)) == [1_996, 1_997, 1_998, 1_999]


def test_from_any_batch_on_it_is_the_end_of_all_that_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_history(spark, tmp_path, 2_000, files=())
    manifests = Manifests(spark, str(tmp_path))
    whole = manifests.published()
    assert [one.batch for one in whole] == list(range(2_000))
    for since in (0, 1, FAN - 1, FAN, FAN + 1, 1_990, 1_999, 2_000, 5_000):
        assert manifests.published(since) == whole[since:], since


def test_rows_from_a_batch_on_are_those_of_all_with_such_a_number(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = FolderSink(str(tmp_path))
    for batch in (3, 4, 7):
        deliver(sink, spark.range(batch * 10, batch * 10 + 3), batch)
    whole = sash.published(tmp_path, spark=spark)
    for since in range(9):
        rows = sash.published(tmp_path, since=since, spark=spark)
        assert rows.schema == whole.schema
        assert sorted(rows.collect()) == sorted(whole.filter(f"batch >= {since}").collect()), since


def test_where_nothing_is_new_the_columns_are_those_of_the_newest_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = FolderSink(str(tmp_path))
    with pytest.raises(ArgumentError, match="has published rows"):
        sash.published(tmp_path, since=5, spark=spark)
    deliver(sink, spark.range(3), 0)
    deliver(sink, spark.range(3).selectExpr("id", "id AS added"), 1)
    rows = sash.published(tmp_path, since=2, spark=spark)
    assert rows.columns == ["id", "added", "batch"]
    assert rows.collect() == []


@pytest.mark.parametrize("since", [-1, "3", 1.5, True, None])
def test_what_is_not_the_number_of_a_batch_is_refused(spark: SparkSession, since: Any) -> None:
    with pytest.raises(ArgumentError, match="since must be the number of a batch, 0 or more"):
        sash.published("nowhere", since=since, spark=spark)


def test_the_number_of_a_batch_may_come_from_another_library(spark: SparkSession, tmp_path: Path) -> None:
    deliver(FolderSink(str(tmp_path)), spark.range(3), 7)
    assert numbers(sash.published(tmp_path, since=np.int64(7), spark=spark)) == [0, 1, 2]  # type: ignore[arg-type]


def test_batches_are_listed_side_by_side(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each listing of an object store takes a while, most of which is waiting."""
    write_history(spark, tmp_path, 4, files=range(4))
    manifests = Manifests(spark, str(tmp_path))
    found, both, plain = manifests.published(), Barrier(2), HadoopFolder.sizes

    def sizes(folder: HadoopFolder) -> dict[str, int]:
        both.wait(timeout=60)  # for another that has begun and not ended
        return plain(folder)

    monkeypatch.setattr(HadoopFolder, "sizes", sizes)
    manifests.require_whole(found)
