"""`sash serve`: published features over HTTP, from the command line.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from rich.console import Console

from sash.api.handle import QueryHandle
from sash.dashboard.server import serve_app
from sash.errors import ArgumentError
from sash.runtimes.interrupts import interrupts
from sash.serving.online import online

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def run(store: str, *, query: str | None, host: str, port: int) -> None:
    """Serve until an interrupt (Ctrl-C)."""
    console = Console(soft_wrap=True, highlight=False)
    loaded = None if query is None else imported(query)
    with online(store, query=loaded) as features, interrupts() as stop:

        def app(token: str | None, closing: Event) -> ASGIApp:
            from sash.dashboard.feature_app import application

            return application(features, token=token)

        with serve_app(app, host=host, port=port, what="sash serve") as server:
            address, _, token = server.url.partition("?token=")
            keys = "&".join(f"{name}=…" for name in (["key"] if len(features.keys) == 1 else features.keys))
            console.print(f"features are at {address}features?{keys}&at=…", markup=False)
            if token:
                console.print(f"requests need the header  Authorization: Bearer {token}", markup=False)
            console.print(f"{features!r}; Ctrl-C ends it", markup=False)
            stop.wait()


def imported(name: str) -> Any:
    """The query that 'module:name' is, or that it returns; modules are looked for in this folder first."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ArgumentError("--query", name, "module:name, such as features:query")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ArgumentError("--query", name, "module:name of a query", hint=f"{error}.") from error
    query = found() if callable(found) else found
    if not isinstance(query, QueryHandle):
        hint = f"It is a {type(query).__name__}."
        raise ArgumentError("--query", name, "a query, or a function that returns one", hint=hint)
    return query
