"""`serve(feed)`: the page in a thread of this process; `serve_app`, the same for any application.

Whether the port is free is found out by taking it, before anything is started; the socket that took it is
the one that serves.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from errno import EACCES, EADDRINUSE
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING

from sash.dashboard.feed import Feed
from sash.errors import ArgumentError, MissingDependency

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

PORT = 7274
"""The keys of 's' 'a' 's' 'h' on a telephone."""
REASONS = {EADDRINUSE: "is in use", EACCES: "may not be opened by this user"}
GRACE = 2
"""Seconds that open connections have to end."""


class Server:
    """A page that is being served: `url`, and `stop()`."""

    def __init__(self, server: uvicorn.Server, listening: socket.socket, url: str, closing: Event) -> None:
        self.url = url
        self._server, self._closing, self._socket = server, closing, listening
        # Outside of the main thread uvicorn leaves the signals of the process alone.
        self._thread = Thread(target=server.run, args=([listening],), name="sash page", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all connections and give the port back."""
        self._closing.set()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def serve(feed: Feed | None = None, *, host: str = "127.0.0.1", port: int = PORT) -> Server:
    """Serve the page; without a feed there is the window lab alone.

    host: an address of this machine. Only this machine can see the page unless it is another one; then
        `url` has a token that the page needs.
    port: 0 for any that is free.
    """

    def page(token: str | None, closing: Event) -> ASGIApp:
        from sash.dashboard.web_app import application

        return application(Feed() if feed is None else feed, token=token, closing=closing)

    return serve_app(page, host=host, port=port, what="the page")


def serve_app(app_of: Callable[[str | None, Event], ASGIApp], *, host: str, port: int, what: str) -> Server:
    """Serve an application, which is made from its token, if it needs one, and from the event that is set
    when it ends. `what` it is, for errors."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingDependency(
            f"{what} needs starlette and uvicorn; install them with: pip install starlette uvicorn"
        )
    import uvicorn

    from sash.dashboard.access import token_for

    listening = _listening(host, port)
    token, closing = token_for(host), Event()
    app = app_of(token, closing)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=GRACE,
        server_header=False,
    )  # fmt: skip
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
    url = address if token is None else f"{address}?token={token}"
    return Server(uvicorn.Server(config), listening, url, closing)


def _listening(host: str, port: int) -> socket.socket:
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise ArgumentError("port", port, "a number from 0 (any that is free) to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ArgumentError("host", host, f"an address of this machine ({error.strerror})") from None
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(64)
    except OSError as error:
        listening.close()
        if error.errno in REASONS:
            hint = f"{host}:{port} {REASONS[error.errno]}; port 0 takes any that is free."
            raise ArgumentError("port", port, "one that is free", hint=hint) from None
        raise ArgumentError("host", host, f"an address of this machine ({error.strerror})") from None
    return listening
