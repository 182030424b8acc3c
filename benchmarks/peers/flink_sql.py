"""Windows in Flink SQL: `python flink_sql.py JAR …` runs a job for each line of JSON that it reads.

The form: streaming execution with a parallelism of 2, window TVFs, from parquet files to parquet files by
the filesystem connector, so that all of it is generated Java and none of it Python. Objects are reused,
state is on the heap, and no checkpoints are taken: settings for speed, by what they are for; not all others
were tried, and a real stream would take checkpoints. Aggregates have two phases and share slices of windows
by default.

A line has the window ("TUMBLE" or "HOP"), the folder of the rows, and the folder for the answer. The
answer has the seconds from the submission of the job until it has ended; the JVM stays, and each job starts
a cluster of its own inside it. Runs in PyFlink's environment.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

SETTINGS = {"parallelism.default": "2", "pipeline.object-reuse": "true", "state.backend.type": "hashmap"}
FILES = "'connector'='filesystem', 'path'='{path}', 'format'='parquet', 'parquet.utc-timezone'='true'"
ROWS = """
CREATE TEMPORARY TABLE events (
    ts TIMESTAMP(3), k BIGINT, x BIGINT, v DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH ({files})
"""
REPORTS = """
CREATE TEMPORARY TABLE reports (
    k BIGINT, window_start TIMESTAMP(3), window_end TIMESTAMP(3), n BIGINT, s BIGINT, hi DOUBLE
) WITH ({files})
"""
WINDOWS = {
    "TUMBLE": "TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECONDS)",
    "HOP": "HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '1' SECONDS, INTERVAL '60' SECONDS)",
}
QUERY = """
INSERT INTO reports SELECT k, window_start, window_end, COUNT(*), SUM(x), MAX(v)
FROM TABLE({window}) GROUP BY k, window_start, window_end
"""


def main(*jars: str) -> None:
    settings = Configuration()
    for name, value in SETTINGS.items():
        settings.set_string(name, value)
    settings.set_string("pipeline.jars", ";".join(f"file://{jar}" for jar in jars))
    mode = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings).build()
    tables = TableEnvironment.create(mode)
    answer({"engine": f"Flink SQL {version('apache-flink')}"})
    for line in sys.stdin:
        request = json.loads(line)
        answer({"seconds": seconds(tables, WINDOWS[request["window"]], request["rows"], request["to"])})


def seconds(tables: TableEnvironment, window: str, rows: str, to: str) -> float:
    for name, table, path in (("events", ROWS, rows), ("reports", REPORTS, to)):
        tables.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
        tables.execute_sql(table.format(files=FILES.format(path=path)))
    begin = time.perf_counter()
    tables.execute_sql(QUERY.format(window=window)).wait()
    return time.perf_counter() - begin


def answer(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
