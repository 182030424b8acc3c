"""Rows that a query has written, as JSON, with texts that fit a page.

    >>> import pyarrow as pa
    >>> shown(pa.scalar(1.5)), shown(pa.scalar(float("nan"))), shown(pa.scalar([1, 2]))
    (1.5, 'nan', '[1, 2]')

A list of `collect` may be of any length, and the page keeps thousands of values of a query: so a text is
cut after `TEXT` letters, and a key after `KEY_TEXT`, as keys that begin alike must not become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.operators.bound_query import WINDOW
from sash.semantics.time_format import EPOCH

KEY = "__key"
TEXT, KEY_TEXT = 200, 1_000
CUT = "…"


def key_texts(table: pa.Table, keys: Sequence[str]) -> Any:
    """The key of each row as people read it; a query without a key has one for all."""
    words = [pc.fill_null(pc.cast(table[key], pa.string()), "null") for key in keys]
    if not words:
        return pa.array(["(all)"] * table.num_rows)
    texts = words[0] if len(words) == 1 else pc.binary_join_element_wise(*words, " · ")
    begins = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, KEY_TEXT - 1), CUT, "")
    return pc.if_else(pc.greater(pc.utf8_length(texts), KEY_TEXT), begins, texts)


def shown_rows(table: pa.Table, values: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table with the columns `KEY`, `WINDOW` and these values."""
    keys, windows = table[KEY].to_pylist(), table[WINDOW].to_pylist()
    columns = [map(shown, table[name]) for name in values]
    return [
        {"key": key, **_bounds(window), "values": dict(zip(values, row, strict=True))}
        for key, window, *row in zip(keys, windows, *columns, strict=True)
    ]


def shown(value: pa.Scalar) -> Any:
    """What JSON has a word for as it is, anything else as text, of which no more than `TEXT` letters."""
    if isinstance(value, pa.ListScalar) and not isinstance(value, pa.MapScalar) and value.is_valid:
        # Its first values are more letters than are shown: all of them would be Python objects first.
        return _cut(str(value.values[:TEXT].to_pylist()))
    plain = value.as_py()
    if plain is None or isinstance(plain, int) or (isinstance(plain, float) and isfinite(plain)):
        return plain
    return _cut(str(plain))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + CUT


def _bounds(window: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": window["name"]} if "name" in window else {}
    return {"id": window["id"], **named, **{end: _plain(window[end]) for end in ("start", "end")}}


def _plain(at: datetime | int | None) -> int | None:
    """A timestamp as milliseconds since 1970, an integer time as it is."""
    if not isinstance(at, datetime):
        return at
    moment = at if at.tzinfo is not None else at.replace(tzinfo=EPOCH.tzinfo)
    return round((moment - EPOCH).total_seconds() * 1000)
