"""Which batches of streams are in flight, as their checkpoints have it.

    offsets/n ─────────── batch n is in flight ─────────── commits/n

Spark writes both files as a whole, before and after all that a batch does, whatever runs it. A batch that
an earlier process had begun may not have been begun again yet: only those after `since` count.
"""

from __future__ import annotations

import json
from pathlib import Path

RECENT = 3
"""So many batches tell how long the next one takes: one of them may have begun in a process that died."""


def newest_begun(checkpoint: Path) -> int:
    """The number of the newest batch that has begun; −1 when there is none."""
    return max(_numbers(checkpoint / "offsets"), default=-1)


def is_in_flight(checkpoint: Path, *, since: int) -> bool:
    """Whether a batch after `since` has begun and is not committed."""
    # Commits are read first: a batch that ends in between counts as in flight, and is looked at again.
    committed = max(_numbers(checkpoint / "commits"), default=-1)
    return newest_begun(checkpoint) > max(since, committed)


def seconds_of_a_batch(checkpoint: Path, *, otherwise: float) -> float:
    """How long the quickest one of the last few batches took."""
    ended = sorted(_numbers(checkpoint / "commits"))[-RECENT:]
    took = [
        (checkpoint / "commits" / str(number)).stat().st_mtime
        - (checkpoint / "offsets" / str(number)).stat().st_mtime
        for number in ended
    ]
    return min(took, default=otherwise)


def _numbers(log: Path) -> list[int]:
    return [int(path.name) for path in log.iterdir() if path.name.isdigit()] if log.exists() else []


def newest_file_done(checkpoint: Path) -> int:
    """The number of the newest file that committed batches have read from every source; -1 where there is
    none. A batch may have two: one that was listed before a kill, and one that came after it."""
    committed = max(_numbers(checkpoint / "commits"), default=-1)
    if committed < 0:
        return -1
    _version, _settings, *offsets = (checkpoint / "offsets" / str(committed)).read_text().splitlines()
    return min(json.loads(offset)["logOffset"] for offset in offsets)
