"""Result schemas as users write them: Spark's DDL, read without Spark.

    schema  =  name type, name type, …          type  =  double | bigint | string | … | array<type>

>>> parse("slope double, hits array<bigint>")
slope: double
hits: list<item: int64>
  child 0, item: int64
"""

from __future__ import annotations

import re

import pyarrow as pa

from sash.errors import ArgumentError

TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(), "byte": pa.int8(),
    "smallint": pa.int16(), "short": pa.int16(),
    "int": pa.int32(), "integer": pa.int32(),
    "bigint": pa.int64(), "long": pa.int64(),
    "float": pa.float32(), "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_FIELD = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))\s*:?\s+(?P<type>[\w<>\s]+?)\s*")
_ARRAY = re.compile(r"array\s*<\s*(.+)\s*>")


def parse(schema: str | pa.Schema) -> pa.Schema:
    """The Arrow schema for what the user gave."""
    if isinstance(schema, pa.Schema):
        return schema
    if not isinstance(schema, str) or not schema.strip():
        raise ArgumentError("schema", schema, "a schema such as 'slope double, n bigint'")
    return pa.schema([_field(part, schema) for part in schema.split(",")])


def _field(text: str, schema: str) -> pa.Field:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ArgumentError("schema", schema, "a list of 'name type', separated by commas")
    return pa.field(match["quoted"] or match["plain"], _type(match["type"].strip().lower(), schema))


def _type(text: str, schema: str) -> pa.DataType:
    array = _ARRAY.fullmatch(text)
    if array:
        return pa.list_(_type(array[1].strip(), schema))
    if text not in TYPES:
        raise ArgumentError(
            "schema", schema, f"made of the types {', '.join(TYPES)} and array<…>; {text!r} is none",
            hint="For other types give a pyarrow.Schema.",
        )  # fmt: skip
    return TYPES[text]
