"""What `sash state --verify` finds in a store of epochs, beside what the next batch does with it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner, Result

from sash.aggregation.stores.epoch_store import Committed, EpochStore
from sash.cli.main import app
from sash.errors import StoreError
from sash.operators.look_back_regimes import Regime
from sash.runtimes.spark.epochs.epoch_journal import BUCKETS, NEWEST, QUERIES, QUERY, SHARED, SharedKeysKept
from sash.runtimes.spark.epochs.store_of_state import JOURNAL, StateLocation
from sash.runtimes.spark.inspection.elastic_state import (
    OpenedStores,
    stages_in,
    stages_of,
    stages_on,
    store_of,
)
from sash.runtimes.spark.inspection.leftovers import served_queries
from sash.runtimes.spark.inspection.resumable import obstacles
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT, canonical
from sash.runtimes.spark.together.stage import numbers_of
from sash.semantics.reference import Arrival
from sash.stores import Files
from tests.aggregation.conftest import RedisServer
from tests.runtimes.elastic_batches import DryElastic, Try
from tests.runtimes.tables import table_of
from tests.runtimes.test_elastic_dry import TUMBLING
from tests.runtimes.test_spark_streaming_dry import TYPES, bound_query

KEYS = "abcdefgh"
"""They are in all five buckets."""

keys = st.sets(st.sampled_from(KEYS)).map(sorted)
tries = st.lists(st.builds(Try, st.integers(1, 4), st.integers(0, 4)), max_size=2)
lives = st.lists(st.tuples(keys, tries), min_size=1, max_size=4)


class Life:
    """A query through its batches, and its store after each execution, done or not."""

    def __init__(self, folder: Path, *, files: bool = True) -> None:
        self.folder, self.states = folder, list[Path]()
        self.dry = DryElastic(bound_query(TUMBLING), folder / "life", files=files, forgetful=True)

    def run(self, batches: Sequence[tuple[Sequence[str], Sequence[Try]]], *, done: bool = True) -> None:
        """All batches; `done`: whether the last one is."""
        for epoch, (some, failing) in enumerate(batches):
            for each in failing:
                self.execute(epoch, some, tasks=each.tasks, only=each.committed)
            if done or epoch < len(batches) - 1:
                self.execute(epoch, some, tasks=1 + epoch % 3)

    def execute(self, epoch: int, some: Sequence[str], *, tasks: int = 1, only: int | None = None) -> None:
        self.dry.execute(batch(epoch, some), epoch, tasks=tasks, only=only)
        copy = self.folder / f"state {len(self.states)}"
        self.states.append(shutil.copytree(self.dry.home.place, copy))

    def checkpoint(self, *, due: int, begun: bool = False) -> Path:
        """With what Spark writes there before batch `due`; `begun`: or during it."""
        place = self.folder / f"checkpoint {due} {begun}"
        for log, count in (("commits", due), ("offsets", due + begun)):
            (place / log).mkdir(parents=True)
            for number in range(count):
                (place / log / str(number)).write_text('v1\n{"nextBatchWatermarkMs": 0}')
        (place / "metadata").write_text('{"id": "q"}')
        if self.states:
            shutil.copytree(self.states[-1], store_of(place))
        return place


def batch(epoch: int, some: Sequence[str]) -> pa.Table:
    return table_of([Arrival(epoch, key, {"e": epoch, "x": 1}) for key in some], TYPES)


def wrong(checkpoint: Path, *, known: bool = True) -> list[str]:
    """`known`: whether the checkpoint is looked at."""
    seen = stages_in(store_of(checkpoint), checkpoint=checkpoint if known else None)
    return [] if seen is None else seen.wrong


def verified(place: str | Path) -> Result:
    return CliRunner().invoke(app, ["state", str(place), "--verify"])


@settings(max_examples=30, deadline=None)
@given(batches=lives, done=st.booleans(), forgotten=st.booleans(), begun=st.booleans(), files=st.booleans())
def test_what_a_crash_leaves_is_whole(
    batches: list[tuple[list[str], list[Try]]], done: bool, forgotten: bool, begun: bool, files: bool
) -> None:
    """Between two tasks, or before Spark has written down that the batch is done: it is then forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder), files=files)
        life.run(batches, done=done)
        last = len(batches) - 1
        again = not done or forgotten
        checkpoint = life.checkpoint(due=last if again else last + 1, begun=again or begun)
        assert wrong(checkpoint) == wrong(checkpoint, known=False) == []


