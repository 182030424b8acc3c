"""`sash doctor --clean`: what deleted checkpoints have left on a server, killed processes on a machine."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import sash
from sash.cli.doctor import all_checks, leftovers
from sash.cli.main import app
from sash.errors import StoreError
from sash.operators.arena import ArenaHome
from sash.operators.arena.owned_folders import OWNER, owning
from sash.operators.arena.owners import this_owner
from sash.pipeline.run_pipeline import _checkpoint
from sash.runtimes.spark.epochs.epoch_journal import CHECKPOINT, EpochJournal
from sash.runtimes.spark.inspection import leftovers as on_server
from sash.runtimes.spark.inspection.leftovers import IDLE, remove, served_features, served_queries
from sash.runtimes.spark.state.checkpoint_label import CheckpointLabel
from sash.serving.publisher import Publisher
from sash.stores import Redis
from tests.aggregation.conftest import RedisServer
from tests.runtimes.test_arena_removal import fill

TABLE = pa.table({"t": [1, 2, 3], "k": ["a", "a", "b"], "x": [0.5, 1.5, 2.5]})


def clean(url: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "--clean", url, *options])


def states(url: str, *options: str, what: str = "queries") -> dict[str, str]:
    """What is known of each, by query or by name."""
    answer = clean(url, "--json", *options)
    assert answer.exit_code == 0, answer.output
    name = {"queries": lambda each: each["query"], "features": lambda each: each["namespaces"][0]}[what]
    return {name(each): each["state"] for each in json.loads(answer.output)[what]}


def begun(query: str, checkpoint: Path) -> None:
    """A checkpoint as Spark makes it."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text(json.dumps({"id": query}))


def served(url: str, query: str, checkpoint: Path, **label: Any) -> None:
    """State as an elastic query leaves it, with its checkpoint."""
    begun(query, checkpoint)
    place = json.loads(bytes(CheckpointLabel.here(str(checkpoint))))
    batch(url, query, 0, json.dumps(place | label).encode())


def batch(url: str, query: str, number: int, label: bytes) -> None:
    """A micro-batch of a query, from new handles."""
    for namespace in ("journal", "bucket-0", "bucket-1"):
        with Redis(url, namespace=f"{query}.{namespace}") as store:
            store.fence()
            store.put_many({CHECKPOINT: label})
            store.commit(number)


def aged(server: RedisServer, seconds: float = 2 * IDLE) -> set[bytes]:
    """As if nobody had used anything for so long; all keys."""
    client = server.client()
    keys = set(client.keys())
    for key in keys:
        client.restore(key, 0, cast(bytes, client.dump(key)), replace=True, idletime=int(seconds))
    return keys


def of(keys: set[bytes], *queries: str, first: str = "sash:{") -> set[bytes]:
    return {key for key in keys if key.startswith(tuple(f"{first}{query}".encode() for query in queries))}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


# State of deleted checkpoints on a Redis server


@pytest.mark.redis
def test_state_whose_checkpoint_was_deleted_is_shown_and_deleted_only_if_asked(
    server: RedisServer, tmp_path: Path
) -> None:
    url, client = server.url, server.client()
    for name in ("kept", "gone", "again"):
        served(url, f"query-{name}", tmp_path / name)
    served(url, "query-elsewhere", tmp_path / "elsewhere", host="another-host")
    for name in ("gone", "elsewhere"):
        shutil.rmtree(tmp_path / name)
    (tmp_path / "again" / "metadata").write_text(json.dumps({"id": "another query"}))
    with Redis(url, namespace="of-my-own") as store:
        store.commit(0)
    client.set("something else", 1)
    before = aged(server)

    shown = clean(url)
    assert shown.exit_code == 0, shown.output
    assert "would delete the state of 2 of 4 queries: add --delete to do so" in shown.output
    assert set(client.keys()) == before

    done = clean(url, "--delete")
    assert "deleted the state of 2 of 4 queries" in done.output
    assert set(client.keys()) == before - of(before, "query-gone.", "query-again.")
    assert states(url, "--delete") == {"query-elsewhere": "unknown", "query-kept": "in use"}


