"""When two neighbours become one, so that a growing list of them stays short.

    older ≤ newer        as the carry of a binary counter

What is rewritten at least doubles, so that each element is rewritten a logarithmic number of times and the
sizes of what is left decrease. `small` ones are merged whatever their sizes.
"""

from __future__ import annotations


def carries(older: int, newer: int, *, small: int = 0) -> bool:
    """Whether an older part of so many elements is merged with the newer one beside it.

    >>> sizes = []
    >>> for _ in range(1000):
    ...     sizes.append(1)
    ...     while len(sizes) > 1 and carries(*sizes[-2:]):
    ...         sizes[-2:] = [sum(sizes[-2:])]
    >>> sizes
    [512, 256, 128, 64, 32, 8]
    """
    return older <= newer or older + newer <= small
