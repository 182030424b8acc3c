"""Windows over a stream: what is held between two batches, and what is reported when time passes."""

from sash.operators.streaming.operator import WindowOperator

__all__ = ["WindowOperator"]
