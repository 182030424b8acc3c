"""Sessions: ours changes none that exists, and for one that is not ours a warning names what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash
from sash.errors import SashWarning
from sash.runtimes.spark import malloc_arenas
from sash.runtimes.spark.failures import sentence_of
from sash.runtimes.spark.session import SETTINGS, costly_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


@pytest.mark.spark
def test_a_session_that_exists_is_returned_as_it_is(spark: SparkSession) -> None:
    others = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.shuffle.partitions": "7"}
    before = {name: spark.conf.get(name) for name in others}
    try:
        for name, value in others.items():
            spark.conf.set(name, value)
        all_before = dict(spark.conf.getAll)
        assert sash.spark_session() is spark
        assert sash.spark_session(master="local[7]", app="another") is spark
        assert dict(spark.conf.getAll) == all_before
        assert spark.sparkContext.appName != "another"
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


@pytest.mark.spark
def test_a_setting_that_comes_too_late_is_named(spark: SparkSession) -> None:
    partitions = str(spark.conf.get("spark.sql.shuffle.partitions"))
    assert sash.spark_session(spark_sql_shuffle_partitions=partitions) is spark
    with pytest.warns(
        SashWarning, match=r"spark\.sql\.shuffle\.partitions = 2, not 77\. A new session"
    ) as warned:
        sash.spark_session(spark_sql_shuffle_partitions="77")
    assert warned[0].filename == __file__
    assert spark.conf.get("spark.sql.shuffle.partitions") == partitions


@pytest.mark.spark
def test_settings_that_cost_time_are_named_once_for_a_session_that_lacks_them(spark: SparkSession) -> None:
    others = {CHANGELOG: "false", "spark.sql.shuffle.partitions": "200"}
    before = {name: spark.conf.get(name) for name in others}
    try:
        for name, value in others.items():
            spark.conf.set(name, value)
        with pytest.warns(SashWarning) as warned:
            assert sash.spark_session() is spark
        assert len(warned) == 1
        assert f"{CHANGELOG} = false, not true, " in str(warned[0].message)
        assert "spark.sql.shuffle.partitions = 200, not 2." in str(warned[0].message)
        assert "timeZone" not in str(warned[0].message)
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


@pytest.mark.spark
def test_a_start_names_what_makes_micro_batches_slow_once_and_how_to_fix_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sash.runtimes.spark.session._WARNED", set())
    rate = spark.readStream.format("rate").load()
    stream = sash.stream(rate, time="timestamp", idle="1 minute")  # over Spark's state store
    query = stream.window(sash.tumbling("1 minute")).agg(n=sash.count())
    spark.conf.set(CHANGELOG, "false")
    try:
        with pytest.warns(SashWarning) as warned:
            query.start(tmp_path / "a", checkpoint=tmp_path / "checkpoint").stop()
        query.start(tmp_path / "a", checkpoint=tmp_path / "checkpoint").stop()
    finally:
        spark.conf.set(CHANGELOG, "true")
    assert f"{CHANGELOG} is false, fixed by spark.conf.set('{CHANGELOG}', 'true')" in str(warned[0].message)
    assert len(warned) == 1


@pytest.mark.spark
def test_a_setting_that_was_never_set_is_named_by_its_default_or_as_not_set(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`conf.get(name, None)` does not look for defaults."""
    partitions, unknown = "spark.sql.shuffle.partitions", "spark.sash.unknown"
    before = str(spark.conf.get(partitions))
    monkeypatch.setitem(SETTINGS, unknown, "true")
    monkeypatch.setattr("sash.runtimes.spark.session.FASTER", (unknown,))
    spark.conf.unset(partitions)
    try:
        found = dict(costly_settings(spark))
        with pytest.warns(SashWarning, match=rf"{unknown} is not set, not true, {partitions} = 200, not 2"):
            sash.spark_session()
    finally:
        spark.conf.set(partitions, before)
    assert found[f"{unknown} is not set"] == f"spark.conf.set('{unknown}', 'true')"
    assert found[f"{partitions} is 200"] == f"spark.conf.set('{partitions}', '2')"


@pytest.mark.spark
def test_a_thread_without_an_active_session_gets_the_one_of_the_process(spark: SparkSession) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(sash.spark_session()))
    thread.start()
    thread.join()
    assert found[0].sparkContext is spark.sparkContext
    assert found[0].conf.get("spark.sql.shuffle.partitions") == "2"


WITHOUT_PYTHON = """
import os, sys
os.environ.pop("PYSPARK_PYTHON", None)
os.environ["PATH"] = sys.argv[1] + os.pathsep + os.environ["PATH"]
from pyspark.sql import SparkSession
import sash
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
df = spark.range(3).selectExpr("timestamp_seconds(id) AS ts")
try:
    sash.stream(df, time="ts").window(sash.tumbling("1 second")).agg(n=sash.count()).collect()
except sash.errors.SettingError as refused:
    print(refused)
"""


@pytest.mark.spark
def test_a_plain_session_whose_workers_have_no_sash_is_one_sentence(tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("bin")
    python = folder / "python3"
    python.write_text("#!/bin/sh\necho \"No module named 'sash'\" >&2\nexit 1\n")
    python.chmod(0o755)
    command = [sys.executable, "-c", WITHOUT_PYTHON, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("PYSPARK_PYTHON must be a Python that has sash, such as ")
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in run.stdout


def test_workers_elsewhere_without_sash_are_one_sentence_too() -> None:
    error = RuntimeError(
        "Job aborted …\nTraceback (most recent call last):\n  File …\n"
        "ModuleNotFoundError: No module named 'sash'\n"
    )
    assert sentence_of(error).startswith("the Python that Spark starts its workers with does not have sash")


@pytest.mark.spark
def test_the_jvm_of_a_session_has_few_arenas_and_this_process_is_as_it_was(spark: SparkSession) -> None:
    given = os.environ.get(malloc_arenas.VARIABLE)
    in_jvm = spark.sparkContext._jvm.java.lang.System.getenv(malloc_arenas.VARIABLE)
    assert in_jvm == (given or str(malloc_arenas.ARENAS))


@pytest.mark.parametrize("given", [None, "7"])
def test_few_arenas_are_for_what_starts_meanwhile_and_not_where_a_number_is_given(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(malloc_arenas.VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(malloc_arenas.VARIABLE, given)
    with malloc_arenas.few_arenas():
        assert os.environ[malloc_arenas.VARIABLE] == (given or str(malloc_arenas.ARENAS))
    assert os.environ.get(malloc_arenas.VARIABLE) == given


def test_the_settings_that_matter_name_a_state_store_that_works() -> None:
    from sash.runtimes.spark.session_requirements import PROVIDER, ROCKSDB

    assert SETTINGS[PROVIDER] == ROCKSDB
