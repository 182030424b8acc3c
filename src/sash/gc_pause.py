"""Python's garbage collector while much is loaded that stays.

Modules and machine code are some 250,000 objects, of which none is garbage. The collector would walk over
them again and again as they come: a quarter of a second of the first query.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000
"""Objects that a block leaves behind. Fewer are looked at in a moment, and to count what is frozen, as
workers have all their modules, takes longer."""


@contextmanager
def paused_collector() -> Iterator[None]:
    """No collection in the block, and afterwards none that begins with what the block has loaded."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY and not gc.get_freeze_count():
            # Together they move all objects to the oldest generation, which is seldom looked at.
            gc.freeze()
            gc.unfreeze()
        gc.enable()
