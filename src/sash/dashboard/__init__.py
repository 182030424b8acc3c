"""The live page: running queries as they go, and the window lab.

    feed = sash.dashboard.Feed()
    watching = sash.dashboard.watch(spark, feed)          every streaming query of the session
    watching.add(handle, query=q, reports="out")          explain(), open windows, degree, windows of keys
    page = sash.dashboard.serve(feed)                     page.url; page.stop()

`MessageFolder` instead of `Feed` writes the messages to a folder, for `sash ui --watch` in another process;
`PrometheusMetrics` and `OpenTelemetryMetrics` have the same numbers for systems that collect metrics.

access.py              who may see the page, and what the page may do
exported_metrics.py    numbers of running queries for systems that collect metrics
feature_app.py         published features as an ASGI application: a row of JSON for a key, or rows for many
feed.py                the feed: messages about running queries, bounded, and safe to use from any thread
json_body.py           the JSON that a request brings
last_rows_of_files.py  the last rows of a parquet file, as many as there is room for
live_page_messages.py  messages about running queries as plain JSON: what a number on the page comes from
message_folder.py      a folder of messages: how a page in one process shows the queries of another
open_windows.py        windows that have begun and wait for the watermark, counted by the clock alone
opentelemetry.py       metrics of running queries for OpenTelemetry: observable instruments of a meter
pending_news.py        what the watcher still has to do, in order and bounded
prometheus.py          metrics of running queries for Prometheus
query_watcher.py       watching the streaming queries of a Spark session: progress reports in, messages out
report_folder.py       what a query has written to a folder of parquet files, read as it comes
server.py              `serve(feed)`: the page in a thread of this process
shown_rows.py          rows that a query has written, as JSON, with texts that fit a page
web_app.py             the page as an ASGI application
"""

from sash.dashboard.feed import Feed
from sash.dashboard.message_folder import MessageFolder
from sash.dashboard.opentelemetry import OpenTelemetryMetrics
from sash.dashboard.prometheus import PrometheusMetrics
from sash.dashboard.query_watcher import Watching, watch
from sash.dashboard.server import Server, serve

__all__ = [
    "Feed", "MessageFolder", "OpenTelemetryMetrics", "PrometheusMetrics", "Server", "Watching", "serve",
    "watch",
]  # fmt: skip
