"""Windows whose nodes are in a key-value store, with the paper's monoid and slide policy.

    element (count, maxSize)        combine: counts added, the newer maxSize
    policy                          total.count − old.count ≥ total.maxSize

Listings 2 and 3 of the paper. Stores are committed after 512 new elements, as many as the paper's buffer
has. The paper's store is Couchbase on three other machines; here it is LMDB in the process, and Redis on
the same machine.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

import numpy as np

from sash.aggregation.monoid import Monoid
from sash.aggregators import AMTA, Aggregator, DABALite, LogMTA, Recalculate
from sash.errors import SashError
from sash.stores import LMDB, Redis, Store

COMMIT_EVERY = 512
Element = tuple[int, int]


def identity() -> Element:
    return (0, 0)


def lift(n: int, size: int) -> Element:
    return (n, size)


def combine(older: Element, newer: Element) -> Element:
    return (older[0] + newer[0], newer[1] if newer[0] > 0 else older[1])


def lower(element: Element) -> Element:
    return element


COUNTED = Monoid("counted", ("count", "maxSize"), identity, lift, combine, lower)


def policy(total: Element, old: Element) -> bool:
    return total[0] - old[0] >= total[1]


class Window:
    """A structure that the policy is enforced on after each insertion."""

    def __init__(self, kind: str, store: Store | None) -> None:
        classes: dict[str, Callable[..., Aggregator]] = {
            "AMTA": AMTA, "LogMTA": LogMTA, "DABA": DABALite, "Naive": Recalculate,
        }  # fmt: skip
        extra = {} if store is None else {"store": store}
        self.held = classes[kind](COUNTED, kinds=("int", "int"), **extra)
        self.store, self._new = store, 0

    def fill(self, n: int, size: int) -> None:
        for at in range(0, n, COMMIT_EVERY * 8):
            part = min(COMMIT_EVERY * 8, n - at)
            self.held.insert_many(np.ones(part, np.int64), np.full(part, size))
            self.commit()

    def update(self, size: int) -> Element:
        """Insert one, enforce the policy, read the total."""
        self.held.insert(1, size)
        self.enforce(size)
        self._new += 1
        if self._new >= COMMIT_EVERY:
            self.commit()
        found: Element = self.held.query()
        return found

    def enforce(self, size: int) -> None:
        if isinstance(self.held, AMTA | LogMTA | Recalculate):
            self.held.evict_by_policy(policy)
        else:
            # No descent: DABA tries one head after the other, as in the paper.
            while policy(self.held.query(), (1, size)):
                self.held.evict()

    def commit(self) -> None:
        self._new = 0
        if self.store is not None:
            self.store.commit(self.store.epoch + 1)


Places = dict[str, Callable[[], Store | None]]


@contextmanager
def places() -> Iterator[Places]:
    """Where nodes can be: each call opens an empty store. Redis is left out where there is no server."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="sash-kvs-"))
        numbers = count()

        def lmdb() -> Store:
            return stack.enter_context(LMDB(f"{folder}/{next(numbers)}", durable=False))

        found: Places = {"memory": lambda: None, "LMDB": lmdb}
        if shutil.which("redis-server"):
            url = stack.enter_context(_redis(folder))
            found["Redis"] = lambda: stack.enter_context(Redis(url, namespace=f"window-{next(numbers)}"))
        yield found


@contextmanager
def _redis(folder: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        url, deadline = f"redis://127.0.0.1:{port}/0", time.monotonic() + 10
        while True:
            try:
                Redis(url, namespace="probe", attempts=1).close()
                break
            except SashError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        yield url
    finally:
        server.terminate()
        server.wait()
