"""Whoever watches a query needs memory for what is shown, not for what the query writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from sash.dashboard import last_rows_of_files, report_folder
from sash.dashboard.last_rows_of_files import last_rows
from sash.dashboard.report_folder import ROWS, ReportFolder
from sash.dashboard.shown_rows import KEY_TEXT, TEXT
from tests.dashboard.test_watching import window, write

MANY = 500_000


@contextmanager
def counted_memory() -> Iterator[pa.MemoryPool]:
    """Arrow's memory of what runs inside, as far as Python asks for it."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(before)


def many_rows() -> pa.Table:
    """A window for each row, and a column that is not shown."""
    numbers = pa.array(range(MANY))
    ends = {"id": numbers, "start": numbers, "end": numbers}
    return pa.table({
        "k": numbers.cast(pa.string()), "window": pa.StructArray.from_arrays([*ends.values()], [*ends]),
        "n": numbers, "other": pa.array(["something that nobody looks at"] * MANY),
    })  # fmt: skip


@pytest.mark.parametrize("row_group", [MANY // 10, MANY], ids=["many row groups", "one row group"])
def test_of_a_large_file_only_the_end_is_read(
    row_group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_folder, "BYTES", 1 << 20)
    monkeypatch.setattr(last_rows_of_files, "AT_ONCE", 1 << 16)
    table = many_rows()
    whole = table.drop_columns("other").nbytes
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=row_group)
    write(tmp_path, "b.parquet", k=["last"], window=[window(MANY)], n=[MANY])
    with counted_memory() as pool:
        out = ReportFolder(tmp_path, keys=("k",), values=("n",), count="n")
        page = out.look()
        assert pool.max_memory() < whole / 2, "the file was read as a whole"
        held = pool.bytes_allocated()
        del out
    assert held < 1 << 18
    assert page is not None
    assert page["seen"] == MANY + 1
    assert ROWS < page["read"] < MANY // 10
    assert [row["id"] for row in page["rows"]] == list(range(MANY - ROWS + 1, MANY + 1))
    assert page["hottest"][:2] == [("last", MANY), (str(MANY - 1), MANY - 1)]


texts = st.one_of(st.none(), st.text(max_size=8), st.lists(st.integers(0, 9), max_size=4).map(str))
INTS, TYPES = st.integers(-(2**63), 2**63 - 1), (pa.int64(), pa.string(), pa.list_(pa.int64()))


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(INTS, texts, st.lists(st.integers(-5, 5), max_size=5)), max_size=60),
    row_group=st.integers(1, 70), at_once=st.integers(1, 400), room=st.integers(0, 2_000),
)  # fmt: skip
def test_oracle_the_last_rows_are_those_of_the_whole_file_as_far_as_there_is_room(
    rows: list[tuple[Any, ...]],
    row_group: int,
    at_once: int,
    room: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    parts = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(part, type) for part, type in zip(parts, TYPES, strict=True)]
    whole = pa.table([*arrays, arrays[0]], ["x", "text", "xs", "other"])
    pq.write_table(whole, path, row_group_size=row_group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_rows_of_files, "AT_ONCE", at_once)
        found = last_rows(path, {"x", "text", "xs", "absent"}, room)
    assert found.rows == len(rows)
    read = found.table.num_rows
    assert (read > 0) == (room > 0 and len(rows) > 0)
    assert found.table.to_pylist() == whole.select(["x", "text", "xs"]).slice(len(rows) - read).to_pylist()
    batches = [batch.nbytes for batch in found.table.to_batches()]
    assert sum(batches) <= room + max(batches, default=0)
    if read < len(rows):
        assert found.room == 0
    assert found.room <= max(room - sum(batches), 0)


WINDOW_TYPE = pa.struct([(name, pa.int64()) for name in ("id", "start", "end")])
KEYS = [f"k{number}" for number in range(30)]
reported = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.integers(0, 50)), max_size=20)


@settings(deadline=None)
@given(looks=st.lists(st.lists(reported, min_size=1, max_size=3), max_size=4), counted=st.booleans())
def test_oracle_keys_are_ranked_as_if_all_of_them_were_in_a_dict(
    looks: list[list[list[tuple[str, int, int]]]],
    counted: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("out")
    (folder / report_folder.MANIFESTS).mkdir()
    out = ReportFolder(folder, keys=("k",), values=("n",), count="n" if counted else None)
    numbers: dict[str, int] = {}
    for batch, files in enumerate(looks):
        for number, rows in enumerate(files):
            columns: dict[str, Any] = {
                "k": pa.array([key for key, _, _ in rows], pa.string()),
                "window": pa.array([window(id) for _, id, _ in rows], WINDOW_TYPE),
                "n": pa.array([n for _, _, n in rows], pa.int64()),
            }
            write(folder, f"batch={batch}/1/{number}.parquet", **columns)
        (folder / report_folder.MANIFESTS / str(batch)).touch()
        for key, _, n in sorted((row for rows in files for row in rows), key=lambda row: row[1]):
            numbers[key] = n if counted else numbers.get(key, 0) + 1
        page = out.look(batch)
        if page is not None:
            hottest = page["hottest"]
            assert [number for _, number in hottest] == sorted(numbers.values(), reverse=True)[:20]
            assert dict(hottest).items() <= numbers.items()


def test_only_so_many_keys_are_remembered_those_with_the_largest_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_folder, "RANKED", 50)
    out = ReportFolder(tmp_path, keys=("k",), values=("n",), count="n")
    names = [f"k{number}" for number in range(500)]
    write(tmp_path, "a.parquet", k=names, window=[window(1)] * 500, n=list(range(500)))
    assert out.look() is not None
    assert out._ranks["number"].to_pylist() == list(range(499, 449, -1))


def test_a_large_value_is_a_short_text(tmp_path: Path) -> None:
    long = list(range(150_000))
    mapped = pa.map_(pa.int64(), pa.list_(pa.int64()))
    values: dict[str, Any] = {
        "list": [long], "text": ["x" * 1_000_000], "bytes": [b"x" * 1_000_000], "struct": [{"all": long}],
        "map": pa.array([[(0, long)]], mapped), "short": [[1, 2]], "absent": pa.array([None], mapped),
    }  # fmt: skip
    out = ReportFolder(tmp_path, keys=("k",), values=tuple(values), count=None)
    write(tmp_path, "a.parquet", k=["k" * 1_000_000], window=[window(1)], **values)
    page = out.look()
    assert page is not None
    (row,) = page["rows"]
    shown = row["values"]
    for name in ("list", "text", "bytes", "struct", "map"):
        assert (len(shown[name]), shown[name][-1]) == (TEXT, "…"), name
    assert shown["list"] == str(long)[: TEXT - 1] + "…"
    assert (shown["short"], shown["absent"]) == ("[1, 2]", None)
    assert row["key"] == "k" * (KEY_TEXT - 1) + "…"
    assert page["hottest"] == [(row["key"], 1)]
