"""Run the month: see the package."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.month import flatness
from benchmarks.month.events import DAY, Month

LIVES = ((2.4, False), (4.6, True), (6.2, False), (8.7, True))
"""On which day a driver ends, and whether it is killed; the last one lives for the rest of the month."""


def main() -> int:
    chosen = options()
    home, month = chosen.home.absolute(), Month(chosen.keys, chosen.days)
    for name in ("files", "arenas"):
        (home / name).mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * chosen.minutes
    for end, killed in [(round(day * DAY), killed) for day, killed in LIVES] + [(month.hours, False)]:
        begin, end = _done(home), min(end, month.hours)
        if begin < end and not _life(home, chosen, begin, end, killed=killed, until=until):
            print(f"{_done(home)} of {month.hours} hours are done; the same command goes on", flush=True)
            return 1
    return flatness.report(home, chosen.to)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A month of event time on Spark: does anything grow?")
    parser.add_argument("home", type=Path, help="a folder for everything; a run there is resumed")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--hours", type=int, default=1, help="of event time, in a micro-batch")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which the run is interrupted")
    parser.add_argument("--to", type=Path, metavar="DIRECTORY", help="draw the figure there")
    return parser.parse_args()


def _done(home: Path) -> int:
    measures = flatness.measures(home)
    return int(measures[-1]["hour"]) if measures else 0


def _life(
    home: Path, chosen: argparse.Namespace, begin: int, end: int, *, killed: bool, until: float
) -> bool:
    """One driver; whether it has come as far as it should."""
    arguments = [home, chosen.keys, chosen.days, chosen.hours, begin, end, *(["killed"] if killed else [])]
    environment = os.environ | {"SASH_ARENA_DIR": str(home / "arenas")}
    # Spark removes its own scratch files when it stops; those of a JVM that was killed are left to others.
    shutil.rmtree(home / "scratch", ignore_errors=True)
    with (home / "driver.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.month.driver", *map(str, arguments)],
            env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode not in ((0, -signal.SIGKILL) if killed else (0,)):
        sys.exit(f"the driver has failed with {process.returncode}: see {home / 'driver.log'}")
    return True


if __name__ == "__main__":
    sys.exit(main())
