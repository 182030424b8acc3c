"""A source of a ScaleGate: what it has added, and what of it is ready.

>>> import numpy as np
>>> import pyarrow as pa
>>> source = GateSource("a", number=0, input=0, latest=0)
>>> source.hold(Part(0, np.array([1, 4, 6]), pa.table({"t": [1, 4, 6]})))
>>> [part.times.tolist() for part in source.ready(4)], source.held
([[1, 4]], 1)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from sash.errors import OutOfOrder
from sash.operators.order.interleaved import Part


@dataclass
class GateSource:
    """Its number orders tuples of one time; `latest` is how far it has come."""

    name: str
    number: int
    input: int
    latest: int
    parts: deque[Part] = field(default_factory=deque)
    held: int = 0
    """How many tuples are not ready yet."""
    gone: bool = False

    def hold(self, part: Part) -> None:
        """Take rows in that are not older than anything before."""
        if part.times[0] < self.latest:
            raise OutOfOrder(
                f"source {self.name!r} is at time {self.latest}; it cannot add {part.times[0]}"
            )
        self.parts.append(part)
        self.held += len(part)
        self.latest = int(part.times[-1])

    def ready(self, floor: int) -> list[Part]:
        """Take out what is not after `floor`."""
        taken = []
        while self.parts and self.parts[0].times[0] <= floor:
            part = self.parts.popleft()
            if part.times[-1] > floor:
                part, rest = part.cut(floor)
                self.parts.appendleft(rest)
            taken.append(part)
            self.held -= len(part)
        return taken
