"""Random tuples of inputs with schemas of their own, and which of them are on time, by definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from sash.operators import Input, Stateful

ORDERS = Input(
    pa.schema([("t", pa.int64()), ("tags", pa.list_(pa.string())), ("number", pa.int64())]), time="t"
)
VISITS = Input(pa.schema([("tag", pa.string()), ("t", pa.int32()), ("number", pa.int64())]), time="t")
RATES = Input(
    pa.schema([("at", pa.int64()), ("tag", pa.string()), pa.field("number", pa.int64(), nullable=False)]),
    time="at",
)
INPUTS = (ORDERS, VISITS, RATES)
KEYS = ("tags", "tag", "tag")

Tuple: TypeAlias = "dict[str, Any]"
Arrived: TypeAlias = "list[list[Tuple]]"
"""A batch: the tuples of each input."""


def diary(inputs: Sequence[Input] = INPUTS) -> Stateful:
    """Says of every window which tuples it has met, of all inputs, in the order of their arrival."""

    def write(windows: Any, tuple_: Any) -> None:
        windows[0].append(f"{tuple_.input}: {tuple_.row.number}")

    def read(windows: Any) -> Any:
        return {"key": windows.key, "met": windows[0]}

    schema = pa.schema([("key", pa.string()), ("met", pa.list_(pa.string()))])
    return Stateful(
        advance=5, size=10, inputs=inputs, keys=KEYS[: len(inputs)], shares=4, update=write, output=read,
        schema=schema,
    )  # fmt: skip


@st.composite
def batches(draw: st.DrawFn, *, inputs: int) -> list[Arrived]:
    """Few times, so that many are equal; an input is silent in some batches, and may never say a word."""
    tag = st.none() | st.sampled_from(["red", "pink", "blue"])
    tags = [st.lists(tag, min_size=1, max_size=3), tag, tag]
    numbers = st.builds(count().__next__)

    def some(number: int) -> st.SearchStrategy[list[Tuple]]:
        time = st.integers(-2, 25).map(lambda time: None if time < 0 else time)
        one = {INPUTS[number].time: time, KEYS[number]: tags[number], "number": numbers}
        return st.lists(st.fixed_dictionaries(one), max_size=5)

    batch = st.tuples(*map(some, range(inputs))).map(list)
    return draw(st.lists(batch, min_size=1, max_size=6))


@dataclass
class OnTime:
    """The definition: a tuple is on time unless it is behind the watermark of the batches before its own.

    watermark  =  the least, over the inputs, of the newest time so far, less the input's delay
    """

    delay: Sequence[int]
    kept: Arrived
    newest: list[int | None]
    late: int = 0

    @classmethod
    def of(cls, arrived: Sequence[Arrived], *, delay: int | Sequence[int]) -> OnTime:
        inputs = len(arrived[0])
        judged = cls(
            [delay] * inputs if isinstance(delay, int) else delay,
            [[] for _ in range(inputs)],
            [None] * inputs,
        )
        for batch in arrived:
            judged.take(batch)
        return judged

    @property
    def watermark(self) -> int | None:
        """None as long as an input has brought nothing."""
        several = zip(self.newest, self.delay, strict=True)
        known = [time - delay for time, delay in several if time is not None]
        return min(known) if len(known) == len(self.newest) else None

    def take(self, batch: Arrived) -> None:
        before = self.watermark
        for number, tuples in enumerate(batch):
            for one in tuples:
                time = one[INPUTS[number].time]
                if time is None or (before is not None and time < before):
                    self.late += 1
                else:
                    self.kept[number].append(one)
            times = [one[INPUTS[number].time] for one in tuples]
            known = [time for time in (self.newest[number], *times) if time is not None]
            self.newest[number] = max(known, default=None)

    def expected(self, operator: Stateful) -> list[str]:
        """What the operator emits in process for the tuples that were on time, up to the watermark."""
        watermark = self.watermark
        if watermark is None:
            return []
        ordered = [
            table(number, sorted(tuples, key=lambda one: one[INPUTS[number].time]))
            for number, tuples in enumerate(self.kept)
        ]
        return seen(row for row in operator.over(*ordered).to_pylist() if row["time"] <= watermark)


def table(number: int, tuples: list[Tuple]) -> pa.Table:
    return pa.Table.from_pylist(tuples, schema=INPUTS[number].schema)


def seen(rows: Any) -> list[str]:
    return sorted(map(str, rows))
