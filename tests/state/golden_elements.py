"""Elements of every aggregate as bytes, and what they came to, as the version that wrote them had it.

    label    {"element": bytes, "value": bytes}, both as Base64

The bytes are what `encode` of the aggregate writes, which stores and checkpoints keep; values are written
as plain ones. A line is written once: later versions must read the first one of a label. Sketches have as
many events as make them estimate.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from functools import reduce
from pathlib import Path
from typing import Any

from sash.aggregation import encoding
from sash.aggregation.monoid import Monoid
from tests.aggregation.every_monoid import BOUND, UNBOUND

FILE = Path(__file__).with_name("elements.json")
FEW, MANY = 8, 3_000
SKETCHES = {"bloom", "distinct", "frequent_items", "quantile"}
TEXT = ("b", "a", "", "é", "a", "zz", "\N{GRINNING FACE}", "b")
NUMBERS = {
    "int": (3, -1, 4, 1, -5, 9, 2, -6),
    "float": (2.5, -1.25, 0.5, 3.0, 8.0, -4.5, 0.25, 1.0),
    "bool": (True, False, True, True, False, False, True, False),
}
Row = tuple[Any, ...]


def cases() -> dict[str, tuple[Monoid, list[Row]]]:
    """Every aggregate over every kind of column, and over text those that take it."""
    found = {label: (monoid, _rows(monoid, kinds)) for label, (monoid, kinds) in BOUND.items()}
    for label, monoid in UNBOUND.items():
        rows = list(zip(*[TEXT] * len(monoid.columns), strict=True))
        try:
            monoid.lower(folded(monoid, rows))
        except Exception:  # whatever Python makes of an operation that text does not have
            continue
        if monoid.columns:
            found[f"{label}(text)"] = monoid, rows
    return found


def _rows(monoid: Monoid, kinds: tuple[Any, ...]) -> list[Row]:
    if monoid.name in SKETCHES:
        choice = random.Random(1)
        scale = {"int": lambda n: n, "float": lambda n: n / 8, "bool": lambda n: n % 2 == 0}
        return [tuple(scale[kind](choice.randrange(2_000)) for kind in kinds) for _ in range(MANY)]
    return list(zip(*(NUMBERS[kind] for kind in kinds), strict=True)) or [()] * FEW


def folded(monoid: Monoid, rows: list[Row]) -> Any:
    return reduce(monoid.combine, [monoid.lift(*row) for row in rows])


def recorded() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def complete() -> None:
    """Write the lines that are not there."""
    known = recorded()
    for label, (monoid, rows) in cases().items():
        if label not in known:
            element = folded(monoid, rows)
            data = (monoid.encode or encoding.encode)(element)
            value = encoding.encode(monoid.lower(element))
            known[label] = {"element": b64encode(data).decode(), "value": b64encode(value).decode()}
    lines = (f"{json.dumps(label)}: {json.dumps(line)}" for label, line in sorted(known.items()))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
