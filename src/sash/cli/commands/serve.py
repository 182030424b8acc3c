"""`sash serve`: published features over HTTP, from the command line."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from rich.console import Console

from sash.dashboard.server import serve_app
from sash.runtimes.interrupts import interrupts
from sash.serving.online import online

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def run(store: str, *, host: str, port: int) -> None:
    """Serve until an interrupt (Ctrl-C)."""
    console = Console(soft_wrap=True, highlight=False)
    with online(store) as features, interrupts() as stop:

        def app(token: str | None, closing: Event) -> ASGIApp:
            from sash.dashboard.feature_app import application

            return application(features, token=token)

        with serve_app(app, host=host, port=port, what="sash serve", extra="serve") as server:
            address, _, token = server.url.partition("?token=")
            keys = "&".join(f"{name}=…" for name in (["key"] if len(features.keys) == 1 else features.keys))
            console.print(f"features are at {address}features?{keys}&at=…", markup=False)
            if token:
                console.print(f"requests need the header  Authorization: Bearer {token}", markup=False)
            console.print(f"{features!r}; Ctrl-C ends it", markup=False)
            stop.wait()
