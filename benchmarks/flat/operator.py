"""The operator in process, over arenas in files."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from statistics import fmean, median
from typing import Any

from benchmarks.flat.queries import LASTING_SESSION
from benchmarks.harness import Table

BATCHES, ROUNDS = 23, 7
FLAT, LIMIT, INTERPRETED = 1.5, 0.003, 0.060
BY_CLOCK = ("sliding", "cumulate", "slide_by_time")
"""Windows that keys without events report too, so that none of them is idle: a million keys have a million
reports for each slide, in one batch."""


def run(mode: str, folder: str, kind: str, held: int, keys: int, *more: int) -> dict[str, Any]:
    """One worker process, from its beginning to its end."""
    arguments = [mode, folder, kind, str(held), str(keys), *map(str, more)]
    command = [sys.executable, "-m", "benchmarks.flat.worker", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def filled(kind: str, held: int, *, keys: int) -> Iterator[Callable[[], dict[str, Any]]]:
    """So many held events, and a function that runs batches over them in a process of their own; each time
    in a new one, which goes on where the one before stopped."""
    with tempfile.TemporaryDirectory(prefix="sash-flat-") as folder:
        run("fill", folder, kind, held, keys)
        first = count(step=BATCHES)
        yield lambda: run("serve", folder, kind, held, keys, next(first), BATCHES)


def compared(kind: str, little: tuple[int, int], much: tuple[int, int]) -> list[dict[str, Any]]:
    """Batches over little and over much (events held, keys), in turns: an odd minute of the machine then
    is one of both."""
    with ExitStack() as stack:
        both = [stack.enter_context(filled(kind, held, keys=keys)) for held, keys in (little, much)]
        rounds = [[serve() for serve in both] for _ in range(ROUNDS)]
    return [_summary(list(served)) for served in zip(*rounds, strict=True)]


def _summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the medians of the rounds the middle one, and the least time of all."""
    whole = [fmean(served["seconds"]) + fmean(served["written"]) for served in rounds]
    return {
        "median": median(median(served["seconds"]) for served in rounds),
        "best": min(served["seconds"][0] for served in rounds),
        "whole": median(whole),
        "anonymous": max(served["anonymous"] for served in rounds),
        "reads": max(served["reads"] for served in rounds),
    }


def flat(kinds: list[str], *, few: int, many: int) -> list[Table]:
    """Much held against little."""
    title = f"operator: insert and advance, 1,000 events of 1,000 keys, {many:,} held (medians)"
    table = Table(title, f"{few:,} held")
    time = Table("… the time itself", "3 ms (interpreted policy: 60 ms)")
    whole = Table("… with journal and snapshots written, the mean of all batches", f"{few:,} held")
    memory = Table("… anonymous memory of the process beyond that with little held, in MB", "100 MB")
    reads = Table("… reads of journal and snapshot by a process that never served the bucket", "none")
    table.start()
    found = []
    for kind in kinds:
        little, much = compared(kind, (few, 1_000), (many, 1_000))
        table.add(
            f"{kind} ({1e3 * little['median']:.2f} ms)",
            much["median"],
            much["median"] / little["median"],
            limit=FLAT,
        )
        found.append((kind, little, much))
    for one, row in ((time, _time), (whole, _whole), (memory, _memory), (reads, _reads)):
        one.start()
        for kind, little, much in found:
            row(one, kind, little, much)
    return [table, time, whole, memory, reads]


def _whole(table: Table, kind: str, little: dict[str, Any], much: dict[str, Any]) -> None:
    table.add(f"{kind} ({1e3 * little['whole']:.2f} ms)", much["whole"], much["whole"] / little["whole"])


def _time(table: Table, kind: str, little: dict[str, Any], much: dict[str, Any]) -> None:
    limit = INTERPRETED if "interpreted" in kind else LIMIT
    table.add(f"{kind}, best {1e3 * much['best']:.2f}", much["median"], much["median"] / limit, limit=1.0)


def _memory(table: Table, kind: str, little: dict[str, Any], much: dict[str, Any]) -> None:
    more = (much["anonymous"] - little["anonymous"]) / 1e6
    table.add(kind, more / 1e3, more / 100, limit=1.0)


def _reads(table: Table, kind: str, little: dict[str, Any], much: dict[str, Any]) -> None:
    table.add(kind, much["reads"] / 1e3, float(much["reads"]), limit=0.0)


def idle(kinds: list[str], *, few: int, many: int) -> list[Table]:
    """Keys that hold something and get nothing."""
    table = Table(
        f"operator: a batch of 1,000 events of 1,000 keys, beside {many:,} idle keys", f"{few:,} keys"
    )
    table.start()
    for kind in [kind for kind in kinds if kind not in BY_CLOCK]:
        kind = LASTING_SESSION if kind == "session" else kind
        # As many events as keys on average, so that nearly all keys hold something.
        little, much = compared(kind, (2 * few, few), (2 * many, many))
        ratio = much["median"] / little["median"]
        table.add(f"{kind} ({1e3 * little['median']:.2f} ms)", much["median"], ratio, limit=FLAT)
    return [table]
