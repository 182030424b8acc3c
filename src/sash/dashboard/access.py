"""Who may see the page, and what the page may do.

    loopback     anybody on this machine, under a name of this machine: a page elsewhere that points its
                 own name here (DNS rebinding) is refused
    elsewhere    requests with the token: once in the address, from then on in a cookie; programs send it
                 as `Authorization: Bearer …`

Every answer carries a policy that lets the browser load and run only what this server has sent as a file.
"""

from __future__ import annotations

import hmac
from http.cookies import SimpleCookie
from ipaddress import ip_address
from secrets import token_urlsafe
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "sash"
REFUSAL = "This page needs the address that `sash ui` printed.\n"
FOREIGN = "This is answered under a name of this machine only, such as 127.0.0.1 or localhost.\n"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def token_for(host: str) -> str | None:
    """A fresh token where other machines can reach the page, None where they cannot."""
    return None if is_loopback(host) else token_urlsafe(24)


class Guard:
    """The application, for those who may see it."""

    def __init__(self, app: ASGIApp, *, token: str | None, refusal: str = REFUSAL) -> None:
        self._app, self._token, self._refusal = app, token, refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = self._given(scope)
        welcome = self._named_here(scope) if self._token is None else self._knows(given)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if welcome and given is not None and self._token is not None:
                    cookie = f"{COOKIE}={given}; HttpOnly; SameSite=Strict; Path=/"
                    headers.append("Set-Cookie", cookie)
            await send(message)

        refused = PlainTextResponse(FOREIGN if self._token is None else self._refusal, status_code=403)
        await (self._app if welcome else refused)(scope, receive, with_headers)

    def _named_here(self, scope: Scope) -> bool:
        host = Headers(scope=scope).get("host", "")
        return is_loopback(host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host)

    def _given(self, scope: Scope) -> str | None:
        """The token of the address or, without one there, of a header or the cookie."""
        tokens: list[str] | None = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if tokens:
            return tokens[0]
        headers = Headers(scope=scope)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return bearer.strip()
        cookies = SimpleCookie(headers.get("cookie", ""))
        return str(cookies[COOKIE].value) if COOKIE in cookies else None

    def _knows(self, given: str | None) -> bool:
        assert self._token is not None
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())
