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

GAVE_UP, TRIES = "Python worker failed to connect back", 5
"""Spark waits ten seconds for a process to start, which is not much on a busy machine."""


def main() -> int:
    chosen = options()
    home, month = chosen.home.absolute(), Month(chosen.keys, chosen.days)
    for name in ("files", "arenas"):
        (home / name).mkdir(parents=True, exist_ok=True)
    _require_same_month(home, f"{chosen.keys} keys, {chosen.days} days, {chosen.hours} hours a batch")
    until = time.monotonic() + 60 * chosen.minutes
    for end, killed in [(round(day * DAY), killed) for day, killed in LIVES] + [(month.hours, False)]:
        end = min(end, month.hours)
        if _done(home) < end and not _life(home, chosen, end, killed=killed, until=until):
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


def _require_same_month(home: Path, sizes: str) -> None:
    """Files of other hours may be there already, and would be taken for those of this run."""
    kept = home / "sizes.txt"
    if not kept.exists():
        kept.write_text(sizes)
    elif kept.read_text() != sizes:
        sys.exit(f"{home} has a month of {kept.read_text()}; remove it, or go on with that")


def _done(home: Path) -> int:
    measures = flatness.measures(home)
    return int(measures[-1]["hour"]) if measures else 0


def _life(home: Path, chosen: argparse.Namespace, end: int, *, killed: bool, until: float) -> bool:
    """One driver; whether it has come as far as it should."""
    for tries in range(1, TRIES + 1):
        ended = _ran(home, chosen, end, killed=killed, until=until)
        if ended is None:
            return False
        if ended in ((0, -signal.SIGKILL) if killed else (0,)):
            return True
        if tries == TRIES or GAVE_UP not in (home / "driver.log").read_text()[-20_000:]:
            sys.exit(f"the driver has failed with {ended}: see {home / 'driver.log'}")
    return False


def _ran(home: Path, chosen: argparse.Namespace, end: int, *, killed: bool, until: float) -> int | None:
    """A driver from where the last one was; its exit code, None when time was over before."""
    arguments = [home, chosen.keys, chosen.days, chosen.hours, _done(home), end]
    arguments += ["killed"] if killed else []
    environment = os.environ | {"SASH_ARENA_DIR": str(home / "arenas")}
    # Spark removes its own scratch files when it stops; those of a JVM that was killed are left to others.
    shutil.rmtree(home / "scratch", ignore_errors=True)
    with (home / "driver.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.month.driver", *map(str, arguments)],
            env=environment, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(timeout=max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
