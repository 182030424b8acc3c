"""Whether a schema has the columns that a csv file's header names, in that order.

Spark takes the columns of a csv file by their place, whatever the header calls them, so that a schema which
lacks one gives the values of its neighbours, or nulls. The header of the first file on this machine is
compared before anything runs; Spark compares those of all files that it reads (`enforceSchema=false`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa

from sash.errors import ArgumentError
from sash.pipeline.value_readers import column_names

ENFORCED = "enforceSchema"
"""Spark's option: whether a schema is used whatever the header names."""
COMPARED = {"header": "true", ENFORCED: "false"}
"""How csv files with a schema are read where the options do not differ."""
_FIRST = 1 << 20
"""Bytes in which a header ends."""


def require_header(place: str, schema: str, options: Mapping[str, str]) -> None:
    """ArgumentError where the header of the first file at `place` has other columns than the schema."""
    given = {name.lower(): value for name, value in options.items()}
    names, file = column_names(schema), _first_file(Path(place))
    compared = given.get("header", "true") == "true" and given.get(ENFORCED.lower(), "false") == "false"
    if file is None or not names or not compared:
        return
    header = _header(file, given)
    pairs = zip_longest(header, names, fillvalue="")
    if header and any(one.lower() != other.lower() for one, other in pairs):
        raise ArgumentError(
            "schema", schema, "the columns of the header",
            message=f"schema must have the columns of the files in their order, {', '.join(header)} (the "
            f"header of {file.name}); it has {', '.join(names)}",
            hint=f"To use it by position whatever the header names: options = {{ {ENFORCED} = true }}",
        )  # fmt: skip


def _first_file(place: Path) -> Path | None:
    """The first that Spark would read and that is not empty; None where it is not on this machine."""
    if not place.is_dir():
        return place if place.is_file() else None
    inside = sorted(each for each in place.iterdir() if each.name[0] not in "_.")
    return next((each for each in inside if each.is_file() and each.stat().st_size), None)


def _header(file: Path, options: Mapping[str, str]) -> list[str]:
    """The names of the columns; none where they cannot be read here."""
    separator = options.get("sep", options.get("delimiter", ",")).replace("\\t", "\t")
    coding = options.get("encoding", options.get("charset", "UTF-8"))
    try:
        with pa.input_stream(str(file), compression="detect") as stream:
            text = stream.read(_FIRST).decode(coding, errors="replace").removeprefix("\ufeff")
        comment = options.get("comment", "")
        lines = (line for line in io.StringIO(text) if line.strip())
        line = next((one for one in lines if not (comment and one.startswith(comment))), "")
        reader = csv.reader(
            [line], delimiter=separator, quotechar=options.get("quote", '"') or None, escapechar="\\"
        )
        return next(reader, [])
    except (OSError, LookupError, TypeError, csv.Error):  # Spark reads it, or refuses it
        return []
