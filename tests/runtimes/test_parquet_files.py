"""Parquet files as batches of one schema: what fits, what is refused, and how much is held at once."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sash.errors import BadFile, Unsupported
from sash.runtimes.spark.files.open_files import located, open_file, partition_values
from sash.runtimes.spark.files.parquet_files import ParquetReader, first_schema
from sash.runtimes.spark.packing.blocks import ROWS

pytestmark = pytest.mark.spark

UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("ts", UTC), ("k", pa.string()), ("x", pa.int64())])
NEVER_NULL = pa.list_(pa.field("item", pa.int64(), nullable=False))


def instant(microseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=microseconds)


def written(path: Path, **options: Any) -> str:
    """A file of SCHEMA with three rows, and its path."""
    pq.write_table(
        pa.table({"ts": [1, 2, 3], "k": ["a", None, "b"], "x": [4, 5, 6]}, SCHEMA), path, **options
    )
    return str(path)


def read(path: str | Path, schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_batches(ParquetReader(schema, "UTC").read(str(path)), schema)


def column_read(tmp_path: Path, given: pa.Array, wanted: pa.DataType) -> list[Any]:
    """What a column of a file is in a stream whose column has another type."""
    pq.write_table(pa.table({"c": given}), tmp_path / "f.parquet")
    return read(tmp_path / "f.parquet", pa.schema([("c", wanted)]))["c"].to_pylist()


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2**50), st.none() | st.text(max_size=3), st.integers(-9, 9))),
    group=st.integers(1, 7),
    columns=st.permutations(SCHEMA.names),
    taken=st.integers(0, 3),
)
def test_differential_a_file_in_row_groups_of_any_size_is_read_as_it_was_written(
    rows: list[Any], group: int, columns: list[str], taken: int
) -> None:
    table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table.select(columns), Path(folder) / "f.parquet", row_group_size=group)
        wanted = pa.schema([SCHEMA.field(name) for name in SCHEMA.names[:taken]])
        assert read(Path(folder) / "f.parquet", wanted).equals(table.select(wanted.names).cast(wanted))


def test_a_large_file_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    rows, groups = ROWS, 24
    with pq.ParquetWriter(tmp_path / "large.parquet", pa.schema([("x", pa.int64())])) as writer:
        for number in range(groups):
            writer.write_table(pa.table({"x": range(number * rows, (number + 1) * rows)}))
    schema, before, most, count = pa.schema([("x", pa.int64())]), pa.total_allocated_bytes(), 0, 0
    for batch in ParquetReader(schema, "UTC").read(str(tmp_path / "large.parquet")):
        count += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert count == rows * groups
    assert most < 8 * rows * groups / 3


def test_a_column_that_is_missing_is_an_error_that_names_file_and_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": pa.array([1], UTC), "k": ["a"]}), tmp_path / "late one.parquet")
    with pytest.raises(BadFile, match=r"late one\.parquet: this file has no column 'x'.*\['ts', 'k'\]"):
        read(tmp_path / "late one.parquet")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.array(["1"]), pa.int64()),
        (pa.array([1]), pa.string()),
        (pa.array([1]), pa.int32()),
        (pa.array([1.5]), pa.int64()),
        (pa.array([1]), pa.float64()),
        (pa.array([1], pa.timestamp("us")), UTC),
        (pa.array([1], UTC), pa.timestamp("us")),
        (pa.array([[1]]), pa.list_(pa.string())),
    ],
    ids=str,
)
def test_a_column_of_another_type_is_an_error_that_names_both(
    tmp_path: Path, given: pa.Array, wanted: pa.DataType
) -> None:
    with pytest.raises(BadFile, match=r"f\.parquet: column 'c' of this file is of type .*of type"):
        column_read(tmp_path, given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted", "values"),
    [
        (pa.array([1, None], pa.int32()), pa.int64(), [1, None]),
        (pa.array([1.5], pa.float32()), pa.float64(), [1.5]),
        (pa.array(["a", None]).dictionary_encode(), pa.string(), ["a", None]),
        (pa.array(["a"], pa.large_string()), pa.string(), ["a"]),
        (pa.array([7], pa.uint32()), pa.int64(), [7]),
        (pa.array([None, None]), pa.int64(), [None, None]),
        (pa.array([1_999], pa.timestamp("ns", "UTC")), UTC, [instant(1)]),
        (pa.array([2], pa.timestamp("ms", "Asia/Tokyo")), UTC, [instant(2000)]),
        (pa.array([3], pa.timestamp("ms")), pa.timestamp("us"), [instant(3000).replace(tzinfo=None)]),
        (pa.array([[1]], NEVER_NULL), pa.list_(pa.int64()), [[1]]),
    ],
    ids=str,
)  # fmt: skip
def test_a_type_that_holds_no_more_than_the_streams_is_widened(
    tmp_path: Path, given: pa.Array, wanted: pa.DataType, values: list[Any]
) -> None:
    assert column_read(tmp_path, given, wanted) == values


def test_the_old_timestamps_that_spark_writes_are_instants(tmp_path: Path) -> None:
    far = [dt.datetime(2500, 1, 1, tzinfo=dt.UTC), dt.datetime(1600, 1, 1, tzinfo=dt.UTC)]
    table = pa.table({"ts": pa.array(far, UTC)})
    pq.write_table(table, tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    assert first_schema(str(tmp_path / "f.parquet")).simpleString() == "struct<ts:timestamp>"
    assert read(tmp_path / "f.parquet", table.schema)["ts"].to_pylist() == far


def test_old_timestamps_inside_of_structs_are_refused_by_name(tmp_path: Path) -> None:
    table = pa.table({"s": pa.array([{"at": 1}], pa.struct([("at", UTC)]))})
    pq.write_table(table, tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(Unsupported, match=r"INT96.*f\.parquet; got 's'"):
        first_schema(str(tmp_path / "f.parquet"))


def test_a_type_that_spark_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"h": pa.array([np.float16(1.5)], pa.float16())}), tmp_path / "f.parquet")
    with pytest.raises(Unsupported, match="h: halffloat"):
        first_schema(str(tmp_path / "f.parquet"))


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"f\.parquet: this file was there .* and is gone now"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("damage", [b"not parquet at all", b"", None], ids=["foreign", "empty", "cut"])
def test_a_file_that_is_damaged_is_named(tmp_path: Path, damage: bytes | None) -> None:
    whole = Path(written(tmp_path / "f.parquet")).read_bytes()
    (tmp_path / "f.parquet").write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with pytest.raises(BadFile, match=r"f\.parquet: this file cannot be read as parquet"):
        read(tmp_path / "f.parquet")


def test_a_page_that_is_damaged_is_told_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "f.parquet", use_dictionary=False, compression="zstd"))
    whole = bytearray(path.read_bytes())
    whole[8:60] = bytes(52)
    path.write_bytes(whole)
    with pytest.raises(BadFile, match=r"f\.parquet"):
        read(path)


@pytest.mark.parametrize(
    "name", ["a b.parquet", "100%.parquet", "a%20b+c.parquet", "a?b#c.parquet", "é.parquet"]
)
def test_a_path_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name)
    for form in (path, f"file:{path}", f"file://{path}"):
        assert read(form).num_rows == 3


def test_folders_that_are_partitions_are_columns(tmp_path: Path) -> None:
    folder = tmp_path / "day=2026-01-05" / "venue=a%3Db" / "desk=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir(parents=True)
    columns = {"day": pa.date32(), "venue": pa.string(), "desk": pa.int32()}
    rows = read(written(folder / "f.parquet"), pa.schema([*SCHEMA, *columns.items()])).to_pylist()
    assert rows[2] == {
        "ts": instant(3), "k": "b", "x": 6,
        "day": dt.date(2026, 1, 5), "venue": "a=b", "desk": None,
    }  # fmt: skip


def test_a_partition_that_is_not_of_the_columns_type_is_told_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "day=monday").mkdir()
    path = written(tmp_path / "day=monday" / "f.parquet")
    with pytest.raises(BadFile, match=r"day=monday/f\.parquet.*monday"):
        read(path, pa.schema([*SCHEMA, ("day", pa.date32())]))


def test_the_name_of_a_file_is_no_partition() -> None:
    assert partition_values("/data/day=1/x=2.parquet") == {"day": "1"}


@pytest.mark.parametrize("path", ["wibble://host/a.parquet", "dbfs:/a.parquet"])
def test_a_file_system_that_pyarrow_does_not_know_is_refused(path: str) -> None:
    with pytest.raises(
        Unsupported, match=r"path must be on a file system that pyarrow can open.*spark\.readStream"
    ):
        open_file(path)


def test_a_path_on_a_store_of_objects_keeps_its_bucket_and_its_key() -> None:
    file_system, inside = located("gs://anonymous@trades/2026 01/a%20b.parquet")
    assert file_system.type_name == "gcs"
    assert inside == "trades/2026 01/a%20b.parquet"
