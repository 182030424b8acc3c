"""Joins in words: what they mean and how they are found, for `explain`, reprs and notebooks."""

from __future__ import annotations

from sash.operators.joins.asof.bound_asof import ASOF, BoundAsof
from sash.operators.joins.bound_join import BoundJoin, BoundSides

ALONE = {
    "inner": "",
    "left": "; left events without a pair, with nulls",
    "right": "; right events without a pair, with nulls",
    "full": "; events of both sides without a pair, with nulls",
}
ANSWERS = {
    "backward": ("the latest right event with τ_r ≤ τ_l", "τ_l − τ_r"),
    "forward": ("the earliest right event with τ_r ≥ τ_l", "τ_r − τ_l"),
    "nearest": ("the right event with the least |τ_l − τ_r|, of two the earlier,", "|τ_l − τ_r|"),
}
"""Which event, and how far away it is."""


def title(bound: BoundJoin | BoundAsof) -> str:
    """A few words, such as 'join within 5 minutes'."""
    if isinstance(bound, BoundAsof):
        limit = "" if bound.join.tolerance is None else f" within {bound.join.tolerance}"
        return f"as-of join, {bound.join.direction}{limit}"
    outer = "" if bound.join.how == "inner" else f"{bound.join.how} outer "
    return f"{outer}join within {bound.join.within}"


def meaning(bound: BoundJoin | BoundAsof) -> dict[str, str]:
    """Which pairs there are, and their order."""
    if isinstance(bound, BoundAsof):
        event, distance = ANSWERS[bound.join.direction]
        limit = "" if bound.join.tolerance is None else f" and {distance} ≤ {bound.join.tolerance}"
        return {
            "pairs": f"each left event with {event}{limit}, {_same(bound)}; with nulls if there is none",
            "order": "in the order of (τ_l, arrival of l); of right events of one time the last arrived",
        }
    join = bound.join
    condition = bound.tree or f"where(l, r), which is evaluated row by row: {bound.why_untraced}"
    where = "" if bound.join.where is None else f", and {condition}"
    alone = f"{ALONE[join.how]}, at τ + {join.within}" if join.kept else ""
    return {
        "pairs": f"(l, r) with {_same(bound)}, |τ_l − τ_r| ≤ {join.within}{where}{alone}",
        "order": "in the order of (max(τ_l, τ_r), arrival of l, arrival of r), each exactly once",
    }


def search(bound: BoundJoin | BoundAsof) -> dict[str, str]:
    """How they are found, and why so."""
    if isinstance(bound, BoundAsof):
        return {
            "how": ASOF,
            "why": "both sides in the order of time, with one slot per key",
        }
    return {"how": bound.strategy.how, "why": bound.strategy.why}


COSTS = {
    "hash": "each event is compared with the events of its group that are close in time",
    "band cells": "each event is compared with the events of neighbouring cells that are close in time",
    "join matrix": "each event is compared with all events that are close in time",
}


def cost(bound: BoundJoin | BoundAsof) -> str:
    """What an event costs."""
    if isinstance(bound, BoundAsof):
        return "compiled; sorting both sides by time, then one step per event, whatever the tolerance"
    interpreted = bound.join.where is not None and not bound.tree
    return f"{COSTS[bound.strategy.how]}{'; where is called for each pair' if interpreted else ''}"


def keeps(bound: BoundJoin | BoundAsof, *, bounded: bool, on_spark: bool) -> str:
    """What is held, and until when."""
    if bounded:
        held = "each task has the rows of its buckets" if on_spark else "both inputs are"
        return f"no state; {held} in memory while it runs"
    if not isinstance(bound, BoundAsof):
        return (
            f"the rows of both sides of the last {bound.join.within}, and those that wait for the watermark"
        )
    newest = "" if bound.join.direction == "forward" else "the newest right row per key, and "
    limit = "" if bound.join.tolerance is None else f"; nothing older than {bound.join.tolerance} is needed"
    return f"{newest}the rows of both sides that wait for the watermark{limit}"


def _same(bound: BoundSides) -> str:
    return " and ".join(f"left.{key.left} = right.{key.right}" for key in bound.keys) or "any key"
