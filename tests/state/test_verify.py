"""`sash state --verify`: every store is read and checked, and what is wrong with one is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import redis
from pyarrow import fs
from typer.testing import CliRunner, Result

from sash.aggregation.stores.files import Files
from sash.aggregation.stores.lmdb import LMDB
from sash.cli.main import app
from sash.operators.engine.saving.journal_entries import cut
from sash.runtimes.spark.epochs.operator_in_store import CHUNK, chunk_key
from sash.runtimes.spark.files import open_files
from tests.state import golden

STORES = {"elastic-lmdb": LMDB, "elastic-files": Files}


def verified(place: str | Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["state", str(place), "--verify", *options])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    golden.unpack(golden.versions()[-1], [*STORES, "elastic-redis", golden.REDIS], tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", STORES)
def test_a_store_in_a_checkpoint_is_whole(home: Path, name: str) -> None:
    answer = verified(home / name / "checkpoint")
    assert answer.exit_code == 0, answer.output
    assert "nothing is wrong with" in answer.output


@pytest.mark.redis
def test_the_queries_of_a_redis_server_are_shown_and_whole(home: Path) -> None:
    with golden.served(home) as url:
        answer = verified(url, "--json")
        shown = CliRunner().invoke(app, ["state", url])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.output)["chunks"] > 0
    assert "session(2 seconds)" in shown.output
    assert "in Redis" in shown.output


@pytest.mark.parametrize("name", STORES)
def test_chunks_that_no_header_names_and_chunks_that_are_gone_are_counted(home: Path, name: str) -> None:
    checkpoint, opened = home / name / "checkpoint", STORES[name]
    for bucket in range(4):
        with opened(checkpoint / "sash", namespace=f"bucket-{bucket}") as store:
            chunks = list(store.keys(prefix=CHUNK))
            if chunks:
                store.fence()
                store.put_many({chunk_key(9_999): cut(b"left", first=9_999)[9_999]})
                store.delete_many(chunks[:1])
                store.commit(store.epoch + 1)
                break
    answer = verified(checkpoint)
    assert answer.exit_code == 1
    assert f"bucket {bucket} lacks 1 of its chunks" in answer.output
    assert f"bucket {bucket} has 1 orphaned chunk" in answer.output


def test_a_damaged_value_is_one_sentence(home: Path) -> None:
    checkpoint = home / "elastic-files" / "checkpoint"
    file = max((checkpoint / "sash").rglob("*.data"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    answer = verified(checkpoint)
    assert answer.exit_code == 2
    assert "is damaged" in answer.output


@pytest.mark.parametrize("number", range(4))
def test_a_bucket_that_is_gone_is_named(home: Path, number: int) -> None:
    checkpoint = home / "elastic-files" / "checkpoint"
    shutil.rmtree(checkpoint / "sash" / f"bucket-{number}")
    answer = verified(checkpoint)
    assert answer.exit_code == 1
    assert f"in files: bucket {number} is gone" in answer.output


@pytest.mark.redis
@pytest.mark.parametrize(
    ("name", "line"), [("journal", "the journal is gone"), ("bucket-1", "bucket 1 is gone")]
)
def test_a_namespace_that_a_server_has_evicted_is_named(home: Path, name: str, line: str) -> None:
    with golden.served(home) as url, redis.Redis.from_url(url) as client:
        client.delete(*client.scan_iter(match=f"sash:{{*.{name}}}:*", count=1000))
        answer = verified(url)
    assert answer.exit_code == 1
    assert f"in Redis: {line}" in answer.output


@pytest.mark.parametrize("name", STORES)
def test_a_place_may_be_written_as_spark_writes_it(home: Path, name: str) -> None:
    checkpoint = home / name / "checkpoint"
    by_url = verified(f"file://{checkpoint}", "--json")
    assert by_url.exit_code == 0, by_url.output
    assert by_url.output == verified(checkpoint, "--json").output
    assert json.loads(by_url.output)["chunks"] > 0


def test_a_checkpoint_is_read_where_a_cluster_keeps_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "bucket").mkdir()
    shutil.move(home / "elastic-files", home / "bucket" / "elastic-files")
    remote = fs.SubTreeFileSystem(str(home), fs.LocalFileSystem())
    monkeypatch.setattr(open_files, "_mounted", lambda scheme, authority: (remote, authority))
    place = "s3a://bucket/elastic-files/checkpoint"
    for there in (place, f"{place}/sash/"):
        answer = verified(there, "--json")
        assert answer.exit_code == 0, answer.output
        assert json.loads(answer.output)["chunks"] > 0
    assert f"checkpoint: {place}" in CliRunner().invoke(app, ["state", place]).output
    shutil.rmtree(home / "bucket" / "elastic-files" / "checkpoint" / "sash" / "bucket-2")
    answer = verified(place)
    assert answer.exit_code == 1
    assert "in files: bucket 2 is gone" in answer.output
    assert "is not a folder" in verified("s3a://bucket/nowhere").output


def test_a_place_that_pyarrow_cannot_open_is_refused_with_what_to_do() -> None:
    answer = verified("dbfs:/checkpoints/bars")
    assert answer.exit_code == 2
    assert "dbfs:/checkpoints/bars cannot be opened from here: " in answer.output
    assert "copy the folder to this machine" in answer.output
