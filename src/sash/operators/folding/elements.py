"""Elements of a monoid in columns: events that are lifted, or folds of several of them.

    known[i]  ⟺  element i is the fold of at least one event without nulls

An element that is not known is the identity, and lowers to the monoid's `nothing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sash.aggregation.kernels.compiler.template_words import Columns
from sash.arrays import Array, Mask


@dataclass(frozen=True)
class Elements:
    """One numpy column for each field of an element."""

    columns: Columns
    known: Mask | None
    """None: all of them."""

    def __len__(self) -> int:
        return len(self.columns[0])

    def span(self, lo: int, hi: int) -> Elements:
        """The elements at lo ≤ i < hi, not copied."""
        return Elements(
            tuple(column[lo:hi] for column in self.columns),
            None if self.known is None else self.known[lo:hi],
        )

    @classmethod
    def joined(cls, parts: Sequence[Elements], lo: int, hi: int) -> Elements:
        """The elements lo ≤ i < hi of the first part followed by the second, …"""
        pieces, base = [], 0
        for part in parts:
            pieces.append(part.span(max(lo - base, 0), max(hi - base, 0)))
            base += len(part)
        return cls._merged(pieces, np.concatenate)

    @classmethod
    def dealt(cls, parts: Sequence[Elements]) -> Elements:
        """The first of every part, then the second of every part, …: parts are equally long."""
        return cls._merged(parts, lambda arrays: np.stack(arrays, axis=1).ravel())

    @classmethod
    def mixed(cls, first: Elements, second: Elements, is_first: Mask) -> Elements:
        """Elements of the first where `is_first`, of the second elsewhere, both in their order."""
        places = np.empty(len(is_first), np.int64)
        places[is_first] = np.arange(len(first))
        places[~is_first] = np.arange(len(first), len(is_first))
        both = cls.joined([first, second], 0, len(is_first))
        known = None if both.known is None else both.known[places]
        return cls(tuple(column[places] for column in both.columns), known)

    @classmethod
    def _merged(cls, parts: Sequence[Elements], merge: Callable[[list[Array]], Array]) -> Elements:
        masks = [np.ones(len(part), np.bool_) if part.known is None else part.known for part in parts]
        everywhere = all(part.known is None for part in parts)
        fields = zip(*(part.columns for part in parts), strict=True)
        return cls(tuple(merge(list(field)) for field in fields), None if everywhere else merge(masks))
