"""The live page: running queries as they go, and the window lab.

    feed = sash.dashboard.Feed()
    watching = sash.dashboard.watch(spark, feed)          every streaming query of the session
    watching.add(handle, query=q, reports="out")          explain(), open windows, degree, windows of keys
    page = sash.dashboard.serve(feed)                     page.url; page.stop()

`MessageFolder` instead of `Feed` writes the messages to a folder, for `sash ui --watch` in another process;
`PrometheusMetrics` and `OpenTelemetryMetrics` have the same numbers for systems that collect metrics.
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
