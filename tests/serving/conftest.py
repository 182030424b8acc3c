"""A real Redis server, and a store in memory that can be looked into."""

from __future__ import annotations

import pytest

from tests.aggregation.conftest import redis_server
from tests.serving.memory_place import MemoryPlace

__all__ = ["redis_server"]


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> MemoryPlace:
    """What every store of the test is."""
    place = MemoryPlace()
    for module in ("publisher", "online"):
        monkeypatch.setattr(f"sash.serving.{module}.place_of", lambda store, **_: place)
    return place
