"""What makes another query, and what does not: the hash seed, docstrings, and where the code is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.aggregation import built_in
from sash.errors import DifferentQuery
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.inspection.query_words import query_lines
from sash.runtimes.spark.state.checkpoint_compatibility import change_of
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT, canonical, describe, fingerprint
from sash.semantics import windows
from sash.semantics.query import Query

DESCRIBE = """
import sys
import pyarrow as pa, sash
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.state.fingerprint import canonical, describe
from sash.semantics.query import Query
import {module} as user
schema = pa.schema([("t", pa.int64()), ("kind", pa.string()), ("x", pa.int64())])
query = Query((sash.threshold(user.predicate),), {{"v": user.Total("x")}})
description = describe(BoundQuery(query, schema, "t", ()), buckets=8)
sys.stdout.buffer.write(canonical(description))
"""

MODULE = """
import abc, dataclasses, datetime, decimal, enum, functools, numpy, sash

@sash.monoid(commutative=True)
class Total:
    def identity(): return 0
    def combine(a, b): return a + b

def plain(row):
    return row.kind in {"a", "b", "c"}

def nested(row):
    def inside(kind):
        return kind in {"a", "b", "c"}
    return inside(row.kind)

def closing():
    kinds = {"a", "b", "c"}
    return lambda row: row.kind in kinds

class Rules:
    @staticmethod
    def static(row):
        return row.x > 3

    def method(self, row):
        return row.kind in ("a", "b")

@dataclasses.dataclass(frozen=True)
class Above:
    limit: int
    def __call__(self, row):
        return row.x > self.limit

class Bounded(abc.ABC):
    low = 2
    @abc.abstractmethod
    def high(self): ...

class Limit(Bounded):
    kinds = {"a", "b", "c"}
    __slots__ = ("x",)
    def __init__(self, x): self.x = x
    def high(self): return super().low + 5
    @property
    def inside(self): return self.x > self.low
    @functools.cached_property
    def outside(self): return self.x < 9

@dataclasses.dataclass
class Amount:
    value: int = 3
    def more(self, x): return x > self.value

class Level(enum.Enum):
    LOW = 1
    HIGH = 4
    @classmethod
    def of(cls, x): return cls.HIGH if x > 3 else cls.LOW

@functools.cache
def slowly(x): return x > 3

def over(a_class):
    return lambda row: a_class(row.x).inside

def over_amount(amount):
    return lambda row: amount.more(row.x)

def over_levels(levels):
    return lambda row: levels.of(row.x) is levels.HIGH

def over_call(function):
    return lambda row: function(row.x)

def over_value(value):
    return lambda row: row.x > value

a_delta = datetime.timedelta(5)
a_decimal = decimal.Decimal("1.50")
a_number = numpy.int64(3)
"""
VALUES = ("over_value(a_delta)", "over_value(a_decimal)", "over_value(a_number)")
CLASSES = (*VALUES, "over(Limit)", "over_amount(Amount())", "over_levels(Level)", "over_call(slowly)")
FUNCTIONS = ("plain", "nested", "closing()", "Rules.static", "Rules().method", "Above(3)")
PREDICATES = (*FUNCTIONS, *CLASSES)


def described(folder: Path, text: str, *, module: str = "shop", seed: int = 0) -> bytes:
    """The description of a query of a user's module, in a process of its own."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(text)
    paths = os.pathsep.join([str(folder), *sys.path])
    settings = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", DESCRIBE.format(module=module)]
    run = subprocess.run(command, capture_output=True, check=False, env=os.environ | settings)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def module_with(predicate: str) -> str:
    return f"{MODULE}\npredicate = {predicate}\n"


