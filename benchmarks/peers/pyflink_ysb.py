"""Yahoo's streaming benchmark on PyFlink: `python pyflink_ysb.py events.parquet campaigns.parquet`.

The form: Flink SQL in batch mode with a parallelism of 2, so that no Python runs between the source (Arrow,
handed over before the clock starts) and the counts: filter, broadcast join and tumbling count are generated
Java. Python functions over a DataStream would be many times slower. The first run warms the JVM up; the best
of three more counts, with the job's start in it. Runs in PyFlink's environment, prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import pyarrow.parquet as pq
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment

VIEWED = """
SELECT c.campaign_id, e.event_time FROM events e JOIN campaigns c ON e.ad_id = c.ad_id
WHERE e.event_type = 'view'
"""
COUNTED = """
SELECT campaign_id, window_start, COUNT(*)
FROM TABLE(TUMBLE(TABLE viewed, DESCRIPTOR(event_time), INTERVAL '10' SECONDS))
GROUP BY campaign_id, window_start, window_end
"""


def main(events_path: str, campaigns_path: str) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", "2")
    events, campaigns = (pq.read_table(path).to_pandas() for path in (events_path, campaigns_path))
    for name in ("ad_id", "event_type"):
        events[name] = events[name].astype(str)
    # Milliseconds are the finest that Flink has windows over; no event changes its window.
    events["event_time"] = events["event_time"].dt.floor("ms")
    text = DataTypes.STRING()
    event = [("ad_id", text), ("event_type", text), ("event_time", DataTypes.TIMESTAMP(3))]
    campaign = [("ad_id", text), ("campaign_id", text)]
    for name, frame, fields in (("events", events, event), ("campaigns", campaigns, campaign)):
        row = DataTypes.ROW([DataTypes.FIELD(*field) for field in fields])
        tables.create_temporary_view(name, tables.from_pandas(frame, row, splits_num=2))
    tables.create_temporary_view("viewed", tables.sql_query(VIEWED))
    seconds, counts = [], []
    for _ in range(4):
        begin = time.perf_counter()
        with tables.execute_sql(COUNTED).collect() as rows:
            counts = [row[2] for row in rows]
        seconds.append(time.perf_counter() - begin)
    best = min(seconds[1:])
    said = {"engine": f"PyFlink {version('apache-flink')}", "events": len(events), "seconds": best}
    print(json.dumps(said | {"windows": len(counts), "views": sum(counts)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
