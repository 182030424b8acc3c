"""Windows over a stream: what is held between two batches, and what is reported when time passes."""

from sash.operators.bound import BoundQuery
from sash.operators.streaming.operator import WindowOperator
from sash.operators.streaming.paned import PanedOperator
from sash.operators.streaming.protocol import StreamOperator


def operator_for(bound: BoundQuery) -> type[StreamOperator]:
    """What keeps the windows of a bucket: panes where they suffice, otherwise events."""
    return PanedOperator if PanedOperator.suits(bound) else WindowOperator


__all__ = ["PanedOperator", "WindowOperator", "operator_for"]
