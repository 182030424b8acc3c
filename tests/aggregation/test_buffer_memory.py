"""A window that is larger than the memory it may take: measured in a process of its own."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from sash.aggregation.buffer.storey import GROUP, KEPT
from sash.aggregation.buffer.window import CHUNK, FANOUT

PROGRAM = Path(__file__).with_name("slide_a_large_window.py")
MB = 1 << 20


@pytest.mark.parametrize(("exponent", "megabytes"), [(21, 96), (25, 512)])
def test_a_large_window_over_lmdb_stays_within_its_memory(
    tmp_path: Path, exponent: int, megabytes: int
) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path), str(exponent)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured = json.loads(output)
    print(output)
    assert measured["peak"] < megabytes * MB
    # What this process alone holds does not grow with the window: a batch, its delta and the hot part.
    assert measured["anonymous"] < 64 * MB
    storeys = 2 + math.ceil(math.log((1 << exponent) * 1.25 / CHUNK, FANOUT))
    assert measured["storeys"] <= storeys
    assert measured["resident"] <= (1 + KEPT + GROUP) * storeys
    assert measured["reads_of_bulk_eviction"] <= 2 * storeys
    assert measured["hot_bytes"] < 16 * CHUNK
