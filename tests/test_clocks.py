"""Who reads the clock on the wall, which jumps: those below, and for no duration. All others must not."""

from __future__ import annotations

import re
from pathlib import Path

import sash

ROOT = Path(sash.__file__).parent
WALL = re.compile(
    r"\btime\.time(_ns)?\(|(?<![\w.])time\(\) \* 1000|datetime\.(now|utcnow|today)\(|current_timestamp\(|"
    r'\.format\("rate"\)'
)
READERS = {
    "cli/demo/quote_feed.py": "events of the demo are of now",
    "cli/doctor/leftovers.py": "compared with files' times; what is left goes an hour later",
    "dashboard/query_watcher.py": "shown: when a query began and ended",
    "engines/probe.py": "the date of a report",
    "engines/spark_structured.py": "asks how Spark's own windows treat it",
    "operators/arena/arena_folder.py": "compared with files' times; one that goes too early is built again",
    "planner/costs/constants.py": "shown: the day of a calibration",
    "runtimes/spark/epochs/epoch_step.py": "hosts share no other; bounded by durations in `epoch_metering`",
    "runtimes/spark/epochs/epoch_run.py": "shown: when a batch began",
    "runtimes/spark/streaming/heartbeat.py": "idle= and decay='clock': an input, in the checkpoint",
    "serving/online.py": "features as of now, where no other time is given",
}


def test_only_those_who_mean_the_time_of_day_read_it() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if WALL.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(READERS)
