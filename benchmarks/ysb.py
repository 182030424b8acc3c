"""Yahoo's streaming benchmark in process, against Bytewax and PyFlink, and with a single campaign.

    python -m benchmarks.ysb [--quick] [--json PATH] [--rounds 3]

The clock runs from events in columns to counts: filter, join and windows (`examples/ysb.py`, as a user
would write it). The peers live in environments of their own (`make peers`) and are given the first of the
same events; each in its best form, which its driver under `peers/` describes. They and Sash take turns, and
all must count the same. `--quick` leaves the peers out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, finish, options
from benchmarks.patterns import compare
from examples import ysb
from sash.engines.peers import python_of

DRIVERS = Path(__file__).parent / "peers"
PEERS = {"bytewax": (400_000, 20.0), "pyflink": (4_000_000, 5.0)}
"""How many events a peer is given, and how many times faster Sash promises to be."""
PROMISED = 10_000_000
"""Events a second."""


def against_peers(events: pa.Table, campaigns: pa.Table, *, rounds: int, quick: bool) -> Table:
    """Sash on all events, each peer on the first of them."""
    table = Table("YSB: filter, join, 10 s count of 100 campaigns", "promised time")
    table.start()
    mine = best_of(rounds, events, campaigns)
    peers = {}
    if not quick:
        with tempfile.TemporaryDirectory(prefix="sash-ysb-") as directory:
            for name, (most, _) in PEERS.items():
                peers[name] = peer_result(name, events.slice(0, most), campaigns, Path(directory))
                mine = min(mine, best_of(rounds, events, campaigns))
    rows = events.num_rows
    table.add(f"Sash, {rows / 1e6 / mine:.1f} M events/s", mine, mine * PROMISED / rows, limit=1.0)
    for name, result in peers.items():
        each = result["seconds"] / result["events"]
        what = f"{result['engine']}, {1e-6 / each:.2f} M events/s"
        table.add(f"Sash against {what}", mine, mine / rows / each, limit=1 / PEERS[name][1])
    return table


def best_of(rounds: int, events: pa.Table, campaigns: pa.Table) -> float:
    """Seconds of the best round, after one that only warms up."""
    seconds = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        ysb.query(events, campaigns).collect()
        seconds.append(time.perf_counter() - begin)
    return min(seconds[1:])


def peer_result(name: str, events: pa.Table, campaigns: pa.Table, directory: Path) -> dict[str, Any]:
    """The result of a peer's driver, after it has counted as many views as Sash does."""
    paths = [directory / f"{name}-{what}.parquet" for what in ("events", "campaigns")]
    for path, content in zip(paths, (events, campaigns), strict=True):
        pq.write_table(content, path)
    python = python_of(name)
    # PyFlink starts more Pythons by name: its own must be the first on the path.
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [python, DRIVERS / f"{name}_ysb.py", *paths],
        env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    counts = ysb.query(events, campaigns).collect()
    found = {"windows": counts.num_rows, "views": sum(counts["views"].to_pylist())}
    assert found == {what: result[what] for what in found}, f"{name} has {result}, not {found}"
    return result


def one_campaign(events: int, *, rounds: int) -> Table:
    """All windows are of one key: a key farm has work for one worker, whatever its degree."""
    campaigns = ysb.campaign_table(1)
    query = ysb.query(ysb.event_table(events, campaigns), campaigns)
    return compare(
        "YSB with one campaign: the windows of one key",
        query,
        {
            "key farm, 2": sash.KeyFarm(2),
            "map-reduce 1 + 1": sash.WinMapReduce(1, 1),
            "map-reduce 2 + 1": sash.WinMapReduce(2, 1),
        },
        rounds=rounds,
        limits={"map-reduce 2 + 1": 1 / 1.6},
    )


def main() -> int:
    chosen = options("Yahoo's streaming benchmark.")
    events = 300_000 if chosen.quick else 10_000_000
    campaigns = ysb.campaign_table(100)
    tables = [
        against_peers(
            ysb.event_table(events, campaigns), campaigns, rounds=chosen.rounds, quick=chosen.quick
        ),
        one_campaign(events, rounds=chosen.rounds),
    ]
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
