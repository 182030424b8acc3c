"""The implicit forest: complete binary trees as aligned blocks of positions. No pointers, no rotation.

    block (level, index)  covers the positions  [index · 2^level, (index + 1) · 2^level)
    its children are      (level − 1, 2 · index)  and  (level − 1, 2 · index + 1)

Position i of the stream is the leaf (0, i) for ever. A block exists once its last position has arrived,
never changes, and is useless once its first position has left: so the trees of a window [lo, hi) are
arithmetic on lo and hi. Every range is a short run of blocks that first grow and then shrink:

    [3, 14)  =  [3,4) [4,8) [8,12) [12,14)            at most 2 · log₂(hi − lo) of them

The growing flank and the shrinking flank are what the MTA paper calls the forest of complete pairs; its
'Tails' are the shrinking flank.
"""

from __future__ import annotations

from collections.abc import Iterator

LevelAndIndex = tuple[int, int]
"""(level, index)."""


def blocks(lo: int, hi: int) -> Iterator[LevelAndIndex]:
    """The fewest aligned blocks that cover [lo, hi), oldest first.

    >>> list(blocks(3, 14))
    [(0, 3), (2, 1), (2, 2), (1, 6)]
    >>> list(blocks(5, 5))
    []
    """
    while lo < hi:
        level = (hi - lo).bit_length() - 1
        if lo:
            aligned = (lo & -lo).bit_length() - 1
            level = min(level, aligned)
        yield level, lo >> level
        lo += 1 << level


def start(block: LevelAndIndex) -> int:
    """The first position of a block.

    >>> start((2, 3))
    12
    """
    level, index = block
    return index << level


def stop(block: LevelAndIndex) -> int:
    """One past the last position of a block.

    >>> stop((2, 3))
    16
    """
    level, index = block
    return (index + 1) << level
