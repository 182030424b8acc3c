"""Files of an arena that are not as they were left: it is built again, and no answer changes.

Words of a table that somebody has overwritten are not noticed (decision 28), as they would not be in the
memory of a process; all else is: what is cut, gone, empty or longer, and any bytes of what is read as a
whole.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sash.operators.arena.arena_folder import ArenaHome
from sash.operators.engine import WindowOperator
from tests.operators.test_inventory import WINDOWED, table
from tests.state.damage import damaged
from tests.state.memory_taken import little_memory
from tests.state.test_fuzz_operators import BATCHES

fuzzing = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
MORE = table([(60, "a", 1), (61, "c", 2)])


class Left(NamedTuple):
    """What a process has left: state, its arena, and what comes next of it."""

    bound: Any
    header: bytes
    chunks: dict[int, bytes]
    arena: Path
    pristine: Path
    expected: pa.Table


def reports_of(bound: Any, header: bytes, chunks: dict[int, bytes], name: str | None) -> pa.Table:
    operator = WindowOperator.load(bound, header, chunks, name=name)
    operator.insert(MORE.select(bound.columns), np.arange(2))
    answer = operator.advance(90)
    operator.save()
    return answer.reports


@pytest.fixture(scope="module", params=WINDOWED)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    bound = WINDOWED[request.param].bound
    operator, header, chunks = WindowOperator.load(bound, None, {}, name=request.param), b"", {}
    for number, batch in enumerate(BATCHES):
        operator.insert(batch.select(bound.columns), np.arange(batch.num_rows))
        operator.advance(10 * number)
        saved = operator.save()
        header, chunks = saved.header, chunks | saved.written
        operator.resume(header, chunks)
    operator.arena.release()
    arena = operator.arena.folder
    assert arena is not None
    pristine = tmp_path_factory.mktemp("pristine") / "arena"
    shutil.copytree(arena, pristine)
    return Left(bound, header, chunks, arena, pristine, reports_of(bound, header, chunks, None))


@fuzzing
@given(data=st.data())
def test_differential_a_damaged_arena_is_built_again(left: Left, data: st.DataObject) -> None:
    shutil.rmtree(left.arena, ignore_errors=True)
    shutil.copytree(left.pristine, left.arena)
    file = data.draw(st.sampled_from(sorted(left.arena.iterdir())))
    content = file.read_bytes()
    if file.suffix == ".table":
        size = data.draw(st.sampled_from([0, 1, 8, len(content) - 1, len(content) + 4096, -1]))
        if size < 0:
            file.unlink()
        else:
            os.truncate(file, size)
    else:
        file.write_bytes(data.draw(damaged(content)))
    with little_memory():
        assert reports_of(left.bound, left.header, left.chunks, left.arena.name).equals(left.expected)


def test_an_arena_as_it_was_left_goes_on(left: Left) -> None:
    shutil.rmtree(left.arena, ignore_errors=True)
    shutil.copytree(left.pristine, left.arena)
    assert left.arena.parent == ArenaHome.default().folder
    assert reports_of(left.bound, left.header, left.chunks, left.arena.name).equals(left.expected)
