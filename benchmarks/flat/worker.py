"""One process of the operator benchmark: it fills an arena, or goes on with one that another has filled.

python -m benchmarks.flat.worker fill FOLDER KIND HELD KEYS
python -m benchmarks.flat.worker serve FOLDER KIND HELD KEYS FIRST BATCHES
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.flat import queries
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.protocol import Saved


class Chunks(Mapping[int, bytes]):
    """The chunks of a store, a file each: one that is not read is not in this process. Counts its reads."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reads = folder, 0
        folder.mkdir(exist_ok=True)

    def __getitem__(self, number: int) -> bytes:
        self.reads += 1
        try:
            return (self.folder / str(number)).read_bytes()
        except FileNotFoundError:
            raise KeyError(number) from None

    def __iter__(self) -> Iterator[int]:
        return (int(file.name) for file in self.folder.iterdir())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def take(self, saved: Saved) -> None:
        """One writing of an operator."""
        for number, data in saved.written.items():
            (self.folder / str(number)).write_bytes(data)
        for number in saved.dropped:
            (self.folder / str(number)).unlink()

    @property
    def bytes(self) -> int:
        return sum(file.stat().st_size for file in self.folder.iterdir())


def main() -> None:
    mode, folder, kind, held, keys = sys.argv[1], Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:6])
    os.environ["SASH_ARENA_DIR"] = str(folder)
    query = queries.query(kind, queries.held(10), max(held, queries.KEYS))
    header, chunks = folder / "header", Chunks(folder / "chunks")
    if mode == "fill":
        print(json.dumps(fill(query.bound, header, chunks, held, keys)))
    else:
        numbers = range(int(sys.argv[6]), int(sys.argv[6]) + int(sys.argv[7]))
        print(json.dumps(serve(query.bound, header, chunks, held, numbers)))


def fill(bound: Any, header: Path, chunks: Chunks, held: int, keys: int) -> dict[str, float]:
    """Insert everything in batches of at most a million, as one of Spark's tasks would."""
    table, began = queries.held(held, keys=keys).select(bound.columns), time.perf_counter()
    operator = WindowOperator.load(bound, None, chunks, name="bucket")
    for at in range(0, held, 1_000_000):
        part = table.slice(at, 1_000_000)
        operator.insert(part, np.arange(part.num_rows))
        operator.advance(int(part["t"][-1].value))
        saved = operator.save()
        chunks.take(saved)
        operator.resume(saved.header, chunks)
    saved = operator.save()
    chunks.take(saved)
    header.write_bytes(saved.header)
    return {"seconds": time.perf_counter() - began, "durable": chunks.bytes}


def serve(bound: Any, header: Path, chunks: Chunks, held: int, numbers: range) -> dict[str, Any]:
    """Batches of a thousand events; the first three, which also load kernels, are not timed. `seconds` are
    those of `insert` and `advance`; `written` those of journal, snapshots and what is put together."""
    operator = WindowOperator.load(bound, header.read_bytes(), chunks, name="bucket")
    seconds, written, combines = [], [], []
    for number in numbers:
        rows = queries.batch(number, after=held).select(bound.columns)
        until = int(rows["t"][-1].value)
        before, began = _combines(operator), time.perf_counter()
        operator.insert(rows, np.arange(rows.num_rows))
        operator.advance(until)
        seconds.append(time.perf_counter() - began)
        combines.append(_combines(operator) - before)
        began = time.perf_counter()
        saved = operator.save()
        chunks.take(saved)
        operator.resume(saved.header, chunks)
        written.append(time.perf_counter() - began)
    header.write_bytes(saved.header)
    anonymous = next(
        int(line.split()[1])
        for line in Path("/proc/self/status").read_text().splitlines()
        if "RssAnon" in line
    )
    return {
        "seconds": sorted(seconds[3:]), "written": sorted(written[3:]), "reads": chunks.reads,
        "anonymous": anonymous * 1024, "combines": sorted(combines[3:]),
    }  # fmt: skip


def _combines(operator: WindowOperator) -> int:
    return sum(group.lane.combines.total() for group in operator.groups if isinstance(group.lane, RingLane))


if __name__ == "__main__":
    main()
