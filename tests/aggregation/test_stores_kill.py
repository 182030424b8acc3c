"""SIGKILL at any moment of a commit or rollback: after reopening, the state is exactly epoch e − 1 or e."""

from __future__ import annotations

import random
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sash.stores import Redis, Store

PROGRAM = Path(__file__).with_name("commit_and_die.py")
program = runpy.run_path(str(PROGRAM))


class Target(NamedTuple):
    kind: str
    address: str
    keys: int
    """Few for LMDB, where each key is a step; more than two groups of them for Redis."""


REDIS = pytest.param("redis", marks=pytest.mark.redis)


@pytest.fixture(params=["lmdb", REDIS])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if request.param != "redis":
        return Target(request.param, str(tmp_path), 5)
    server = request.getfixturevalue("redis_server")
    server.client().flushall()
    return Target("redis", server.url, 600)


def child(target: Target, *, deadly: int = -1, epochs: int = 1, again: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), *map(str, target), *map(str, (deadly, epochs, again))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed_at(target: Target, deadly: int, again: int = 0) -> None:
    victim = child(target, deadly=deadly, again=again)
    victim.communicate()
    assert victim.returncode == -signal.SIGKILL


def reopened(target: Target) -> Store:
    store: Store = program["opened"](target.kind, target.address)
    return store


def assert_is_exactly(store: Store, epoch: int, keys: int) -> None:
    names = list(store.keys())
    assert store.epoch == epoch
    assert dict(zip(names, store.get_many(names), strict=True)) == program["state"](epoch, keys)


def test_a_process_that_is_killed_between_any_two_steps_leaves_one_epoch_or_the_other(
    target: Target,
) -> None:
    steps, _ = child(target).communicate()
    child(target).communicate()
    assert int(steps) >= 5
    reached = []
    for before, deadly in enumerate(range(int(steps)), start=1):
        killed_at(target, deadly)
        with reopened(target) as store:
            assert store.epoch in (before, before + 1)
            assert_is_exactly(store, store.epoch, target.keys)
            reached.append(store.epoch - before)
            # Whichever it is, the epoch can be executed again, and the next victim starts from there.
            program["execute"](store, before + 1, target.keys)
            store.commit(before + 1)
            assert_is_exactly(store, before + 1, target.keys)
    assert reached == sorted(reached)
    assert set(reached) == {0, 1}


@pytest.mark.parametrize("target", ["lmdb", "files", REDIS], indirect=True)
def test_a_process_that_is_killed_while_it_executes_an_epoch_again_loses_no_state(target: Target) -> None:
    child(target, epochs=3).communicate()
    steps, _ = child(target, again=1).communicate()
    reached = []
    for deadly in range(int(steps)):
        killed_at(target, deadly, again=1)
        with reopened(target) as store:
            assert store.epoch in (1, 2)
            assert_is_exactly(store, store.epoch, target.keys)
            reached.append(store.epoch)
            program["execute"](store, 2, target.keys)
            store.commit(2)
            assert_is_exactly(store, 2, target.keys)
    assert set(reached) == {1, 2}


@pytest.mark.parametrize("target", ["lmdb", "files", REDIS], indirect=True)
def test_a_process_that_is_killed_at_a_random_moment_leaves_a_whole_epoch(target: Target) -> None:
    choice = random.Random(4)
    reached = -1
    for _ in range(5):
        victim = child(target, epochs=1_000_000)
        wait_until(lambda before=reached: epoch_of(target) > before)
        time.sleep(choice.uniform(0, 0.05))
        victim.kill()
        victim.communicate()
        with reopened(target) as store:
            assert store.epoch > reached
            assert_is_exactly(store, store.epoch, target.keys)
            reached = store.epoch


def epoch_of(target: Target) -> int:
    with reopened(target) as store:
        return store.epoch


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.redis
def test_what_a_killed_writer_staged_is_removed_by_the_next_commit(redis_server) -> None:
    client = redis_server.client()
    client.flushall()
    killed_at(Target("redis", redis_server.url, 600), 2)
    assert client.keys(b"*:new:*")
    with Redis(redis_server.url) as store:
        assert list(store.keys()) == []
        store.put_many({b"a": b"1"})
        store.commit(0)
    assert not client.keys(b"*:new:*")
    assert not client.keys(b"*:writers")