@pytest.mark.redis
def test_state_is_kept_while_the_disk_of_its_checkpoint_may_be_away(
    server: RedisServer, tmp_path: Path
) -> None:
    """Unmounted, it leaves an empty folder, or none."""
    for name in ("empty", "absent", "itself", "cleared", "beside"):
        served(server.url, f"query-{name}", tmp_path / name / "checkpoint")
    for name in ("empty", "itself", "cleared"):
        shutil.rmtree(tmp_path / name / "checkpoint")
    shutil.rmtree(tmp_path / "absent")
    (tmp_path / "itself" / "checkpoint").mkdir()
    (tmp_path / "cleared" / "checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "beside" / "output").mkdir()
    shutil.rmtree(tmp_path / "beside" / "checkpoint")
    before = aged(server)
    assert states(server.url, "--delete") == {
        "query-empty": "unknown", "query-absent": "unknown", "query-itself": "unknown",
        "query-cleared": "deleted", "query-beside": "deleted",
    }  # fmt: skip
    gone = of(before, "query-cleared.", "query-beside.")
    assert gone
    assert set(server.client().keys()) == before - gone


@pytest.mark.redis
def test_what_a_query_has_left_that_died_in_its_first_batch_is_found(
    server: RedisServer, tmp_path: Path
) -> None:
    for name in ("gone", "kept"):
        checkpoint = tmp_path / name
        begun(f"query-{name}", checkpoint)
        label = bytes(CheckpointLabel.here(str(checkpoint)))
        with Redis(server.url, namespace=f"query-{name}.journal") as journal:
            EpochJournal(journal, {"kind": "a query"}, epoch=0, checkpoint=label)
        with Redis(server.url, namespace=f"query-{name}.bucket-0") as store:
            store.put_many({b"token": b"state"})
            store.commit(0)
        with Redis(server.url, namespace=f"query-{name}.bucket-1") as store:
            store.put_many({b"}:token": b"on its way"})
            store._stage(b"0123", store._delta)
    with Redis(server.url, namespace="query-nameless.bucket-3") as store:
        store.fence()
    shutil.rmtree(tmp_path / "gone")
    before = aged(server)
    expected = {"query-gone": "deleted", "query-kept": "in use", "query-nameless": "unknown"}
    assert states(server.url, "--delete") == expected
    kept = before - of(before, "query-gone.")
    assert len(kept) < len(before)
    assert set(server.client().keys()) == kept


@pytest.mark.redis
@pytest.mark.parametrize("moved", [True, False], ids=["moved", "in another container"])
def test_a_query_that_runs_is_not_deleted_where_nothing_is_at_the_path_of_its_checkpoint(
    server: RedisServer, tmp_path: Path, moved: bool
) -> None:
    url, checkpoint = server.url, tmp_path / "checkpoint"
    (tmp_path / "beside").mkdir()
    served(url, "query", checkpoint)
    label = bytes(CheckpointLabel.here(str(checkpoint)))
    checkpoint.rename(tmp_path / "new disk") if moved else shutil.rmtree(checkpoint)
    aged(server)
    batch(url, "query", 1, label)
    before = set(server.client().keys())
    assert states(url, "--delete") == {"query": "unknown"}
    assert "but it was used 0 seconds ago, less than 3600" in clean(url).output
    assert set(server.client().keys()) == before
    aged(server, IDLE - 60)
    assert states(url) == {"query": "unknown"}
    # Whoever looks does not count as one who uses it.
    aged(server, IDLE + 60)
    assert states(url) == states(url) == {"query": "deleted"}
    assert states(url, "--idle", "1e6") == {"query": "unknown"}
    assert states(url, "--delete") == {"query": "deleted"}
    assert not server.client().keys()


@pytest.mark.redis
@pytest.mark.parametrize("least", [IDLE, 0.0])
def test_a_query_that_begins_again_between_two_looks_is_not_deleted(
    server: RedisServer, tmp_path: Path, least: float
) -> None:
    for name in ("one", "two"):
        served(server.url, name, tmp_path / name)
        shutil.rmtree(tmp_path / name)
    (tmp_path / "beside").mkdir()
    before = aged(server)
    found = list(served_queries(server.url, least=least))
    assert [each.state for each in found] == ["deleted", "deleted"]
    batch(server.url, "one", 1, b"{}" if least else bytes(CheckpointLabel.here(str(tmp_path / "one"))))
    removed = remove(server.url, found, least=least)
    assert [(each.query, keys) for each, keys in removed.items()] == [("two", len(of(before, "two.")))]
    assert of(set(server.client().keys()), "one.")


@pytest.mark.redis
def test_another_folder_at_the_same_path_shows_nothing_of_a_checkpoint(
    server: RedisServer, tmp_path: Path
) -> None:
    """Of a container that has the same host name, or before a disk was mounted there."""
    number = tmp_path.stat().st_ino
    for name, parent in (("here", number), ("there", number + 1), ("old", 0), ("there-again", number + 1)):
        served(server.url, name, tmp_path / name, parent=parent)
        shutil.rmtree(tmp_path / name)
    begun("another query", tmp_path / "there-again")
    aged(server)
    expected = {"here": "deleted", "old": "deleted", "there": "unknown", "there-again": "unknown"}
    assert states(server.url) == expected


@pytest.mark.redis
def test_a_server_that_does_not_tell_what_is_idle_has_nothing_deleted_unless_it_is_not_asked(
    server: RedisServer, tmp_path: Path
) -> None:
    served(server.url, "query", tmp_path / "checkpoint")
    (tmp_path / "checkpoint").rename(tmp_path / "elsewhere")
    server.client().config_set("maxmemory-policy", "allkeys-lfu")
    assert states(server.url, "--delete") == {"query": "unknown"}
    assert "the server does not tell when it was used last" in clean(server.url).output
    assert states(server.url, "--delete", "--idle", "0") == {"query": "deleted"}
    assert not server.client().keys()


@pytest.mark.redis
def test_what_is_damaged_or_newer_is_not_in_the_way_of_others(server: RedisServer, tmp_path: Path) -> None:
    url, client = server.url, server.client()
    for name in ("a-newer", "b-damaged", "c-labelled", "d-number", "e-gone", "f-kept"):
        served(url, name, tmp_path / name)
    client.set("sash:{a-newer.journal}:layout", 7)
    client.set("sash:{b-damaged.journal}:live:checkpoint", b"SASH and more than a header holds")
    client.delete("sash:{c-labelled.journal}:live:checkpoint")
    client.set("sash:{c-labelled.journal}:label", b"x")
    client.delete("sash:{d-number.journal}:live:checkpoint")
    client.set("sash:{d-number.journal}:label", b'{"checkpoint": 5}')
    client.set(b"sash:{\xff\xfe.journal}:epoch", 1)
    client.set("sash:{not a namespace.journal}:epoch", 1)
    shutil.rmtree(tmp_path / "e-gone")
    before = aged(server)
    shown = clean(url)
    assert "would delete the state of 1 of 7 queries" in shown.output
    for words in (
        "has layout 7", "b'checkpoint' has layout version", "label of a checkpoint cannot be read",
        "letters, digits",
    ):  # fmt: skip
        assert words in shown.output, words
    listed = CliRunner().invoke(app, ["state", url])
    assert listed.exit_code == 1
    assert "query a-newer cannot be read: the Redis store 'a-newer.journal' has layout 7" in listed.output
    assert f"checkpoint: {tmp_path / 'f-kept'}" in listed.output
    verified = CliRunner().invoke(app, ["state", url, "--verify"])
    assert verified.exit_code == 1
    assert "query b-damaged cannot be read" in verified.output
    aged(server)
    assert states(url, "--delete")["e-gone"] == "deleted"
    assert set(client.keys()) == before - of(before, "e-gone.")


@pytest.mark.redis
def test_a_query_that_commits_while_it_is_looked_at_is_looked_at_again(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(server.url, "query", tmp_path / "checkpoint")
    label, looks = bytes(CheckpointLabel.here(str(tmp_path / "checkpoint"))), list[int]()

    class Watched(Redis):
        def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
            looks.append(self.epoch)
            if len(looks) <= 3:
                batch(server.url, "query", self.epoch + 1, label)
            return super().get_many(keys)

    monkeypatch.setattr(on_server, "Redis", Watched)
    (found,) = served_queries(server.url)
    assert (found.state, looks) == ("in use", [0, 1, 2, 3])


# Published features of deleted checkpoints


def publisher_of(url: str, name: str) -> Publisher:
    query = sash.stream(TABLE, time="t", key="k").rolling(2).agg(n=sash.count())
    return Publisher.of(query.bound, f"{url}#{name}")


def publish(url: str, name: str, checkpoint: Path | None) -> Publisher:
    """As a stream does, or one of an earlier version, which named no checkpoint."""
    publisher, label = publisher_of(url, name), b""
    if checkpoint is not None:
        begun(f"query-{name}", checkpoint)
        label = bytes(CheckpointLabel.here(str(checkpoint), query=f"query-{name}"))
    publisher.begin(0, owner=f"query-{name}", label=label)
    publisher.done(0, publisher.publish(TABLE, 0))
    return publisher


@pytest.mark.redis
def test_features_whose_checkpoint_was_deleted_are_shown_and_deleted_only_if_asked(
    server: RedisServer, tmp_path: Path
) -> None:
    url, client = server.url, server.client()
    for name in ("kept", "gone", "gone*", "read"):
        publish(url, name, tmp_path / name.replace("*", "-too"))
    publish(url, "gone-not", tmp_path / "kept-too")
    publish(url, "old", None)
    for name in ("gone", "gone-too", "read"):
        shutil.rmtree(tmp_path / name)
    before = aged(server)
    with sash.online(f"{url}#read") as online:
        online.get(["a"], at=3)
    client.set("sash-online:{broken}:query", b"x")
    client.set("sash-online:{broken}:label", b"x")
    client.set(b"sash-online:{\xff}:query", b"x")

    shown = clean(url)
    assert shown.exit_code == 0, shown.output
    assert "the state of 0 of 0 queries and the features of 2 of 7: add --delete" in shown.output
    assert before < set(client.keys())
    assert states(url, "--delete", what="features") == {
        "kept": "in use", "gone": "deleted", "gone*": "deleted", "read": "unknown",
        "gone-not": "in use", "old": "unknown", "broken": "unknown",
    }  # fmt: skip
    gone = of(before, "gone}", "gone*}", first="sash-online:{")
    assert len(gone) > 6
    assert set(client.keys()) & before == before - gone

    with pytest.raises(StoreError, match=r"empty store \(sash doctor --clean"):
        publisher_of(url, "kept").begin(1, owner="another")
    assert publish(url, "gone", tmp_path / "anew").progress().done == 0
    assert states(url, what="features")["gone"] == "in use"


@pytest.mark.redis
def test_features_of_a_checkpoint_that_was_moved_name_its_new_place_with_the_next_batch(
    server: RedisServer, tmp_path: Path
) -> None:
    publisher = publish(server.url, "features", tmp_path / "checkpoint")
    (tmp_path / "checkpoint").rename(tmp_path / "moved")
    (found,) = served_features(server.url)
    assert (found.state, found.query) == ("unknown", "query-features")
    label = CheckpointLabel.here(str(tmp_path / "moved"), query="query-features")
    publisher.begin(1, owner="query-features", label=bytes(label))
    (found,) = served_features(server.url)
    assert (found.state, found.checkpoint) == ("in use", str(tmp_path / "moved"))
    verified = CliRunner().invoke(app, ["state", server.url, "--verify"])
    assert verified.exit_code == 0, verified.output


# What killed processes have left on this machine


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of the test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(leftovers, "MEMORY", folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("SASH_ARENA_DIR", str(folder))
    return folder


def ended() -> str:
    """An owner that runs no more."""
    boot, namespace, pid, start = this_owner().split()
    return f"{boot} {namespace} {pid} {int(start) + 1}"


def test_what_killed_processes_have_left_in_memory_is_found_and_removed(here: Path) -> None:
    boot, _, pid, _ = this_owner().split()
    owners = {
        "sash-1-ended": ended(),
        f"sash-{pid}-runs": this_owner(),
        f"sash-{2**22 + 1}-elsewhere": f"{boot} 1 {2**22 + 1} 1",  # in another container
        f"sash-{2**22 + 1}-young": None,
        f"sash-{2**22 + 1}-old": None,
        f"sash-{pid}-old": None,
    }
    for name in ("run", "calibrate", "demo"):
        owners |= {f"sash-{name}-ended": ended(), f"sash-{name}-runs": this_owner()}
        owners |= {f"sash-{name}-old": None, f"sash-{name}-elsewhere": f"{boot} 1 {2**22 + 1} 1"}
    owners |= {"sash-mine-ended": ended()}  # is no folder of Sash
    for name, owner in owners.items():
        (here / name).mkdir()
        (here / name / "rows").write_bytes(bytes(100_000))
        if owner:
            (here / name / OWNER).write_text(owner)
        if name.endswith("-old"):
            os.utime(here / name, (1, 1))
    for mentioned in leftovers.left_here():
        assert mentioned.fix == "sash doctor --clean --delete"
        assert not mentioned.harms
    assert [each.name for each in all_checks.checkup()].count("leftovers") == 1
    shown = CliRunner().invoke(app, ["doctor", "--clean"])
    named = clean("machine")
    assert named.output == shown.output
    assert shown.exit_code == 0, shown.output
    gone = {"sash-1-ended", f"sash-{2**22 + 1}-old"}
    gone |= {"sash-run-ended", "sash-calibrate-ended", "sash-demo-ended"}
    assert {name for name in owners if name in shown.output} == gone
    CliRunner().invoke(app, ["doctor", "--clean", "--delete"])
    assert not list(leftovers.left_here())
    assert {path.name for path in here.iterdir()} == owners.keys() - gone


def test_a_run_without_a_checkpoint_names_its_process_for_whoever_finds_it_after_a_kill(here: Path) -> None:
    pipeline = cast(Any, SimpleNamespace(run=SimpleNamespace(checkpoint=None)))
    with _checkpoint(pipeline) as checkpoint:
        Path(checkpoint).mkdir()
        (run,) = here.iterdir()
        assert not list(leftovers.left_here())
        (run / OWNER).write_text(ended())
        assert f"sash run           {run}" in clean("machine").output
    assert not list(here.iterdir())


def test_a_folder_that_is_to_stay_has_an_owner_until_all_is_written(here: Path) -> None:
    with owning(here):
        assert (here / OWNER).read_text() == this_owner()
    assert not (here / OWNER).exists()
    with pytest.raises(RuntimeError), owning(here):
        raise RuntimeError("a batch failed")
    assert (here / OWNER).exists()


def test_arenas_are_found_in_every_folder_that_may_have_them(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SASH_ARENA_DIR")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/missing, {tmp_path}/second,{here}")
    homes = (tmp_path / "second", tmp_path / "second" / "blockmgr-1", here)
    folders = set()
    for parent in homes:
        home = ArenaHome(parent / f"sash-arenas-{os.getuid()}")
        home.folder.mkdir(parents=True)
        folders.add(fill(home, f"{parent.name}.00"))
    monkeypatch.setattr("sash.operators.arena.arena_folder.is_gone", lambda owner: True)
    assert {Path(each.path) for each in leftovers._arenas()} == folders
    assert "deleted 3 of 3" in clean("machine", "--delete").output
    assert not any(folder.exists() for folder in folders)
