"""What Spark writes beside the state of a streaming query: small files of JSON, read without Spark.

metadata          {"id": …}                        the query, for the life of its checkpoint
offsets/<n>       version, {"conf": …}, sources    written before micro-batch n
commits/<n>       version, {"nextBatchWatermarkMs": …}    written when it is done
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sash.errors import StoreError


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder of Spark's."""

    path: Path
    query: str
    """Spark's identifier of the query."""
    committed: int | None
    """The last micro-batch that is done; None before there is one."""
    begun: int | None
    """The last micro-batch that was begun: one more when it is to be executed again."""
    watermark: int | None
    """Of the next micro-batch, in Spark's milliseconds; None before there is one."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """StoreError when the folder is no checkpoint, or one that cannot be read."""
        try:
            query = json.loads((path / "metadata").read_text(encoding="utf-8"))["id"]
            committed, begun = _newest(path / "commits"), _newest(path / "offsets")
            commit = {} if committed is None else _json_line(path / "commits" / str(committed))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"the checkpoint at {path} cannot be read: {error}") from error
        return cls(path, str(query), committed, begun, commit.get("nextBatchWatermarkMs") or None)

    @staticmethod
    def looks_like_one(path: Path) -> bool:
        return (path / "metadata").is_file() and (path / "offsets").is_dir()


def _newest(folder: Path) -> int | None:
    if not folder.is_dir():
        return None
    return max((int(file.name) for file in folder.iterdir() if file.name.isdecimal()), default=None)


def _json_line(file: Path) -> dict[str, Any]:
    """The first line after the version."""
    lines = file.read_text(encoding="utf-8").splitlines()
    parsed = json.loads(lines[1])
    if not isinstance(parsed, dict):
        raise ValueError(f"{file.name} does not hold what Spark writes there")
    return parsed
