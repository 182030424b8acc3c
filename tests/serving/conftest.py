"""A real Redis server, and a store in memory that can be looked into."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.aggregation.conftest import redis_server
from tests.serving.memory_place import MemoryPlace

__all__ = ["redis_server"]


@pytest.fixture(params=["lmdb", pytest.param("redis", marks=pytest.mark.redis)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind."""
    if request.param == "lmdb":
        return str(tmp_path / "features")
    server = request.getfixturevalue("redis_server")
    server.client().flushall()
    return f"{server.url}#payments"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> MemoryPlace:
    """What every store of the test is."""
    place = MemoryPlace()
    for module in ("publisher", "online"):
        monkeypatch.setattr(f"sash.serving.{module}.place_of", lambda store, **_: place)
    return place
