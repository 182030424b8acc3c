"""The live page: running queries as they go, and the window lab.

    feed = sash.dashboard.Feed()
    watching = sash.dashboard.watch(spark, feed)          every streaming query of the session
    watching.add(handle, query=q, reports="out")          explain(), open windows, degree, windows of keys
    page = sash.dashboard.serve(feed)                     page.url; page.stop()

`MessageFolder` instead of `Feed` writes the messages to a folder, for `sash ui --watch` in another process.
"""

from sash.dashboard.feed import Feed
from sash.dashboard.message_folder import MessageFolder
from sash.dashboard.server import Server, serve
from sash.dashboard.watching import Watching, watch

__all__ = ["Feed", "MessageFolder", "Server", "Watching", "serve", "watch"]