@settings(max_examples=60, deadline=None)
@given(
    batches=lives, done=st.booleans(), forgotten=st.booleans(),
    harms=st.dictionaries(st.integers(0, DryElastic.BUCKETS - 1), st.integers(0, 12), max_size=3),
)  # fmt: skip
def test_oracle_a_store_is_whole_exactly_where_the_next_batch_can_be_executed(
    batches: list[tuple[list[str], list[Try]]], done: bool, forgotten: bool, harms: Mapping[int, int]
) -> None:
    """Some buckets are of other moments, or gone."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder))
        life.run(batches, done=done)
        due = max(0, life.dry.home.journal().epoch + (not forgotten))
        checkpoint = life.checkpoint(due=due)
        for number, moment in harms.items():
            bucket = Path(store_of(checkpoint)) / f"bucket-{number}"
            shutil.rmtree(bucket, ignore_errors=True)
            moments = [state / bucket.name for state in life.states]
            if moment < len(moments) and moments[moment].exists():
                shutil.copytree(moments[moment], bucket)
        found = wrong(checkpoint)
        again = DryElastic(bound_query(TUMBLING), life.folder / "again", forgetful=True)
        again.home = StateLocation(store_of(checkpoint), files=True)
        some = batches[due][0] if due < len(batches) else []
        try:
            again.execute(batch(due, some), due, tasks=2)
        except StoreError:
            assert found
        else:
            assert found == []


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """Of three batches."""
    life = Life(tmp_path)
    life.run([(KEYS, [])] * 3)
    return life


def test_a_bucket_of_an_older_backup_is_named(life: Life) -> None:
    checkpoint = life.checkpoint(due=3)
    assert verified(checkpoint).exit_code == 0
    bucket = Path(store_of(checkpoint)) / "bucket-3"
    shutil.rmtree(bucket)
    shutil.copytree(life.states[1] / bucket.name, bucket)
    for place in (checkpoint, store_of(checkpoint)):
        answer = verified(place)
        assert answer.exit_code == 1
        assert "in files: bucket 3 is at micro-batch 1, from where 3 cannot be executed" in answer.output


def test_a_journal_of_another_backup_is_named(life: Life) -> None:
    answer = verified(life.checkpoint(due=6))
    assert answer.exit_code == 1
    assert "the journal is at micro-batch 2, from where 6 cannot be executed" in answer.output


def test_a_journal_that_is_gone_is_named_and_shown(life: Life) -> None:
    checkpoint = life.checkpoint(due=3)
    shutil.rmtree(Path(store_of(checkpoint)) / JOURNAL)
    for place in (checkpoint, store_of(checkpoint)):
        answer = verified(place)
        assert answer.exit_code == 1
        assert "in files: the journal is gone" in answer.output
        shown = CliRunner().invoke(app, ["state", str(place)])
        assert "wrong: in files: the journal is gone" in shown.output
    assert "bucket-4" in shown.output


def test_namespaces_of_others_that_are_called_as_those_of_a_query_are_none(tmp_path: Path) -> None:
    for name in ("bucket-1", "bucket-of-mine", "journal"):
        with Files(tmp_path, namespace=name) as store:
            store.put_many({b"k": b"v"})
            store.commit(0)
    answer = verified(tmp_path)
    assert answer.exit_code == 0, answer.output


def test_a_query_that_goes_on_while_it_is_looked_at_is_whole(life: Life) -> None:
    """The next batches are done after the first of its buckets was seen."""
    checkpoint, left = life.checkpoint(due=3), [4, 3]
    names = sorted(path.name for path in Path(life.dry.home.place).iterdir())

    def opened(name: str) -> EpochStore:
        while name == "bucket-2" and left:
            life.execute(left.pop(), KEYS)
        return life.dry.home.open(name)

    seen = stages_of(OpenedStores(names, opened), where="in files", checkpoint=checkpoint)
    assert not left
    assert seen is not None
    assert seen.wrong == []


@pytest.mark.redis
def test_a_first_batch_that_died_on_a_server_is_whole_and_a_lost_journal_is_not(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    try:
        dry = DryElastic(bound_query(TUMBLING), tmp_path)
        dry.home = StateLocation(server.url, "q.")
        dry.execute(batch(0, KEYS), 0, tasks=3, only=2)
        died = verified(server.url)
        assert (died.exit_code, died.output) == (0, f"{server.url}: there is nothing to check yet\n")
        dry.run([batch(0, KEYS), batch(1, KEYS)])
        assert verified(server.url).exit_code == 0
        (served,) = served_queries(server.url)
        place = str(Life(tmp_path).checkpoint(due=6))
        seen = stages_on(server.url, replace(served, checkpoint=place, state="in use"))
        assert seen is not None
        assert seen.wrong == ["in Redis: the journal is at micro-batch 1, from where 6 cannot be executed"]
        client = server.client()
        client.delete(*client.scan_iter(match="sash:{q.journal}:live:*", count=1000))
        keyless = verified(server.url)
        assert keyless.exit_code == 1
        assert "in Redis: the journal has lost its query" in keyless.output
        client.delete(*client.scan_iter(match="sash:{q.journal}:*", count=1000))
        lost = verified(server.url)
        assert lost.exit_code == 1
        assert "in Redis: the journal is gone" in lost.output
    finally:
        server.kill()


AT = Committed(4, 3)


def journal(description: Mapping[str, Any]) -> dict[bytes, bytes]:
    return {QUERY: canonical(description), NEWEST: b"0"}


def test_buckets_that_share_keys_must_be_there_only_while_they_do() -> None:
    kept = journal({BUCKET_COUNT: 2})
    committed = {JOURNAL: AT, "bucket-0": AT, "bucket-1": Committed(5, 4), "bucket-2": Committed(1, 1)}
    assert list(obstacles(kept, committed, saved=(), due=None)) == []
    missed = ["bucket 2 is at micro-batch 1, from where 5 cannot be executed", "bucket 3 is gone"]
    for served, lines in ((True, missed), (False, [])):
        shared = SharedKeysKept((Regime(-7, 4, 5, 0, 10),), served=served)
        assert list(obstacles({**kept, SHARED: bytes(shared)}, committed, saved=(), due=5)) == lines


def test_queries_that_run_together_need_the_buckets_of_their_keys() -> None:
    one = {"state": "one 1", "query": {"key": ["symbol"]}}
    kept = journal(
        {BUCKET_COUNT: 3, QUERIES: {"one": one, "all": {"state": "all 2", "query": {"key": []}}}}
    )
    numbers = [*numbers_of(["symbol"], partitions=3), 0]
    committed = {JOURNAL: AT} | {f"bucket-{number}": AT for number in numbers}
    assert list(obstacles(kept, committed, saved=(), due=5)) == []
    del committed[f"bucket-{numbers[1]}"]
    assert list(obstacles(kept, committed, saved=(), due=5)) == [f"bucket {numbers[1]} is gone"]


def test_a_bucket_without_the_state_that_it_had_is_named() -> None:
    kept = {**journal({BUCKET_COUNT: 2}), BUCKETS: b"[1]"}
    committed = {JOURNAL: AT, "bucket-0": AT, "bucket-1": AT}
    assert list(obstacles(kept, committed, saved=[1], due=5)) == []
    assert list(obstacles(kept, committed, saved=[], due=5)) == ["bucket 1 has lost its state"]