@pytest.mark.parametrize("predicate", PREDICATES)
def test_a_query_is_the_same_whatever_the_hash_seed(tmp_path: Path, predicate: str) -> None:
    one, *others = (described(tmp_path, module_with(predicate), seed=seed) for seed in (1, 2, 3))
    assert others == [one, one]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_docstrings_and_names_of_modules_and_classes_make_no_difference(
    tmp_path: Path, predicate: str
) -> None:
    kept = described(tmp_path, module_with(predicate))
    documented = re.sub(r"( *)def .*:\n", r'\g<0>\1    """Words."""\n', module_with(predicate))
    renamed = documented.replace("Rules", "Laws").replace("Above", "Over").replace("Total", "Sum")
    for old, new in {"Limit": "Bound", "Bounded": "Base", "Amount": "Sum2", "Level": "Step"}.items():
        renamed = re.sub(rf"\b{old}\b", new, renamed)
    renamed = f"{renamed}\nTotal = Sum\n"
    now = described(tmp_path, renamed, module="market", seed=7)
    change_of(kept, json.loads(now))


@pytest.mark.parametrize(
    ("predicate", "before", "after"),
    [
        ("plain", '"c"}', '"d"}'),
        ("nested", '"c"}', '"d"}'),
        ("closing()", '"c"}', '"d"}'),
        ("Rules.static", "x > 3", "x > 4"),
        ("Rules().method", '("a", "b")', '("a", "z")'),
        ("Above(3)", "Above(3)", "Above(4)"),
        ("Above(3)", "x > self", "x < self"),
        ("plain", "return a + b", "return a - b"),
        ("over(Limit)", "self.x > self", "self.x < self"),
        ("over(Limit)", "self.x < 9", "self.x < 8"),
        ("over(Limit)", "low + 5", "low + 6"),
        ("over(Limit)", "low = 2", "low = 1"),
        ("over(Limit)", '"c"}\n    __slots__', '"d"}\n    __slots__'),
        ("over_amount(Amount())", "x > self.value", "x < self.value"),
        ("over_amount(Amount())", "int = 3", "int = 4"),
        ("over_levels(Level)", "HIGH = 4", "HIGH = 5"),
        ("over_levels(Level)", "if x > 3", "if x > 4"),
        ("over_call(slowly)", "return x > 3", "return x > 4"),
        ("over_value(a_delta)", "timedelta(5)", "timedelta(6)"),
        ("over_value(a_decimal)", "1.50", "1.51"),
        ("over_value(a_number)", "int64(3)", "int64(4)"),
    ],
)
def test_what_a_function_does_makes_a_difference(
    tmp_path: Path, predicate: str, before: str, after: str
) -> None:
    kept = described(tmp_path, module_with(predicate))
    now = described(tmp_path, module_with(predicate).replace(before, after), module="market")
    with pytest.raises(DifferentQuery):
        change_of(kept, json.loads(now))


def test_a_class_that_0_1_0_has_described_by_module_and_name_goes_on(tmp_path: Path) -> None:
    now = json.loads(described(tmp_path, module_with("over(Limit)")))
    (window,) = now["windows"].values()
    (predicate,) = (part for part in window.values() if isinstance(part, dict))
    described_now = json.dumps(predicate["closes over"]["a_class"])
    kept = json.loads(json.dumps(now).replace(described_now, '"old.Limit"'))
    assert kept != now
    change_of(canonical(kept), now)
    with pytest.raises(DifferentQuery):
        change_of(canonical(kept).replace(b"old.Limit", b"old.Other"), now)


@pytest.mark.parametrize(
    ("kept", "now"),
    [
        ({"time": "payload.ts"}, {"time": "ts"}),
        ({"limit": "1.5"}, {"limit": "5"}),
        ({"function": "sum.<locals>.lift"}, {"function": "mean.<locals>.lift"}),
        ({"is": "shop.Above"}, {"is": {"is": "Below"}}),
    ],
)
def test_a_name_that_only_ends_alike_is_another_one(
    kept: dict[str, object], now: dict[str, object]
) -> None:
    with pytest.raises(DifferentQuery):
        change_of(canonical(kept), now)


def test_the_zone_of_a_session_is_no_part_of_a_query() -> None:
    """Times are instants; a session only shows them in its zone."""

    def described(zone: str) -> bytes:
        schema = pa.schema([("t", pa.timestamp("us", zone)), ("x", pa.int64())])
        query = Query((windows.tumbling("1 hour"),), {"n": built_in.count()})
        return canonical(describe(BoundQuery(query, schema, "t", ()), buckets=8))

    assert described("Europe/Berlin") == described("UTC")


