"""What was found in a checkpoint: the stateful stages of its query, and the buckets of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sash.operators.saved_operator_contents import Inventory
from sash.runtimes.spark.inspection.query_words import Description
from sash.runtimes.spark.state.fingerprint import fingerprint


@dataclass(frozen=True)
class BucketSeen:
    """One bucket of keys."""

    number: int
    partition: int | None
    """Of Spark's state store; None in a decoupled one."""
    inventory: Inventory


@dataclass(frozen=True)
class StageSeen:
    """One stateful step, and the query that it computes."""

    where: str
    description: Description
    buckets: tuple[BucketSeen, ...]
    """Those that hold something, by number."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.description).hex()

    @property
    def keys(self) -> int | None:
        """Of all buckets; None where they are not written down."""
        counts = [bucket.inventory.keys for bucket in self.buckets]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def chunks(self) -> int:
        return sum(bucket.inventory.chunks for bucket in self.buckets)

    @property
    def bytes(self) -> int:
        return sum(bucket.inventory.bytes for bucket in self.buckets)

    @property
    def watermark(self) -> int | None:
        """How far the bucket that has come farthest has come: others learn of it when they have work."""
        watermarks = [bucket.inventory.watermark for bucket in self.buckets]
        return max((watermark for watermark in watermarks if watermark is not None), default=None)


class StateSeen(NamedTuple):
    """What a store has of a query in epochs."""

    epoch: int
    """The last one that is done."""
    stages: list[StageSeen]
    wrong: list[str]
    """What keeps the query from going on."""
