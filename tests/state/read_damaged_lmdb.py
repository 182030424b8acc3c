"""A program for test_damaged_lmdb.py: opens a store, reads all of it and commits.

    python read_damaged_lmdb.py <folder>

It prints the values that it has read, as JSON, or one sentence; any other error ends it with code 1.
"""

from __future__ import annotations

import json
import sys

from sash.errors import SashError
from sash.stores import LMDB


def main(folder: str) -> None:
    try:
        with LMDB(folder, namespace="n") as store:
            keys = sorted(store.keys())
            found = {
                key.decode(): None if value is None else value.hex()
                for key, value in zip(keys, store.get_many(keys), strict=True)
            }
            store.fence()
            store.put_many({b"%d" % number: bytes(3_000) for number in range(20)})
            store.commit(store.epoch + 1)
    except SashError as error:
        print(f"refused: {error}")
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