def test_what_was_written_is_kept_for_people_and_not_compared() -> None:
    schema = pa.schema([("t", pa.int64()), ("x", pa.int64())])
    aggregates = {"n": sash.last("x", 3), "high": sash.sum("x", where="x > 1")}
    bound = BoundQuery(Query((sash.tumbling(5),), aggregates), schema, "t", ())
    now = describe(bound, buckets=8)
    assert [line for line in query_lines(now) if line.startswith("computes")] == [
        "computes   n = last(x, 3), high = sum(x, where=x > 1)"
    ]
    before = {name: part for name, part in now.items() if name != "calls"}
    assert change_of(canonical(before), now) is None
    assert fingerprint(before) == fingerprint(now)
    assert "high = sum(x, where=x > 1)" in "".join(query_lines(before))


def differing(one: Any, other: Any) -> str:
    """The reasons for which the second does not go on from the first."""
    with pytest.raises(DifferentQuery) as raised:
        change_of(canonical(describe(one.bound, buckets=2)), describe(other.bound, buckets=2))
    return str(raised.value).split(". ")[0].removeprefix("this checkpoint was made by a different query: ")


def test_only_what_is_refused_is_a_reason_in_plain_words() -> None:
    events = pa.table({"t": [1], "k": ["a"], "k2": ["b"], "x": [1.0]})
    by = {key: sash.stream(events, time="t", key=key) for key in ("k", "k2")}
    count, high = {"n": sash.count()}, {"n": sash.count(), "high": sash.max("x")}
    first = by["k"].window(sash.rows(100)).agg(**count)
    fifty = by["k"].window(sash.rows(50)).agg(**high)
    assert differing(first, fifty) == "windows were rows(100, every=100) and are rows(50, every=50)"
    rolling = by["k"].rolling(100).agg(**count)
    assert differing(first, rolling) == (
        "it was made by .window (rows(100, every=100)), and this query is by .rolling (100)"
    )
    assert differing(first, by["k2"].window(sash.rows(100)).agg(**high)) == "key was 'k' and is 'k2'"
    panes = by["k"].window(sash.tumbling(10))
    assert differing(panes.agg(**count), panes.agg(**count, x=sash.first("x"))) == (
        "aggregate x is new; it holds panes of the stream, and these aggregates would need events"
    )
    above = [by["k"].window(sash.threshold(lambda row: row.x > 1)).agg(**count)]
    above += [by["k"].window(sash.threshold(lambda row: row.x < 2)).agg(**count)]
    assert differing(*above) == "the code of windows.threshold.predicate is another"


def test_what_only_follows_from_another_key_is_not_named() -> None:
    then = {"kind": "BoundQuery", "key": ["k"], BUCKET_COUNT: 2}
    with pytest.raises(DifferentQuery) as refused:
        change_of(canonical(then), {"kind": "BoundQuery", "key": [], BUCKET_COUNT: 1})
    assert "by a different query: key was 'k' and is none. " in str(refused.value)
    with pytest.raises(DifferentQuery, match="the number of buckets, which stays, was 2 and is 1"):
        change_of(canonical(then), then | {BUCKET_COUNT: 1})


def test_look_backs_and_aggregates_are_listed_in_the_order_that_they_were_given() -> None:
    events = pa.table({"t": [1], "k": ["a"], "x": [1.0]})
    rolling = sash.stream(events, time="t", key="k").rolling(300, 60, 100)
    bound = rolling.agg(n=sash.count(), a=sash.sum("x")).bound
    kept = json.loads(canonical(describe(bound, buckets=1)))
    assert list(kept["windows"]) == ["100", "300", "60"]
    lines = query_lines(kept)
    assert lines[0] == "rolling    300, 60, 100"
    assert lines[-1] == "computes   n = count(), a = sum(x)"
