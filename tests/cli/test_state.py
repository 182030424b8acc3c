"""`sash state`: real checkpoints and stores, looked into without their queries."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import pytest
from typer.testing import CliRunner, Result

import sash
from sash.cli.main import app
from sash.runtimes.spark.state.fingerprint import fingerprint
from tests.runtimes.micro_batches import Ran, stream_batches
from tests.runtimes.test_spark_streaming import DELAY, cut, trades

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = trades(120)
NEWEST = max(row["ts"] for row in ROWS)
WATERMARK = (NEWEST - DELAY).replace(microsecond=(NEWEST - DELAY).microsecond // 1000 * 1000)


def volumes(data: Any) -> Any:
    return (
        sash.stream(data, time="ts", key="symbol", delay=DELAY)
        .window(sash.sliding("1 minute", every="20 seconds"))
        .agg(n=sash.count(), high=sash.max("price"))
    )


def run_state(place: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["state", str(place), *options])


def data(place: Path) -> dict[str, Any]:
    answer = run_state(place, "--json")
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@pytest.fixture(scope="module")
def chained(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with two stateful steps: panes, and over their reports events."""
    place = tmp_path_factory.mktemp("chained") / "checkpoint"
    first = volumes(stream_batches(spark, cut(ROWS, 1))).dataframe()
    minutes = first.selectExpr("symbol", "window.end AS ts", "n")
    last = sash.stream(minutes, time="ts", key="symbol").window(sash.rows(50)).agg(most=sash.max("n"))
    Ran(last.dataframe(), checkpoint=str(place))
    return place


