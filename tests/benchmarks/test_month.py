"""A month in an hour: what arrives, what counts as grown, and in a long test a week of it on Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.month import measuring, run
from benchmarks.month.events import BEGIN, DAY, DISORDER, FLOOD, HOUR, SILENT, Month
from benchmarks.month.flatness import compared, has_grown

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MONTH = Month(keys=3_000, days=6)


def rows(hour: int) -> pa.Table:
    return pa.concat_tables(MONTH.tables(hour))


def test_an_hour_is_the_same_whenever_it_is_made() -> None:
    assert rows(30) == rows(30)


def test_every_key_comes_once_and_lives_for_a_day() -> None:
    seen: dict[int, list[int]] = {}
    for hour in range(MONTH.hours):
        for table in MONTH.tables(hour):
            for key in set(table["key"].to_pylist()):
                seen.setdefault(key, []).append(hour)
    assert sorted(seen) == list(range(MONTH.keys))
    assert max(max(hours) - min(hours) for hours in seen.values()) == DAY - 1


def test_nothing_arrives_in_silent_hours_and_old_events_only_in_floods() -> None:
    assert not [table for hour in SILENT for table in MONTH.tables(2 * DAY + hour)]
    for of_day in (FLOOD, FLOOD + 1):
        hour = 2 * DAY + of_day
        behind = (BEGIN + hour * HOUR) - rows(hour)["at"].cast(pa.int64()).to_numpy()
        assert (np.max(behind) > DISORDER) is np.bool_(of_day == FLOOD)


def test_partitions_come_and_go() -> None:
    assert {len(list(MONTH.tables(hour))) for hour in range(DAY, 2 * DAY)} == {0, 1, 2, 3, 4}


def test_what_grows_after_the_first_day_is_found() -> None:
    measured = [
        {"hour": hour, "flat MB": 100.0 + hour % DAY, "leak MB": 100.0 + hour} for hour in range(30 * DAY)
    ]
    medians = compared(measured)
    assert not has_grown("flat MB", *medians["flat MB"])
    assert has_grown("leak MB", *medians["leak MB"])


def test_a_process_that_has_ended_is_measured_as_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert measuring.processes(ended.pid)["driver python MB"] == 0.0


@pytest.mark.spark
def test_what_the_jvm_has_beside_its_heap_is_measured_by_kind(spark: SparkSession) -> None:
    found = measuring.outside_of_the_heap(spark)
    assert set(found) == set(measuring.OUTSIDE)
    megabytes = {"JVM metaspace MB": 30, "JVM code cache MB": 5, measuring.ALLOCATOR: 5}
    for kind, least in {**megabytes, "JVM threads": 10, "py4j objects": 1}.items():
        assert least < found[kind] < 10 * 1_000
    assert 5_000 < found["JVM classes"] < 100_000


def test_the_jvm_is_judged_without_the_heap_that_would_hide_what_grows() -> None:
    """1 GiB of it is touched at the start: what is beside it may double within the limit of the whole."""
    measured = [
        {"hour": hour, "driver JVM MB": 1_524.0 + hour / 3, "JVM metaspace MB": hour}
        for hour in range(30 * DAY)
    ]
    grown = {name for name, medians in compared(measured).items() if has_grown(name, *medians)}
    assert grown == {"JVM beside its heap MB"}


def test_processors_are_judged_by_row_because_steps_differ_in_rows() -> None:
    measured = [{"hour": hour, "rows": 100 * hour, "CPU seconds": 0.01 * hour} for hour in range(30 * DAY)]
    assert not any(has_grown(name, *medians) for name, medians in compared(measured).items())
    for each in measured[10 * DAY :]:
        each["CPU seconds"] *= 2
    grown = {name for name, medians in compared(measured).items() if has_grown(name, *medians)}
    assert grown == {"CPU µs per row"}


def test_a_month_goes_on_only_with_the_sizes_that_it_was_begun_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_life", lambda *given, **options: False)
    for hours, code in (("3", 1), ("3", 1), ("4", f"{tmp_path} has a month of 9 keys, 2 days, 3 hours")):
        monkeypatch.setattr(
            sys, "argv", ["run", str(tmp_path), "--keys", "9", "--days", "2", "--hours", hours]
        )
        if isinstance(code, int):
            assert run.main() == code
        else:
            with pytest.raises(SystemExit, match=code):
                run.main()


@pytest.mark.soak
@pytest.mark.spark
def test_nothing_grows_in_two_weeks_with_restarts_and_kills(tmp_path: Path) -> None:
    arguments = ["--keys", "40000", "--days", "14", "--hours", "3", "--minutes", "40"]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.month.run", tmp_path, *arguments],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
