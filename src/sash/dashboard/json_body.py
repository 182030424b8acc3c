"""The JSON that a request brings: bounded, and only what no form of another page could send."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response


async def json_body(request: Request, *, largest: int, refusal: str) -> bytes | Response:
    """Its bytes, or the answer that refuses it."""
    # What a form elsewhere could send without permission is refused; JSON it could not.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return refused("send application/json", 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > largest:
            return refused(refusal, 413)
    return body


def refused(why: str, status: int) -> Response:
    return JSONResponse({"error": why}, status_code=status)
