"""Paircount twice: a tuple that its keys share, and one copy of the tuple for each of its keys.

Both count the same pairs of words in the same windows, with the same operator at the same degree.
*Shared* is one O+: its instances read one stream of tweets, and each handles the keys that are its own.
*Flat map* is what engines without sets of keys do: a first stage of as many instances, to which tweets
are dealt in turn, copies a tweet once for each of its pairs, and the O+ reads the copies, one key each,
merged into the order of time.
"""

from __future__ import annotations

from functools import partial
from threading import Thread

import numpy as np
import pyarrow as pa

import sash
from benchmarks.harness import Table, race
from benchmarks.stretch.tweets import DISTANCES, TWEETS, pair_keys, tweets
from sash.operators import Aggregate, InBulk, Input, setup

LIMITS = {"L": 1 / 2.3, "M": 1 / 3, "H": 1 / 3}
WINDOW = {"advance": 4_000, "size": 4_000}
SHARES = 8
BATCH = 2_000
COPIED = pa.schema([*(field for field in TWEETS.schema if field.name != "words"), ("pair", pa.int64())])


def counting_shared(distance: int) -> Aggregate:
    keys = InBulk(lambda rows: pair_keys(rows["words"], distance), distinct=True)
    return Aggregate(**WINDOW, inputs=TWEETS, keys=keys, key="pair", shares=SHARES, n=sash.count())


def counting_copies() -> Aggregate:
    return Aggregate(
        **WINDOW, inputs=Input(COPIED, time="t"), keys="pair", key="pair", shares=SHARES, n=sash.count()
    )


def shared(batches: list[pa.Table], distance: int, degree: int) -> pa.Table:
    with setup(counting_shared(distance), degree, degree, capacity=1 << 24) as operator:
        for batch in batches:
            operator.add("source", batch)
        operator.stop()
        return _drained(operator)


def _drained(operator: sash.operators.ElasticOperator) -> pa.Table:
    found = [operator.operator.schema.empty_table()]
    while (rows := operator.get("reader")) is not None:
        found.append(rows)
    return pa.concat_tables(found)


def copies(batch: pa.Table, distance: int) -> pa.Table:
    """The flat map: every tuple once for each of its pairs."""
    offsets, keys = pair_keys(batch["words"], distance)
    source = np.repeat(np.arange(batch.num_rows), np.diff(offsets))
    return batch.drop_columns(["words"]).take(pa.array(source)).append_column("pair", pa.array(keys))


def flat_map(batches: list[pa.Table], distance: int, degree: int) -> pa.Table:
    names = [f"map {number}" for number in range(degree)]

    def stage(number: int) -> None:
        for batch in batches:
            mine = np.arange(number, batch.num_rows, degree)
            operator.add(names[number], copies(batch.take(pa.array(mine)), distance))

    with setup(counting_copies(), degree, degree, sources=names, capacity=1 << 24) as operator:
        threads = [Thread(target=stage, args=(number,)) for number in range(degree)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        operator.stop()
        return _drained(operator)


def measure(*, quick: bool, rounds: int) -> Table:
    table = Table("paircount, 2 instances: one tuple for all its keys", yardstick="flat map")
    table.start()
    for level, distance in DISTANCES.items():
        data = tweets(400 if quick else 12_000)
        batches = [data.slice(at, BATCH) for at in range(0, data.num_rows, BATCH)]
        by = [("time", "ascending"), ("pair", "ascending")]
        one, other = (form(batches, distance, 2).sort_by(by) for form in (shared, flat_map))
        if not one.equals(other):
            raise AssertionError(f"paircount {level}: the two forms disagree")
        contenders = {"shared": shared, "flat": flat_map}
        runs = {name: partial(form, batches, distance, 2) for name, form in contenders.items()}
        # Short runs and many of them: both cores are needed, and seldom free together.
        best = race(runs, rounds=rounds if quick else 8 * rounds)
        ratio = best["shared"] / best["flat"]
        table.add(f"{level}, {_name(distance)}", best["shared"], ratio, limit=LIMITS[level])
    return table


def _name(distance: int) -> str:
    return "any distance" if distance == DISTANCES["H"] else f"at most {distance} words apart"
