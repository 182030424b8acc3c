"""How the look-backs of a hot key on a stream pass from its owner to several workers, and back.

A key becomes hot in the middle of a run, when all its history lies with its owner. So workers get its rows
for as long as the longest look-back W before they answer; and the owner gets them as long before it answers
again. With S, one more than the newest time before the batch in which this begins:

    row at               goes to                       its look-backs are computed by
    τ < S                the owner                     the owner
    S ≤ τ < T = S + W    the owner and the workers     the owner
    T ≤ τ                the workers                   the worker of its pane

It ends with U, one more than the newest time before a later batch, where T ≤ U:

    U ≤ τ < V = U + W    the owner and the workers     the worker of its pane
    V ≤ τ                the owner                     the owner

No row at S or later has come before the first batch, so workers have all that a look-back from T on holds;
nor any at U or later before the last one. What is late goes to the owner, which judges it as always.

>>> regime = Regime.begun(7, shares=8, length=5, newest=99, reach=40)
>>> regime.since, regime.answers
(100, 140)
>>> regime.ended(newest=120, reach=40) is None  # no row of the workers' has come
True
>>> regime.ended(newest=199, reach=40)
Regime(key=7, shares=8, length=5, since=100, answers=140, until=200, back=240)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sash.arrays import Ints, Mask

_EVER = 2**62
"""Later than any time."""


@dataclass(frozen=True)
class Regime:
    """Of the keys with one hash: a batch may begin it, and a later one end it."""

    key: int
    """The hash. Other keys that have it are shared as well, which changes no answer."""
    shares: int
    """Among how many workers the rows are shared, R."""
    length: int
    """Of a pane, p."""
    since: int
    """S."""
    answers: int
    """T."""
    until: int = _EVER
    """U, once it has ended."""
    back: int = _EVER
    """V."""

    @classmethod
    def begun(cls, key: int, *, shares: int, length: int, newest: int, reach: int) -> Regime:
        """With the batch after the one that has brought the stream to the time `newest`; `reach` is W."""
        return cls(key, shares, length, newest + 1, newest + 1 + reach)

    def ended(self, *, newest: int, reach: int) -> Regime | None:
        """With such a batch. None where workers have answered for no row yet: the owner has all of them."""
        if newest < self.answers:
            return None
        return replace(self, until=newest + 1, back=newest + 1 + reach)

    @property
    def ends(self) -> bool:
        return self.until < _EVER

    def is_over(self, watermark: int) -> bool:
        """Whether the owner has everything once this watermark was reached."""
        return self.back <= watermark

    def to_owner(self, times: Ints) -> Mask:
        """Which rows it gets."""
        owned: Mask = (times < self.answers) | (times >= self.until)
        return owned

    def to_workers(self, times: Ints) -> Mask:
        """Which rows they get."""
        shared: Mask = (times >= self.since) & (times < self.back)
        return shared

    def of_workers(self, times: Ints) -> Mask:
        """For which rows they answer."""
        answered: Mask = (times >= self.answers) & (times < self.back)
        return answered
