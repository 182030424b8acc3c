"""Bucket numbers that Spark spreads evenly: it hashes them again on their way to a partition.

    partition of a bucket  =  murmur3(bucket, seed 42) mod P

Buckets 0 … 7 on 8 partitions use only four of them. So numbers are taken in ascending order, each for the
partition it falls on, until every partition has its share.

>>> bucket_ids(partitions=2, each=2)
(2, 0, 4, 1)
>>> [partition_of(bucket, 2) for bucket in bucket_ids(partitions=2, each=2)]
[0, 1, 0, 1]
>>> [partition_of(bucket, 4) for bucket in bucket_ids_on((3, 3, 0), partitions=4)]
[3, 3, 0]
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import count

import numpy as np

from sash.aggregation.kernels.rows.murmur3 import NO_NULLS, SEED, hash_longs

BUCKETS_PER_PARTITION = 4
"""Where a bucket is a group of rows in memory: a few more than partitions even them out."""


@cache
def bucket_ids(*, partitions: int, each: int, first: int = 0) -> tuple[int, ...]:
    """`each` numbers for each partition, none below `first`; number i falls on partition i mod
    `partitions`."""
    return bucket_ids_on(
        tuple(number % partitions for number in range(partitions * each)),
        partitions=partitions,
        first=first,
    )


def bucket_ids_on(wanted: Sequence[int], *, partitions: int, first: int = 0) -> tuple[int, ...]:
    """Number i falls on partition `wanted[i]`."""
    missing, found = Counter(wanted), defaultdict[int, list[int]](list)
    for bucket in count(first):
        partition = partition_of(bucket, partitions)
        if missing[partition]:
            found[partition].append(bucket)
            missing[partition] -= 1
        if not missing.total():
            break
    turns = {partition: iter(mine) for partition, mine in found.items()}
    return tuple(next(turns[partition]) for partition in wanted)


def partition_of(bucket: int, partitions: int) -> int:
    """Where Spark's hash partitioning sends a row whose only key is this bigint."""
    return murmur3(bucket) % partitions


def murmur3(number: int) -> int:
    """Spark's `hash` of a bigint."""
    state = np.array([SEED], np.uint32)
    hash_longs(np.array([number]).view(np.uint64), NO_NULLS, state)
    return int(state.view(np.int32)[0])