@pytest.fixture(scope="module")
def stages(chained: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last step of it, which holds events, and the first, which holds panes."""
    events, panes = data(chained)["stages"]
    return events, panes


@pytest.fixture(scope="module")
def elastic(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("elastic") / "checkpoint"
    running = volumes(stream_batches(spark, cut(ROWS, 1))).start(
        lambda reports, batch: None, checkpoint=place, elastic=sash.Elastic(max=2, buckets=3),
        trigger="available now",
    )  # fmt: skip
    running.awaitTermination()
    assert repr(running).startswith("<sash elastic query: batch ")
    return place


def test_the_stateful_steps_of_a_checkpoint_are_told_with_keys_chunks_and_watermark(
    stages: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    for stage in stages:
        assert {bucket["inventory"]["holds"] for bucket in stage["buckets"]} == {"rows of the journal"}
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for stage in stages:
        assert stage["keys"] == len({row["symbol"] for row in ROWS})
        assert epoch + dt.timedelta(microseconds=stage["watermark"]) == WATERMARK
        assert stage["chunks"] == sum(bucket["inventory"]["chunks"] for bucket in stage["buckets"]) > 0
        assert stage["bytes"] == sum(bucket["inventory"]["bytes"] for bucket in stage["buckets"]) > 0
        assert stage["fingerprint"] == fingerprint(stage["description"]).hex()


def test_oracle_what_is_held_are_the_reports_that_the_first_step_has_made(
    stages: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    rows = [bucket["inventory"]["rows"] for bucket in stages[0]["buckets"]]
    assert sum(rows) == volumes_by_hand()


def volumes_by_hand() -> int:
    """How many windows the watermark has closed, of all keys: none of fifty is full yet."""
    closed = set()
    for row in ROWS:
        second = int(row["ts"].timestamp())
        for start in range(second // 20 * 20 - 40, second // 20 * 20 + 1, 20):
            if start + 60 <= WATERMARK.timestamp():
                closed.add((row["symbol"], start))
    return len(closed)


def test_a_checkpoint_in_sparks_state_store_is_shown_and_verified_and_the_session_goes_on(
    spark: SparkSession, chained: Path
) -> None:
    answer = run_state(chained)
    assert answer.exit_code == 0, answer.output
    for words in (
        "batch: ",
        "in Spark's state store, operator 0: ",
        "rows of the journal: input of earlier batches",
        "windows    sliding(1 minute, every=20 seconds)",
        "by key     symbol",
        "over       ts in event-time order, delay 30 seconds",
        "computes   n = count(), high = max(price)",
        f"watermark  {WATERMARK:%Y-%m-%d %H:%M:%S}",
        "3 keys",
    ):
        assert words in answer.output, words
    answer = run_state(chained, "--verify")
    assert answer.exit_code == 0, answer.output
    assert re.search(r"nothing is wrong with \d+ chunks, \d+ buckets", answer.output)
    assert spark.range(3).count() == 3


def test_an_elastic_query_is_told_from_its_own_store(elastic: Path) -> None:
    found = data(elastic)
    (stage,) = found["stages"]
    assert stage["where"] == "in LMDB"
    assert stage["keys"] == 3
    assert {bucket["partition"] for bucket in stage["buckets"]} == {None}
    assert "elastic buckets" in stage["description"]
    words = run_state(elastic).output
    assert re.search(r"in LMDB: (\d of )?3 buckets, 3 keys", words)
    assert "partition" not in words
    below = data(elastic / "sash")
    assert below["stages"] == [stage]
    assert below["batch"] == found["batch"]


def test_any_store_of_sash_is_told_by_namespace(tmp_path: Path) -> None:
    with sash.stores.LMDB(tmp_path, namespace="prices") as store:
        store.put_many({b"a": b"123", b"b": b"45"})
        store.commit(0)
        store.delete_many([b"a"])
        store.commit(1)
    (prices,) = data(tmp_path)["namespaces"]
    assert (prices["name"], prices["keys"], prices["committed"]["epoch"]) == ("prices", 1, 1)
    assert "prices" in run_state(tmp_path).output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.mdb", "lock.mdb"]


@pytest.fixture
def copied(elastic: Path, tmp_path: Path) -> Path:
    shutil.copytree(elastic, tmp_path / "copy")
    return tmp_path / "copy"


def damaged_value(copied: Path) -> Path:
    with lmdb.open(str(copied / "sash"), max_dbs=4) as environment:
        live = environment.open_db(b"live")
        with environment.begin(write=True) as transaction:
            full = next(bytes(key) for key, _ in transaction.cursor(db=live) if b"token" in bytes(key))
            transaction.put(full, b"not a sealed value, but long enough", db=live)
    return copied


def damaged_file(copied: Path) -> Path:
    (copied / "sash" / "data.mdb").write_bytes(b"not a database" * 1000)
    return copied


def no_metadata(copied: Path) -> Path:
    (copied / "metadata").write_text("{")
    return copied


def stateless(copied: Path) -> Path:
    shutil.rmtree(copied / "sash")
    return copied


def foreign_store(copied: Path) -> Path:
    shutil.rmtree(copied)
    with lmdb.open(str(copied)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"key", b"of another program")
    return copied


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (damaged_value, "was not written by Sash"),
        (damaged_file, "cannot be opened"),
        (no_metadata, "cannot be read"),
        (stateless, "has no state: its query keeps none, or in a Redis server"),
        (foreign_store, "is not one of Sash's"),
        (lambda copied: copied / "nowhere", "is not a folder"),
        (lambda copied: copied.parent, "is neither a checkpoint of a streaming query"),
    ],
    ids=["value", "file", "metadata", "stateless", "foreign", "absent", "other"],
)
def test_what_cannot_be_read_is_one_sentence_and_exit_code_two(
    copied: Path, harm: Any, sentence: str
) -> None:
    answer = run_state(harm(copied))
    assert answer.exit_code == 2
    assert answer.output.startswith("error: ")
    assert sentence in answer.output
    assert "Traceback" not in answer.output


def test_state_that_spark_cannot_read_is_one_sentence_and_exit_code_two(
    chained: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(chained, copy)
    for file in _versions(copy / "state" / "0"):
        file.unlink()
    answer = run_state(copy)
    assert answer.exit_code == 2
    assert answer.output.startswith("error: Spark cannot read the state in ")


def _versions(state: Path) -> Iterator[Path]:
    """The files of all partitions of an operator."""
    return (file for file in state.rglob("*") if file.suffix in (".zip", ".changelog"))


def test_state_of_another_query_of_spark_is_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    words = stream_batches(spark, cut(ROWS, 1)).withWatermark("ts", "1 minute").dropDuplicates(["symbol"])
    Ran(words, checkpoint=str(tmp_path / "foreign"))
    answer = run_state(tmp_path / "foreign")
    assert answer.exit_code == 2
    assert "is not of a query of Sash: it is that of dedupe" in answer.output
