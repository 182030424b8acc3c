"""A program for test_stores_kill.py: commits epochs and, if wanted, kills itself between two steps.

    python commit_and_die.py <lmdb | files | redis> <path | url> <keys> <deadly step or -1> <epochs> <again>

Epoch e writes its number under all keys, adds a key of its own and deletes that of the epoch before. The
first one follows the last of the store; when `again` is 1, it is the last, taken back and executed again.
It prints the number of steps that all of it took, when it lives that long.
"""

import os
import signal
import sys

from sash.stores import LMDB, Files, Redis, Store


def state(epoch: int, keys: int) -> dict[bytes, bytes]:
    """What the store holds after an epoch."""
    if epoch < 0:
        return {}
    number = str(epoch).encode()
    return {b"k%03d" % i: number for i in range(keys)} | {b"added in %d" % epoch: number}


def opened(kind: str, address: str) -> Store:
    if kind == "files":
        return Files(address)
    return LMDB(address, durable=False) if kind == "lmdb" else Redis(address)


def execute(store: Store, epoch: int, keys: int) -> None:
    """An epoch, for the first time or again, up to its commit."""
    store.rollback(epoch - 1)
    store.put_many(state(epoch, keys))
    store.delete_many([b"added in %d" % (epoch - 1)])


def main(kind: str, address: str, keys: int, deadly: int, epochs: int, again: int) -> None:
    store = opened(kind, address)
    taken = 0

    def step(name: str) -> None:
        nonlocal taken
        if taken == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        taken += 1

    store.on_step = step
    first = store.epoch + 1 - again
    for epoch in range(first, first + epochs):
        execute(store, epoch, keys)
        store.commit(epoch)
    print(taken)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
