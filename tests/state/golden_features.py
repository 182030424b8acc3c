"""Features as an earlier version has published them: an LMDB folder in an archive, and how it is made.

Two of three batches are in the archive, of events of four keys (one is null), enough for several pages of a
key. `make golden` writes it when it is not there, and never again.
"""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

import pyarrow as pa

import sash
from sash.operators.bound_query import BoundRolling
from sash.semantics.query import Query
from sash.serving.publisher import Publisher
from tests.operators.features import look_backs
from tests.state.golden import add_to

FILE = Path(__file__).with_name("features.tar.xz")
SCHEMA = pa.schema([("e", pa.int64()), ("t", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
KEYS = ("a", "b", "é", None)
EVENTS, BATCHES, ARCHIVED = 900, 3, 2
QUERY = Query(
    look_backs(10, 400),
    {
        "n": sash.count(), "total": sash.sum("x", where="x > 2"), "mean": sash.mean("x"),
        "held": sash.last("e", n=3), "kinds": sash.count_distinct("x"), "about": sash.distinct("x"),
        "smoothed": sash.ewm("x", alpha=0.25), "best": sash.argmax("e", by="x"),
    },
)  # fmt: skip
BOUND = BoundRolling(QUERY, SCHEMA, "t", ("k",))


def batches() -> list[pa.Table]:
    choice = random.Random(4)
    rows = [
        {
            "e": e,
            "t": e + choice.randrange(5),
            "k": choice.choice(KEYS),
            "x": choice.choice([None, *range(9)]),
        }
        for e in range(EVENTS)
    ]
    table, size = pa.Table.from_pylist(rows, schema=SCHEMA), EVENTS // BATCHES
    return [table.slice(first, size) for first in range(0, EVENTS, size)]


def publish(folder: Path, *, first: int, last: int) -> None:
    """The batches from `first` to before `last`."""
    publisher = Publisher.of(BOUND, folder)
    for batch, table in list(enumerate(batches()))[first:last]:
        publisher.begin(batch)
        publisher.done(batch, publisher.publish(table, batch))


def complete(folder: Path) -> None:
    """Write the archive, by way of an empty folder, when it is not there."""
    if not FILE.exists():
        publish(folder, first=0, last=ARCHIVED)
        (folder / "lock.mdb").unlink()
        add_to(FILE, folder, name="features")


def unpack(folder: Path) -> Path:
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "features"
