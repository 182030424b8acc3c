"""Every store keeps the same promises: one file of sentences, run over memory, LMDB, files and Redis."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sash import stores
from sash.errors import ArgumentError, EpochError, StoreError
from sash.stores import LMDB, Files, Memory, Redis, Store

KINDS = ["memory", "lmdb", "files", pytest.param("redis", marks=pytest.mark.redis)]
_numbers = itertools.count()


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """A function that gives a new, empty store at each call; all are closed at the end."""
    made: list[Store] = []

    def fresh() -> Store:
        name = f"t{next(_numbers)}"
        if request.param == "memory":
            store: Store = Memory()
        elif request.param == "lmdb":
            store = LMDB(tmp_path, namespace=name, durable=False)
        elif request.param == "files":
            store = Files(tmp_path, namespace=name)
        else:
            store = Redis(request.getfixturevalue("redis_server").url, namespace=name)
        made.append(store)
        return store

    yield fresh
    for store in made:
        store.close()


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()


def content(store: Store) -> dict[bytes, bytes | None]:
    keys = list(store.keys())
    return dict(zip(keys, store.get_many(keys), strict=True))


def test_a_new_store_is_empty_and_at_the_epoch_before_the_first(store: Store) -> None:
    assert store.epoch == stores.NOTHING_COMMITTED == -1
    assert content(store) == {}


def test_values_come_back_in_the_order_of_the_keys_and_missing_ones_are_none(store: Store) -> None:
    store.put_many({b"a": b"1", b"b": b""})
    assert store.get_many([b"b", b"c", b"a", b"a"]) == [b"", None, b"1", b"1"]
    store.commit(0)
    assert store.get_many([b"b", b"c", b"a", b"a"]) == [b"", None, b"1", b"1"]


def test_the_delta_hides_the_base_before_it_is_committed(store: Store) -> None:
    store.put_many({b"a": b"1", b"b": b"2"})
    store.commit(0)
    store.put_many({b"a": b"3", b"c": b"4"})
    store.delete_many([b"b"])
    assert content(store) == {b"a": b"3", b"c": b"4"}
    assert store.pending == 3


def test_rollback_to_the_committed_epoch_drops_the_delta(store: Store) -> None:
    store.put_many({b"a": b"1"})
    store.commit(0)
    store.put_many({b"a": b"2", b"b": b"2"})
    store.rollback(0)
    assert (store.epoch, content(store)) == (0, {b"a": b"1"})


def test_rollback_takes_a_committed_epoch_back(store: Store) -> None:
    store.put_many({b"changed": b"old", b"deleted": b"old"})
    store.commit(0)
    store.put_many({b"changed": b"new", b"added": b"new"})
    store.delete_many([b"deleted"])
    store.commit(1)
    assert content(store) == {b"changed": b"new", b"added": b"new"}
    store.rollback(0)
    assert (store.epoch, content(store)) == (0, {b"changed": b"old", b"deleted": b"old"})


def test_an_epoch_that_is_executed_again_replaces_its_first_execution(store: Store) -> None:
    store.put_many({b"n": b"0"})
    store.commit(0)
    for attempt in (b"first", b"second"):
        store.rollback(0)
        store.put_many({b"n": attempt, attempt: b"x"})
        store.commit(1)
    assert content(store) == {b"n": b"second", b"second": b"x"}


def test_the_first_epoch_can_be_taken_back_to_nothing(store: Store) -> None:
    store.put_many({b"a": b"1"})
    store.commit(0)
    store.rollback(-1)
    assert (store.epoch, content(store)) == (-1, {})


def test_committing_twice_is_the_same_as_committing_once(store: Store) -> None:
    store.put_many({b"a": b"1"})
    store.commit(0)
    store.commit(0)
    assert (store.epoch, content(store)) == (0, {b"a": b"1"})


def test_an_epoch_may_change_nothing(store: Store) -> None:
    for epoch in range(3):
        store.commit(epoch)
    assert store.epoch == 2
    store.rollback(1)
    assert store.epoch == 1


def test_a_gap_is_refused_and_the_delta_survives_the_refusal(store: Store) -> None:
    store.put_many({b"a": b"1"})
    with pytest.raises(EpochError, match=r"epoch 1 does not follow epoch -1; commit\(0\) is next"):
        store.commit(1)
    store.commit(0)
    assert content(store) == {b"a": b"1"}


def test_writes_on_top_of_an_epoch_cannot_be_committed_as_that_epoch(store: Store) -> None:
    store.commit(0)
    store.put_many({b"a": b"1"})
    with pytest.raises(
        EpochError, match=r"commit\(1\) to keep them, rollback\(-1\) to execute epoch 0 again"
    ):
        store.commit(0)


def test_only_one_epoch_back_is_remembered(store: Store) -> None:
    for epoch in range(3):
        store.put_many({b"e": str(epoch).encode()})
        store.commit(epoch)
    with pytest.raises(EpochError, match="cannot roll back to epoch 0"):
        store.rollback(0)
    store.rollback(1)
    with pytest.raises(EpochError, match="keeps none before 1"):
        store.rollback(0)
    assert content(store) == {b"e": b"1"}


def test_an_epoch_ahead_cannot_be_rolled_back_to(store: Store) -> None:
    with pytest.raises(EpochError):
        store.rollback(0)


def test_deleting_what_is_not_there_is_no_error(store: Store) -> None:
    store.delete_many([b"nothing"])
    store.commit(0)
    store.rollback(-1)
    assert content(store) == {}


def test_a_key_that_is_deleted_and_put_again_is_put(store: Store) -> None:
    store.put_many({b"a": b"1"})
    store.commit(0)
    store.delete_many([b"a"])
    store.commit(1)
    store.put_many({b"a": b"2"})
    store.commit(2)
    assert content(store) == {b"a": b"2"}
    store.rollback(1)
    assert content(store) == {}


def test_keys_are_sorted_and_filtered_by_prefix(store: Store) -> None:
    store.put_many({b"x*1": b"", b"x*2": b"", b"y": b"", b"x": b""})
    store.commit(0)
    store.put_many({b"x*0": b""})
    store.delete_many([b"x*2"])
    assert list(store.keys(prefix=b"x*")) == [b"x*0", b"x*1"]
    assert list(store.keys()) == [b"x", b"x*0", b"x*1", b"y"]


def test_a_value_is_copied_when_it_is_put(store: Store) -> None:
    value = bytearray(b"before")
    store.put_many({b"a": value})
    value[:] = b"after!"
    assert store.get_many([b"a"]) == [b"before"]


def test_stores_of_different_names_do_not_see_each_other(opened: Callable[[], Store]) -> None:
    one, two = opened(), opened()
    one.put_many({b"a": b"1"})
    one.commit(0)
    assert (two.epoch, content(two)) == (-1, {})


# Fences


def another(store: Store) -> Store:
    """A handle of the same store, as another process would have."""
    if isinstance(store, Memory):
        pytest.skip("a Memory store has one handle")
    return pickle.loads(pickle.dumps(store))


def test_an_attempt_that_was_given_up_neither_commits_nor_takes_back(store: Store) -> None:
    with another(store) as old:
        old.fence(1)
        old.rollback(-1)
        old.put_many({b"a": b"old"})
        store.fence(2)
        store.put_many({b"a": b"new"})
        with pytest.raises(EpochError, match=r"newer attempt has taken over .*\(token 2, here 1\)"):
            old.commit(0)
        assert store.get_many([b"a"]) == [b"new"]
        store.commit(0)
        with pytest.raises(EpochError, match="newer attempt has taken over"):
            old.rollback(-1)
        with pytest.raises(EpochError, match="newer attempt has taken over"):
            old.fence(1)
        assert content(store) == {b"a": b"new"}
    with another(store) as looks:
        assert (looks.epoch, content(looks)) == (0, {b"a": b"new"})


def test_a_handle_reads_the_try_of_an_epoch_that_was_kept_and_not_its_own(store: Store) -> None:
    store.put_many({b"a": b"0"})
    store.commit(0)
    store.put_many({b"a": b"first try", b"first": b"x"})
    store.commit(1)
    with another(store) as other:
        other.rollback(0)
        other.put_many({b"a": b"second try"})
        other.commit(1)
    store.rollback(1)
    assert content(store) == {b"a": b"second try"}
    store.put_many({b"b": b"2"})
    store.commit(2)
    assert content(store) == {b"a": b"second try", b"b": b"2"}


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_a_handle_at_no_epoch_is_refused_when_others_have_moved_on(store: Store, epochs: int) -> None:
    with another(store) as other:
        for epoch in range(epochs):
            other.put_many({b"a": b"%d" % epoch})
            other.commit(epoch)
    with pytest.raises(EpochError, match=rf"rollback\({epochs - 1}\) adopts its state"):
        store.get_many([b"a"])
    store.rollback(epochs - 1)
    assert content(store) == {b"a": b"%d" % (epochs - 1)}


def test_a_fence_outlives_handles_commits_and_rollbacks(store: Store) -> None:
    store.fence(2**100)
    store.commit(0)
    store.rollback(-1)
    store.commit(0)
    store.fence(2**100)
    with another(store) as other:
        with pytest.raises(EpochError, match="newer attempt"):
            other.fence(2**100 - 1)
        with pytest.raises(EpochError, match="newer attempt"):
            other.rollback(-1)
        assert other.fence(2**100 + 1) == 2**100 + 1
        other.rollback(-1)


def test_a_fence_without_a_token_is_the_next_one(store: Store) -> None:
    assert [store.fence(), store.fence(), store.fence(9), store.fence()] == [1, 2, 9, 10]


@pytest.mark.parametrize("token", [-1, 2**120, True])
def test_a_token_that_is_none_is_refused(store: Store, token: int) -> None:
    with pytest.raises(ArgumentError, match="token must be a number"):
        store.fence(token)


@pytest.mark.parametrize("key", [b"", "text", 7])
def test_a_key_that_is_not_bytes_is_refused_and_nothing_is_written(store: Store, key: object) -> None:
    with pytest.raises(ArgumentError, match="key must be non-empty bytes"):
        store.put_many({b"good": b"1", key: b"2"})
    assert store.pending == 0


@pytest.mark.parametrize("epoch", [-2, True, 1.0, "1"])
def test_an_epoch_that_is_no_number_is_refused(store: Store, epoch: object) -> None:
    with pytest.raises(ArgumentError, match="epoch must be an integer"):
        store.commit(epoch)


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed; open a new one"):
        store.get_many([b"a"])


def test_leaving_the_block_closes_the_store(store: Store) -> None:
    with store as same:
        assert same is store
    with pytest.raises(StoreError):
        store.put_many({b"a": b"1"})


def test_the_stores_load_neither_numba_nor_pyspark_nor_an_optional_package() -> None:
    program = "import sash.stores, sys; print({'numba', 'pyspark', 'redis'} & sys.modules.keys())"
    output = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    assert output.stdout == "set()\n"


KEYS = st.sampled_from([b"a", b"b", b"c", b"ab", b"\x00", b"\xff"])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=5)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("commit")),
        st.tuples(st.just("rollback"), st.integers(0, 1)),
    ),
    max_size=25,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(actions=ACTIONS)
def test_oracle_any_sequence_of_actions_leaves_what_a_list_of_dictionaries_leaves(
    opened: Callable[[], Store], actions: list[tuple]
) -> None:
    store = opened()
    states: list[dict[bytes, bytes]] = [{}]
    current: dict[bytes, bytes] = {}
    depth = 0
    for action in actions:
        match action:
            case ("put", key, value):
                store.put_many({key: value})
                current[key] = value
            case ("delete", key):
                store.delete_many([key])
                current.pop(key, None)
            case ("commit",):
                store.commit(store.epoch + 1)
                states.append(dict(current))
                depth = 1
            case ("rollback", back):
                back = min(back, depth)
                store.rollback(store.epoch - back)
                states = states[: len(states) - back]
                current = dict(states[-1])
                depth -= back
        assert store.epoch == len(states) - 2
        assert content(store) == current
