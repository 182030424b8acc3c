"""Skylines as a monoid: what panes, and windows from panes, are computed by.

element  =  a skyline, or a few points as they come;        lower  =  how many points it has
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.pisa_papers.skyline_function import Points, skyline, union
from sash.aggregation.monoid import Monoid

FEATURES = tuple("abcdef")
LOOSE = 512
"""Points that are kept as they come: a skyline is not computed again for each packet."""
Found = Points | tuple[tuple[float, ...], ...]
"""A skyline, or fewer points than LOOSE of which some may not be in it."""


def lifted(*point: float) -> Found:
    return (point,)


def merged(a: Found, b: Found) -> Found:
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) + len(b) < LOOSE:
        return a + b
    both = union(cleaned(a), cleaned(b))
    # Further packets cost less beside points as they come.
    return tuple(map(tuple, both.tolist())) if len(both) < LOOSE // 2 else both


def cleaned(found: Found) -> Points:
    return skyline(np.array(found).reshape(-1, len(FEATURES))) if isinstance(found, tuple) else found


def size(found: Found) -> int:
    return len(cleaned(found))


SKYLINE = Monoid(
    "skyline", FEATURES, tuple, lifted, merged, size, commutative=True,
    encode=lambda found: cleaned(found).tobytes(),
    decode=lambda data: np.frombuffer(data).reshape(-1, len(FEATURES)),
    result=lambda types: pa.int64(),
)  # fmt: skip
