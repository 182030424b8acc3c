"""The register of queries changes with the first batch of a start, as a whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sash
from sash.errors import ArgumentError, CorruptValue, DifferentQuery
from sash.runtimes.spark.state.queries_of_checkpoint import Register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def delivered(emitted: Any, batch: int) -> None:
    """A batch that is well."""


def failing(emitted: Any, batch: int) -> None:
    raise RuntimeError("the batch fails")


def run(register: Register, deliver: Any = delivered) -> dict[str, str]:
    register.around(deliver)(None, 0)  # type: ignore[arg-type]
    return register.states


def files(checkpoint: Path) -> list[Path]:
    return sorted((checkpoint / "sash").glob("queries.*"))


def cut_short(file: Path) -> None:
    """Its checksum stays: Hadoop notices that on this machine, the seal elsewhere."""
    file.write_bytes(file.read_bytes()[:10])


def test_a_query_keeps_its_state_until_a_batch_is_done_without_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path)
    first = run(Register(spark, place, ["a", "b"]))
    Register(spark, place, ["a"])
    with pytest.raises(RuntimeError):
        run(Register(spark, place, ["a", "c"]), failing)
    assert run(Register(spark, place, ["a", "b"])) == first
    run(Register(spark, place, ["a"]))
    back = run(Register(spark, place, ["a", "b"]))
    assert back["a"] == first["a"]
    assert back["b"] != first["b"]
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize(
    ("before", "now", "maker"), [([""], ["a"], "alone"), (["a", "b"], [""], "together")]
)
def test_a_query_alone_and_several_together_do_not_take_each_others_checkpoint(
    spark: SparkSession, tmp_path: Path, before: list[str], now: list[str], maker: str
) -> None:
    run(Register(spark, str(tmp_path), before))
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1")
    (tmp_path / "state" / "0").mkdir(parents=True)
    with pytest.raises(DifferentQuery, match=maker):
        Register(spark, str(tmp_path), now).require_same({name: {} for name in now})


def test_a_state_is_registered_before_a_batch_writes_it(spark: SparkSession, tmp_path: Path) -> None:
    register = Register(spark, str(tmp_path), ["a"])
    with pytest.raises(RuntimeError):
        run(register, failing)
    assert Register(spark, str(tmp_path), ["a"]).states == register.states


def test_a_register_that_was_cut_short_is_none(spark: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path)
    run(Register(spark, place, ["a"]))
    (only,) = files(tmp_path)
    kept = only.read_bytes()
    first = run(Register(spark, place, ["a", "b"]))
    (newest,) = files(tmp_path)
    cut_short(newest)
    only.write_bytes(kept)  # the crash was before it went
    after = run(Register(spark, place, ["a", "b"]))
    assert after["a"] == first["a"]
    assert len(files(tmp_path)) == 1


def test_a_damaged_register_is_refused_where_it_names_state(spark: SparkSession, tmp_path: Path) -> None:
    run(Register(spark, str(tmp_path), ["a"]))
    cut_short(*files(tmp_path))
    Register(spark, str(tmp_path), ["a"])
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1")
    with pytest.raises(CorruptValue):
        Register(spark, str(tmp_path), ["a"])


@pytest.mark.parametrize("wrong", [{"late": {"one": 7}}, {"trigger": "hourly"}])
def test_a_start_that_is_refused_changes_no_register(
    spark: SparkSession, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    rate = spark.readStream.format("rate").load()
    windows = sash.stream(rate, time="timestamp").window(sash.tumbling("1 minute"))
    one = sash.together(one=windows.agg(n=sash.count()))
    with pytest.raises(ArgumentError):
        one.start({"one": tmp_path / "out"}, checkpoint=tmp_path / "checkpoint", **wrong)
    assert not (tmp_path / "checkpoint" / "sash").exists()


def test_queries_that_share_a_place_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").load()
    counts = sash.stream(rate, time="timestamp").window(sash.tumbling("1 minute")).agg(n=sash.count())
    both = sash.together(a=counts, b=counts)
    with pytest.raises(ArgumentError, match=r"sinks\['b'\] must have a place of its own: sinks\['a'\]"):
        both.start({"a": tmp_path, "b": tmp_path}, checkpoint=tmp_path / "checkpoint")
