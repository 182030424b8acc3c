"""The collector rests while much is loaded, and is as it was afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from sash.gc_pause import paused_collector


def test_there_is_no_collection_in_the_block_and_one_is_possible_afterwards() -> None:
    with paused_collector():
        assert not gc.isenabled()
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_switches_it_on_again() -> None:
    with pytest.raises(ValueError, match="no"), paused_collector():
        raise ValueError("no")
    assert gc.isenabled()


def test_what_was_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with paused_collector():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_the_first_query_of_a_process_has_hardly_a_full_collection() -> None:
    program = """
import gc
full = []
def seen(phase, info):
    if phase == "stop" and info["generation"] == 2:
        full.append(1)
gc.callbacks.append(seen)
import sash
import pyarrow as pa
events = pa.table({"t": [0, 20], "x": [1.0, 2.0]})
full.clear()
sash.stream(events, time="t").rolling(60).agg(n=sash.count()).collect()
print(len(full))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 1
