"""Published features as an ASGI application: a row of JSON for a key, or rows for many.

    GET  /                           the columns of keys and of rows
    GET  /features?key=a&at=…        the row of a key; with several key columns each by its name
    POST /features                   {"keys": [...], "at": …} → {"rows": [...]}

`at` is as in `OnlineFeatures.get`: a time, an integer, or left out for now. A request is data and is never
run. Numbers that JSON does not have are text ("NaN", "Infinity"), as are decimals and times; bytes are
base64.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sash.dashboard.access import Guard
from sash.dashboard.json_body import json_body, refused
from sash.errors import ArgumentError, SashError, StoreUnavailable
from sash.serving.online import OnlineFeatures

LARGEST = 4 << 20
"""Bytes of a request."""
MOST = 10_000
"""Keys of a request: more would keep others waiting for seconds."""
REFUSAL = "This needs the token that `sash serve` printed: Authorization: Bearer …\n"


def application(features: OnlineFeatures, *, token: str | None = None) -> ASGIApp:
    """The features of a store."""
    pages = _Pages(features)
    routes = [
        Route("/", pages.index),
        Route("/features", pages.one, methods=["GET"]),
        Route("/features", pages.many, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token=token, refusal=REFUSAL)


class _Pages:
    def __init__(self, features: OnlineFeatures) -> None:
        self._features = features

    async def index(self, request: Request) -> Response:
        return JSONResponse({"keys": list(self._features.keys), "columns": self._features.columns})

    async def one(self, request: Request) -> Response:
        answer = await self._answer(lambda: (self._key(request.query_params), _at(request.query_params)))
        return answer if isinstance(answer, Response) else JSONResponse(answer[0])

    async def many(self, request: Request) -> Response:
        body = await json_body(request, largest=LARGEST, refusal="a request has at most 4 MB")
        if isinstance(body, Response):
            return body

        def parse() -> tuple[Any, Any]:
            given = json.loads(body)
            if not isinstance(given, dict) or not given.keys() <= {"keys", "at"}:
                shown = sorted(given) if isinstance(given, dict) else type(given).__name__
                raise ArgumentError("request", shown, 'an object {"keys": [...], "at": …}')
            keys = given.get("keys")
            if isinstance(keys, list) and len(keys) > MOST:
                raise ArgumentError("keys", f"{len(keys):,} of them", f"at most {MOST:,} in a request")
            return keys, given.get("at")

        answer = await self._answer(parse)
        return answer if isinstance(answer, Response) else JSONResponse({"rows": answer})

    async def _answer(self, parse: Any) -> list[Any] | Response:
        try:
            keys, at = parse()
            return await run_in_threadpool(self._rows, keys, at)
        except StoreUnavailable as error:
            return refused(str(error), 503)
        # Among these: text that is no UTF-8, JSON that is none, integers of thousands of digits.
        except (SashError, RecursionError, ValueError, OverflowError) as error:
            return refused(str(error), 422)

    def _rows(self, keys: Any, at: Any) -> list[Any]:
        return [_plain(row) for row in self._features.get(keys, at=at).to_pylist()]

    def _key(self, given: QueryParams) -> list[dict[str, Any]] | None:
        """The key of an address, whose text is read as the types of its columns."""
        columns = self._features.key_types
        if not columns:
            return None
        if len(columns) > 1 and {"at", "token"} & columns.keys():
            raise ArgumentError("key", list(columns), "sent by POST: a column has the name of a parameter")
        key = {}
        for name, type_ in columns.items():
            text = given.get("key" if len(columns) == 1 else name)
            if text is None:
                example = "key=…" if len(columns) == 1 else "&".join(f"{one}=…" for one in columns)
                raise ArgumentError("key", None, f"given: /features?{example}")
            try:
                key[name] = pa.scalar(text).cast(type_).as_py()
            except pa.ArrowException:
                raise ArgumentError("key", text, f"a value of {name}: {type_}") from None
        return [key]


def _at(given: QueryParams) -> str | int | None:
    text = given.get("at")
    return int(text) if text is not None and text.lstrip("-").isdecimal() else text


def _plain(value: Any) -> Any:
    """As JSON has it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
        case Mapping():
            return {str(name): _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bytes():
            return b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
