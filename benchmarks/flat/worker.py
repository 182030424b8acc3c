"""One process of the operator benchmark: it fills an arena, or goes on with one that another has filled.

python -m benchmarks.flat.worker fill FOLDER KIND HELD KEYS
python -m benchmarks.flat.worker serve FOLDER KIND HELD KEYS BATCHES
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.flat import queries
from sash.operators.engine import WindowOperator
from sash.operators.engine.rings import RingLane


class Counted(Mapping[int, bytes]):
    """The chunks of a store, which counts how often it is read."""

    def __init__(self, kept: dict[int, bytes]) -> None:
        self.kept, self.reads = kept, 0

    def __getitem__(self, number: int) -> bytes:
        self.reads += 1
        return self.kept[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)


def main() -> None:
    mode, folder, kind, held, keys = sys.argv[1], Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:6])
    os.environ["SASH_ARENA_DIR"] = str(folder)
    query = queries.query(kind, queries.held(10), max(held, queries.KEYS))
    state = folder / "state.pickle"
    if mode == "fill":
        print(json.dumps(fill(query.bound, state, held, keys)))
    else:
        print(json.dumps(serve(query.bound, state, held, int(sys.argv[6]))))


def fill(bound: Any, state: Path, held: int, keys: int) -> dict[str, float]:
    """Insert everything in batches of at most a million, as one of Spark's tasks would."""
    table, began = queries.held(held, keys=keys).select(bound.columns), time.perf_counter()
    operator, chunks = WindowOperator.load(bound, None, {}, name="bucket"), dict[int, bytes]()
    for at in range(0, held, 1_000_000):
        part = table.slice(at, 1_000_000)
        operator.insert(part, np.arange(part.num_rows))
        operator.advance(int(part["t"][-1].value))
        saved = operator.save()
        chunks |= saved.written
        for number in saved.dropped:
            del chunks[number]
        operator.resume(saved.header, chunks)
    saved = operator.save()
    chunks |= saved.written
    for number in saved.dropped:
        del chunks[number]
    state.write_bytes(pickle.dumps((saved.header, chunks)))
    return {"seconds": time.perf_counter() - began, "durable": sum(map(len, chunks.values()))}


def serve(bound: Any, state: Path, held: int, count: int) -> dict[str, Any]:
    """Batches of a thousand events; the first three, which also load kernels, are not timed."""
    header, kept = pickle.loads(state.read_bytes())
    chunks = Counted(kept)
    operator = WindowOperator.load(bound, header, chunks, name="bucket")
    seconds, combines = [], []
    for number in range(count):
        rows = queries.batch(number, after=held).select(bound.columns)
        until = int(rows["t"][-1].value)
        before, began = _combines(operator), time.perf_counter()
        operator.insert(rows, np.arange(rows.num_rows))
        operator.advance(until)
        seconds.append(time.perf_counter() - began)
        combines.append(_combines(operator) - before)
        saved = operator.save()
        operator.resume(saved.header, chunks)
    anonymous = next(
        int(line.split()[1])
        for line in Path("/proc/self/status").read_text().splitlines()
        if "RssAnon" in line
    )
    return {
        "seconds": sorted(seconds[3:]), "reads": chunks.reads, "anonymous": anonymous * 1024,
        "combines": sorted(combines[3:]),
    }  # fmt: skip


def _combines(operator: WindowOperator) -> int:
    return sum(group.lane.combines.total() for group in operator.groups if isinstance(group.lane, RingLane))


if __name__ == "__main__":
    main()
