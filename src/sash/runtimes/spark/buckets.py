"""Bucket numbers that Spark spreads evenly: it hashes them again on their way to a partition.

    partition of a bucket  =  murmur3(bucket, seed 42) mod P

Buckets 0 … 7 on 8 partitions use only four of them. So numbers are taken in ascending order, each for the
partition it falls on, until every partition has its share.

>>> bucket_ids(partitions=2, each=2)
(2, 0, 4, 1)
>>> [partition_of(bucket, 2) for bucket in bucket_ids(partitions=2, each=2)]
[0, 1, 0, 1]
"""

from __future__ import annotations

from functools import cache
from itertools import count

_MASK = 0xFFFFFFFF
_SEED = 42


@cache
def bucket_ids(*, partitions: int, each: int) -> tuple[int, ...]:
    """`each` numbers for each partition; number i falls on partition i mod `partitions`."""
    found: list[list[int]] = [[] for _ in range(partitions)]
    missing = partitions * each
    for bucket in count():
        mine = found[partition_of(bucket, partitions)]
        if len(mine) < each:
            mine.append(bucket)
            missing -= 1
        if not missing:
            break
    return tuple(mine[turn] for turn in range(each) for mine in found)


def partition_of(bucket: int, partitions: int) -> int:
    """Where Spark's hash partitioning sends a row whose only key is this bigint."""
    return murmur3(bucket) % partitions


def murmur3(number: int) -> int:
    """Spark's `hash` of a bigint: MurmurHash3 (A. Appleby) for 32 bits over its two halves, low first."""
    state = _SEED
    for half in (number & _MASK, (number >> 32) & _MASK):
        mixed = _rotated(half * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
        state = (_rotated(state ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 8
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor & _MASK
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _MASK
