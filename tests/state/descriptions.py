"""Descriptions of queries with every aggregate, window and operator, as they are in checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash.operators.stateful.streaming import BoundOperator
from sash.runtimes.spark.state.fingerprint import compared, describe, describe_join, describe_operator
from sash.runtimes.spark.state.stable_json import plain
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from tests.aggregation.every_monoid import UNBOUND
from tests.faults.operator_events import SCHEMA
from tests.faults.operators import OPERATORS

FILE = Path(__file__).with_name("descriptions.json")
WINDOWS = (
    windows.sliding("20 seconds", every="5 seconds"), windows.tumbling(10), windows.rows(7, every=3),
    windows.session("2 seconds"), windows.delta("km", 700, every=300), windows.cumulate(60, step=10),
    windows.slide_by_tuple("1 minute", 3), windows.slide_by_time(100, "1 minute"),
)  # fmt: skip
"""Those without functions of users, whose code is of one version of Python."""


def descriptions() -> dict[str, Any]:
    found = {f"aggregate {label}": plain(monoid) for label, monoid in UNBOUND.items()}
    found |= {f"window {window}": plain(window) for window in WINDOWS}
    for name, operator in OPERATORS.items():
        queries = operator.query(pa.Table.from_pylist([], schema=SCHEMA))
        several = queries if isinstance(queries, dict) else {"": queries}
        found |= {f"query {name} {part}".strip(): _described(query) for part, query in several.items()}
    return found


def written() -> str:
    """As the file has it, one line for each; what is of one version of Python is left out."""
    lines = (f"{json.dumps(name)}: {json.dumps(_lasting(each), sort_keys=True)}"
             for name, each in sorted(descriptions().items()))  # fmt: skip
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lasting(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _lasting(each) for name, each in part.items() if not name.startswith("code of")}
    return [_lasting(each) for each in part] if isinstance(part, list) else part


def _described(query: Any) -> dict[str, Any]:
    if isinstance(query, sash.OperatorQuery):
        return describe_operator(BoundOperator.of(query.operator, Duration(5, Unit.TICKS)))
    if isinstance(query, sash.JoinQuery):
        return describe_join(query.bound, buckets=4)
    return compared(describe(query.bound, buckets=4))
