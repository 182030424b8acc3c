"""Joins in words: what they mean and how they are found, for `explain`, reprs and notebooks."""

from __future__ import annotations

from sash.operators.joins.bound import BoundJoin, BoundSides
from sash.operators.joins.bound_asof import BoundAsof

ALONE = {
    "inner": "",
    "left": "; events of the left in no pair with nulls",
    "right": "; events of the right in no pair with nulls",
    "full": "; events of both sides in no pair with nulls",
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
    asked = bound.tree or f"where(l, r), which is evaluated row by row: {bound.why_untraced}"
    where = "" if bound.join.where is None else f", and {asked}"
    alone = f"{ALONE[join.how]}, at τ + {join.within}" if join.kept else ""
    return {
        "pairs": f"(l, r) with {_same(bound)}, |τ_l − τ_r| ≤ {join.within}{where}{alone}",
        "order": "in the order of (max(τ_l, τ_r), arrival of l, arrival of r), each exactly once",
    }


def search(bound: BoundJoin | BoundAsof) -> dict[str, str]:
    """How they are found, and why so."""
    if isinstance(bound, BoundAsof):
        return {"how": "merge", "why": "both sides are gone through once by time, with one slot per key"}
    return {"how": bound.strategy.how, "why": bound.strategy.why}


def _same(bound: BoundSides) -> str:
    return " and ".join(f"left.{key.left} = right.{key.right}" for key in bound.keys) or "any key"
