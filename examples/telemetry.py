"""Telemetry: six questions about the last minute of each service, every ten seconds, in one pass.

    requests ─▶ last minute, every 10 s ─▶ count · mean · 95 % quantile · slowest path · spread · failures

    python examples/telemetry.py [--events 50000] [--services 5]

The six aggregates are six monoids of different kinds: a counter, a pair of sums, a sketch, the argument
of a maximum, a moments, and one of our own in ten lines. None of them knows that windows overlap,
and the window does not know what it holds. Requests are generated: one service gets slower, and fails
more, all the time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import sash

OPENING = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds
PATHS = np.array(["/", "/search", "/cart", "/pay", "/help"])


@sash.monoid(commutative=True)
class FailureRate:  # its functions are plain ones: no `self`
    """Failed requests among all of them: a pair of counters, of which the quotient is the answer."""

    def identity():
        return (0, 0)

    def lift(status):  # noqa: N805
        return (1 if status >= 500 else 0, 1)

    def combine(a, b):  # noqa: N805
        return (a[0] + b[0], a[1] + b[1])

    def lower(counts):  # noqa: N805
        return counts[0] / counts[1] if counts[1] else 0.0


def request_table(events: int, services: int, *, minutes: int = 5, seed: int = 9) -> pa.Table:
    """Requests of some services; the latency of service 0 grows from second to second."""
    random = np.random.default_rng(seed)
    seconds = np.sort(random.uniform(0, 60 * minutes, events))
    service = random.integers(0, services, events)
    drift = np.where(service == 0, seconds, 0.0)
    failing = random.random(events) < 0.002 + drift / 3_000
    return pa.table(
        {
            "time": pa.array(OPENING + (1e6 * seconds).astype(np.int64), pa.timestamp("us")),
            "service": np.array([f"service-{each}" for each in range(services)])[service],
            "path": PATHS[random.integers(0, len(PATHS), events)],
            "ms": random.gamma(2.0, 20.0, events) + drift / 4,
            "status": np.where(failing, 503, 200),
        }
    )


def query(requests: pa.Table) -> sash.WindowQuery:
    """The last minute of each service, every ten seconds."""
    return (
        sash.stream(requests, time="time", key="service")
        .window(sash.sliding("1 minute", every="10 seconds"))
        .agg(
            requests=sash.count(),
            mean=sash.mean("ms"),
            p95=sash.quantile("ms", 0.95),
            slowest=sash.argmax("path", "ms"),
            spread=sash.stddev("ms"),
            failures=FailureRate("status"),
        )
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Six aggregates over the last minute of each service.")
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--services", type=int, default=5)
    arguments = parser.parse_args(argv)
    begin = time.perf_counter()
    answer = query(request_table(arguments.events, arguments.services))
    rows = answer.collect()
    seconds = time.perf_counter() - begin
    print(
        f"{rows.num_rows:,} windows of {arguments.events:,} requests in {seconds:.2f} s, with compilation"
    )
    print(rows.slice(18, 4).drop_columns(["window"]).to_pandas().to_string(index=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
