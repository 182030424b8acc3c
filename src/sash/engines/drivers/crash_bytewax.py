"""Kill Bytewax and start it again: `python crash_bytewax.py folder file|plain`, in Bytewax's environment.

Tumbling windows of 3 over the times 10 … 19, from a file, with recovery as often as Bytewax does by itself.
The first start kills its process when event 6 comes; the second resumes from the recovery store, and ends.
Windows go to `folder/out`, one line each: through Bytewax's FileSink, or a plain sink that appends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.files import FileSink, FileSource
from bytewax.dataflow import Dataflow
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import run_main

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KILLED_AT = 6


def main(folder: Path, sink: str) -> None:
    recovery, events, out = folder / "recovery", folder / "events", folder / "out"
    first = not recovery.exists()
    if first:
        recovery.mkdir()
        init_db_dir(recovery, 1)
        events.write_text("".join(f"{index} {10 + index}\n" for index in range(10)))
        out.touch()
    flow = Dataflow("crash")
    lines = op.input("events", flow, FileSource(events, batch_size=1))
    alive = op.map("alive", lines, killer(first))
    keyed = op.map("key", alive, lambda event: ("key", event))
    clock = win.EventClock(
        ts_getter=lambda event: EPOCH + timedelta(seconds=event[1]),
        wait_for_system_duration=timedelta(0),
        now_getter=lambda: EPOCH,
        to_system_utc=lambda _: None,
    )
    windower = win.TumblingWindower(length=timedelta(seconds=3), align_to=EPOCH)
    windows = win.collect_window("windows", keyed, clock, windower)
    written = op.map("write", windows.down, lambda one: ("key", json.dumps([i for i, _ in one[1][1]])))
    if sink == "file":
        op.output("out", written, FileSink(out))
    else:
        op.output("out", op.map("bare", written, lambda one: one[1]), PlainSink(out))
    run_main(flow, recovery_config=RecoveryConfig(recovery))


def killer(armed: bool) -> Any:
    def read(line: str) -> tuple[int, int]:
        index, instant = map(int, line.split())
        if armed and index == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        return index, instant

    return read


class PlainSink(DynamicSink[str]):
    """Appends, and knows nothing of recovery."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        return AppendingPartition(self.path)


class AppendingPartition(StatelessSinkPartition[str]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def write_batch(self, items: list[str]) -> None:
        with self.path.open("a") as file:
            file.writelines(item + "\n" for item in items)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
