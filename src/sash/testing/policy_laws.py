"""Is a slide policy monotone? Tried on samples, with the counterexample in the message.

    wsp(total, P) true  ⟹  wsp(total, P′) true for every shorter prefix P′ of P

A policy that is not has no meaning of its own: a scan from the head stops at the first 'no', while a
descent in a tree may land behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sash.errors import ArgumentError, LawViolation
from sash.semantics.event import Event
from sash.semantics.windows import PolicyWindow


def monotone(policy: PolicyWindow, samples: Iterable[Mapping[str, Any]]) -> int:
    """Try the policy on every prefix of every run of `samples` (rows by column name, a few dozen);
    raise LawViolation on the first answer that contradicts a shorter one; return how many runs held.

    >>> from sash.aggregation.built_in import sum
    >>> from sash.semantics.windows import policy
    >>> at_most_10 = policy(lambda total, old: total.s - old.s >= 10, track={"s": sum("x")})
    >>> monotone(at_most_10, [{"x": 2}, {"x": 7}, {"x": 4}])
    6
    >>> monotone(at_most_10, [{"x": 2}, {"x": -7}, {"x": 14}])
    Traceback (most recent call last):
        ...
    sash.errors.LawViolation: policy(every 1) is not monotone: it keeps the first 1 of these events and \
then evicts the first 2 of them
      {'x': 2}
      {'x': -7}
      {'x': 14}
    """
    events = [Event(position, position, values=dict(row)) for position, row in enumerate(samples)]
    if not events:
        raise ArgumentError("samples", [], "given at least one row")
    held = 0
    for start in range(len(events)):
        for stop in range(start + 1, len(events) + 1):
            _check(policy, events[start:stop])
            held += 1
    return held


def _check(policy: PolicyWindow, window: list[Event]) -> None:
    total, kept = policy.weigh(window), None
    for length in range(1, len(window) + 1):
        if not policy.evicts(total, policy.weigh(window[:length])):
            kept = kept or length
        elif kept:
            rows = "\n".join(f"  {dict(event.values)}" for event in window)
            raise LawViolation(
                f"{policy} is not monotone: it keeps the first {kept} of these events and then evicts "
                f"the first {length} of them\n{rows}"
            )
