"""What Spark writes beside the state of a streaming query: small files of JSON, read without Spark.

metadata          {"id": …}                        the query, for the life of its checkpoint
offsets/<n>       version, {"conf": …}, sources    written before micro-batch n
commits/<n>       version, {"nextBatchWatermarkMs": …}    written when it is done
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from sash.errors import StoreError
from sash.runtimes.spark.inspection.arrow_folder import ArrowFolder, SparkPath


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder of Spark's."""

    place: str
    """As Spark calls it."""
    query: str
    """Spark's identifier of the query."""
    committed: int | None
    """The last micro-batch that is done; None before there is one."""
    begun: int | None
    """The last micro-batch that was begun: one more when it is to be executed again."""
    watermark: int | None
    """Of the next micro-batch, in Spark's milliseconds; None before there is one."""

    @classmethod
    def of(cls, place: SparkPath) -> Self:
        """StoreError when the folder is no checkpoint, or one that cannot be read."""
        folder = ArrowFolder.of(place)
        try:
            query = json.loads(folder.text("metadata"))["id"]
            committed, begun = (max(folder.numbers(log), default=None) for log in ("commits", "offsets"))
            commit = {} if committed is None else _json_line(folder.text(f"commits/{committed}"))
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise StoreError(f"the checkpoint at {folder.place} cannot be read: {error}") from error
        return cls(folder.place, str(query), committed, begun, commit.get("nextBatchWatermarkMs") or None)

    @property
    def due(self) -> int:
        """The next micro-batch, as Spark decides."""
        if self.begun is None:
            return 0
        return self.begun + (self.begun == self.committed)

    @staticmethod
    def looks_like_one(place: SparkPath) -> bool:
        folder = ArrowFolder.of(place)
        return folder.has_file("metadata") and folder.has_folder("offsets")


def _json_line(text: str) -> dict[str, Any]:
    """The first line after the version."""
    parsed = json.loads(text.splitlines()[1])
    if not isinstance(parsed, dict):
        raise ValueError("a commit does not hold what Spark writes there")
    return parsed
