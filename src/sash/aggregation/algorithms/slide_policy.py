"""A slide policy, called with a prefix of the window.

    policy(total, old)  is true   ⇔   at least the prefix that folds to `old` leaves the window

`total` and `old` are lowered folds of the window and of a prefix from its head. The policy must be
monotone: true for a prefix implies true for every shorter one. Then the longest prefix that leaves is
found by descent through a tree of folds, and it is the one that a scan from the head would find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregation.elements import ABSENT, Element
from sash.aggregation.monoid import Monoid
from sash.errors import PredicateError

SlidePolicy = Callable[[Any, Any], bool]


class PolicyQuestion:
    """One policy and one total: answers for a prefix's fold whether that prefix leaves."""

    def __init__(self, policy: SlidePolicy, monoid: Monoid, total: Element) -> None:
        self._policy = policy
        self._monoid = monoid
        self._total = self._value(total)

    def _value(self, element: Element) -> Any:
        return self._monoid.nothing if element is ABSENT else self._monoid.lower(element)

    def leaves(self, prefix: Element) -> bool:
        old = self._value(prefix)
        try:
            answer = self._policy(self._total, old)
        except Exception as error:
            raise PredicateError(
                f"policy raised {type(error).__name__}: {error}; it was called with "
                f"total={self._total!r}, old={old!r} and must return True or False"
            ) from error
        if not isinstance(answer, bool | np.bool_):
            raise PredicateError(
                f"policy must return True or False; for total={self._total!r}, old={old!r} "
                f"it returned {answer!r}"
            )
        return bool(answer)
