"""What only the Redis store promises: about servers that are not there, go away, come back or forget."""

from __future__ import annotations

import builtins
import gc
import itertools
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from hypothesis import given, settings, strategies as st

from sash.aggregation.stores import redis as module
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.errors import (
    ArgumentError,
    CorruptValue,
    EpochError,
    MissingDependency,
    SashWarning,
    StoreError,
    StoreUnavailable,
)
from sash.runtimes.spark.epochs.store_of_state import OpenStores, StateLocation, warn_of_forgetful_server
from sash.stores import Redis
from tests.aggregation.forks import in_child

pytestmark = pytest.mark.redis

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which take no time."""
    waits: list[float] = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
    return waits


@pytest.fixture
def url(redis_server) -> str:
    redis_server.client().flushall()
    return redis_server.url


def test_a_server_that_is_not_there_is_named_after_bounded_retries(sleeps: list[float]) -> None:
    with pytest.raises(
        StoreUnavailable, match=r"127\.0\.0\.1:1/0 does not answer after 4 attempts.*is it running\?"
    ):
        Redis(NOBODY, attempts=4, backoff=0.5)
    assert sleeps == [0.5, 1.0, 2.0]


def test_an_unavailable_server_is_also_a_connection_error(sleeps: list[float]) -> None:
    with pytest.raises(ConnectionError):
        Redis(NOBODY, attempts=1)


def test_a_password_is_not_shown(sleeps: list[float]) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        Redis("redis://user:secret@127.0.0.1:1/0", attempts=1)
    assert "secret" not in str(caught.value)


def test_a_server_that_dies_during_a_run_loses_nothing_when_it_is_back(fragile_redis_server) -> None:
    store = Redis(fragile_redis_server.url, attempts=3, backoff=0.01)
    store.put_many({b"a": b"1"})
    store.commit(0)
    store.put_many({b"a": b"2", b"b": b"2"})
    fragile_redis_server.kill()
    with pytest.raises(StoreUnavailable, match="Nothing is lost"):
        store.commit(1)
    with pytest.raises(StoreUnavailable):
        store.get_many([b"unwritten"])
    assert (store.epoch, store.pending) == (0, 2)
    assert store.get_many([b"a", b"b"]) == [b"2", b"2"]
    fragile_redis_server.start()
    store.commit(1)
    assert (store.epoch, store.get_many([b"a", b"b"])) == (1, [b"2", b"2"])
    with Redis(fragile_redis_server.url) as other:
        assert (other.epoch, other.get_many([b"a", b"b"])) == (1, [b"2", b"2"])


def test_a_server_that_is_back_before_the_last_attempt_is_not_noticed(fragile_redis_server) -> None:
    store = Redis(fragile_redis_server.url, attempts=8, backoff=0.05)
    store.put_many({b"a": b"1"})
    fragile_redis_server.kill()
    revival = threading.Timer(0.3, fragile_redis_server.start)
    revival.start()
    store.commit(0)
    revival.join()
    assert store.get_many([b"a"]) == [b"1"]


def test_a_server_that_hangs_is_given_up_after_the_timeout(fragile_redis_server) -> None:
    store = Redis(fragile_redis_server.url, attempts=2, backoff=0.01, timeout=0.2)
    store.put_many({b"a": b"1"})
    fragile_redis_server.pause()
    try:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable):
            store.commit(0)
        assert time.monotonic() - begin < 3
    finally:
        fragile_redis_server.resume()
    store.commit(0)
    assert store.get_many([b"a"]) == [b"1"]


def test_a_commit_whose_reply_was_lost_is_not_applied_twice(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Redis(url, attempts=2, backoff=0)
    store.put_many({b"a": b"1"})
    real, lost = store._client.eval, []

    def answer_lost(*arguments):
        reply = real(*arguments)
        if not lost:
            lost.append(reply)
            raise redis.ConnectionError("the reply was lost")
        return reply

    monkeypatch.setattr(store._client, "eval", answer_lost)
    store.commit(0)
    assert lost[0][0] == b"done"
    assert (store.epoch, store.get_many([b"a"])) == (0, [b"1"])
    store.rollback(-1)
    assert list(store.keys()) == []


def test_a_server_that_lost_its_data_is_noticed(redis_server, url: str) -> None:
    store = Redis(url)
    store.put_many({b"a": b"1"})
    store.commit(0)
    redis_server.client().flushall()
    with pytest.raises(EpochError, match="epoch 0 cannot be read any more: the store is at epoch -1"):
        store.get_many([b"a"])


def test_staged_keys_that_the_server_lost_are_staged_again(redis_server, url: str) -> None:
    store = Redis(url)
    store.put_many({b"a": b"1", b"b": b"2"})
    client = redis_server.client()
    flushed = []

    def forget(name: str) -> None:
        if "staged" in name and not flushed:
            flushed.append(client.flushall())

    store.on_step = forget
    store.commit(0)
    assert flushed == [True]
    assert store.get_many([b"a", b"b"]) == [b"1", b"2"]


def test_staged_keys_that_the_server_keeps_losing_are_given_up(redis_server, url: str) -> None:
    store = Redis(url, attempts=3)
    store.put_many({b"a": b"1"})
    client = redis_server.client()
    store.on_step = lambda name: client.flushall() if "staged" in name else None
    with pytest.raises(StoreUnavailable, match="lost what was staged for epoch 0 3 times"):
        store.commit(0)
    store.on_step = lambda name: None
    store.commit(0)
    assert store.get_many([b"a"]) == [b"1"]


@pytest.mark.parametrize("damage", [b"garbage", b"", b"SASH" + bytes(30)])
def test_a_damaged_value_is_an_error_that_names_its_key(redis_server, url: str, damage: bytes) -> None:
    store = Redis(url)
    store.put_many({b"a": b"1"})
    store.commit(0)
    redis_server.client().set(b"sash:{default}:live:a", damage)
    with pytest.raises(CorruptValue, match="b'a'"):
        store.get_many([b"a"])


def test_a_damaged_epoch_is_an_error(redis_server, url: str) -> None:
    redis_server.client().set(b"sash:{default}:epoch", b"soon")
    with pytest.raises(CorruptValue, match=r"sash:\{default\}:epoch' is not an epoch"):
        Redis(url)


def test_a_key_of_the_wrong_kind_is_a_store_error_that_names_the_server(redis_server, url: str) -> None:
    redis_server.client().rpush(b"sash:{default}:undone", b"list, not a set")
    store = Redis(url)
    with pytest.raises(StoreError, match="refused"):
        store.commit(0)


def test_a_commit_of_many_groups_arrives_whole(url: str) -> None:
    items = {b"%d" % i: b"%d" % (i * i) for i in range(3 * module.GROUP + 1)}
    with Redis(url) as store:
        store.put_many(items)
        store.commit(0)
        assert dict(zip(items, store.get_many(list(items)), strict=True)) == items
        assert set(store.keys()) == set(items)


def test_a_handle_that_another_one_overtook_refuses_to_read_a_mixture(url: str) -> None:
    with Redis(url) as slow, Redis(url) as fast:
        fast.put_many({b"a": b"1"})
        fast.commit(0)
        with pytest.raises(EpochError, match=r"rollback\(0\) adopts its state"):
            slow.get_many([b"a"])
        slow.rollback(0)
        assert slow.get_many([b"a"]) == [b"1"]


def test_a_pickled_handle_opens_the_same_namespace_of_the_same_server(url: str) -> None:
    with Redis(url, namespace="bucket-7") as store:
        store.put_many({b"a": b"1"})
        store.commit(0)
        with pickle.loads(pickle.dumps(store)) as twin:
            assert (twin.namespace, twin.epoch, twin.get_many([b"a"])) == ("bucket-7", 0, [b"1"])


def test_without_the_package_the_message_has_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def absent(name: str, *rest):
        if name.partition(".")[0] == "redis":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    monkeypatch.delitem(sys.modules, "redis", raising=False)
    with pytest.raises(MissingDependency, match=r"pip install redis"):
        Redis(NOBODY)


def test_zero_attempts_are_refused() -> None:
    with pytest.raises(ArgumentError, match="attempts must be 1 or more; got 0"):
        Redis(NOBODY, attempts=0)


@pytest.mark.parametrize(
    ("settings", "risks"),
    [
        ({}, []),
        ({"maxmemory": "100mb"}, []),
        ({"maxmemory-policy": "allkeys-lru"}, []),
        ({"maxmemory": "100mb", "maxmemory-policy": "volatile-lru"}, []),
        ({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, ["maxmemory-policy is allkeys-lru"]),
        ({"appendonly": "no"}, ["appendonly is no"]),
        (
            {"appendonly": "no", "maxmemory": "100mb", "maxmemory-policy": "allkeys-random"},
            ["maxmemory-policy is allkeys-random", "appendonly is no"],
        ),
    ],
)
def test_a_server_tells_by_which_settings_it_may_lose_state(
    fragile_redis_server, settings: dict[str, str], risks: list[str]
) -> None:
    for name, value in settings.items():
        fragile_redis_server.client().config_set(name, value)
    server = RedisNamespaces(fragile_redis_server.url)
    found = server.risks()
    assert len(found) == len(risks)
    assert all(words in risk for words, risk in zip(risks, found, strict=True))


def test_a_query_is_warned_once_of_a_server_that_may_lose_state(
    fragile_redis_server, recwarn: pytest.WarningsRecorder
) -> None:
    fragile_redis_server.client().config_set("appendonly", "no")
    with pytest.warns(SashWarning, match=r"at 127\.0\.0\.1:\d+/0 may lose state.*appendonly is no"):
        warn_of_forgetful_server(fragile_redis_server.url)
    for store in (fragile_redis_server.url, "files", "lmdb"):
        warn_of_forgetful_server(store)
    assert not recwarn


def test_a_server_that_does_not_tell_its_settings_is_not_judged(fragile_redis_server) -> None:
    client = fragile_redis_server.client()
    client.config_set("appendonly", "no")
    client.acl_setuser("default", enabled=True, nopass=True, keys="*", commands=["+@all", "-info"])
    server = RedisNamespaces(fragile_redis_server.url)
    assert server.risks() == []


class Connections:
    """Those of clients with a URL of their own, as the server has them."""

    numbers = itertools.count()

    def __init__(self, server) -> None:
        self.name, self._server = f"client-{next(self.numbers)}", server
        self.url = f"{server.url}?client_name={self.name}"

    @property
    def there(self) -> set[str]:
        with self._server.client() as client:
            return {each["id"] for each in client.client_list() if each["name"] == self.name}

    def become(self, number: int) -> bool:
        """A server learns a moment later that a connection has ended."""
        deadline = time.monotonic() + 5
        while len(self.there) != number and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(self.there) == number


def test_the_handles_of_all_buckets_and_queries_of_a_worker_share_a_connection(redis_server) -> None:
    connections, workers = Connections(redis_server), OpenStores()
    homes = [StateLocation(connections.url, f"{connections.name}-{number}.") for number in range(4)]
    stores = [workers.store(home, bucket) for home in homes for bucket in range(64)]
    for store in stores[:80]:
        store.put_many({b"k": store.namespace.encode()})
        store.commit(0)
    assert connections.become(1)
    for store in stores[1:]:
        store.close()
    assert stores[0].get_many([b"k"]) == [stores[0].namespace.encode()]
    assert connections.become(1)
    stores[0].close()
    assert connections.become(0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=12))
def test_there_is_a_connection_for_each_timeout_of_which_a_handle_is_open(redis_server, steps) -> None:
    """Whether the others were closed or forgotten."""
    connections, handles = Connections(redis_server), []
    for is_opened, number in steps:
        if is_opened:
            handles.append(Redis(connections.url, timeout=5.0 + number % 2))
        elif handles:
            closed = handles.pop(number % len(handles))
            if number % 3:
                closed.close()
            del closed
            gc.collect()
        assert all(store.committed.epoch == store.epoch for store in handles)
        assert connections.become(len({store._timeout for store in handles}))


def test_threads_use_handles_of_one_server_while_others_are_closed(redis_server) -> None:
    connections = Connections(redis_server)

    def run(number: int) -> None:
        for epoch in range(20):
            with Redis(connections.url, namespace=f"{connections.name}.thread-{number}") as store:
                value = b"%d of %d" % (epoch, number)
                store.put_many({b"k": value})
                store.commit(store.epoch + 1)
                assert store.get_many([b"k"]) == [value]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert connections.become(0)


def test_a_forked_child_has_a_connection_of_its_own(redis_server, url: str) -> None:
    connections = Connections(redis_server)
    store, other = Redis(connections.url), Redis(connections.url, namespace="other")
    store.put_many({b"a": b"1"})
    store.commit(0)
    parents = connections.there
    assert len(parents) == 1

    def child() -> None:
        other.close()  # unused: the connection of the parent stays
        gc.collect()
        assert connections.there == parents
        assert store.get_many([b"a"]) == [b"1"]
        with Redis(connections.url, namespace="of-the-child") as third:
            third.commit(0)
        assert len(connections.there - parents) == 1
        store.put_many({b"a": b"from the child"})
        store.commit(1)
        store.close()
        assert connections.become(1)
        assert connections.there == parents

    assert in_child(child) == 0
    store.rollback(1)
    assert store.get_many([b"a"]) == [b"from the child"]
    assert connections.there == parents
    store.close()
    assert other.committed.epoch == -1
    other.close()
    assert connections.become(0)
