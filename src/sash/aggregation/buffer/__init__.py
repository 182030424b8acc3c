"""The chunked window buffer: the retained part of a stream, foldable over any range."""

from sash.aggregation.buffer.window import WindowBuffer

__all__ = ["WindowBuffer"]
