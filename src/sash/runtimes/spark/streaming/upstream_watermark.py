"""The watermarks that a streaming DataFrame comes with: a user's own, or that of the windows before.

Spark allows one watermark on the way from a source to a sink, so a stream that has one keeps it. Which it
has is read from the analysed plan: a Python stage forgets on which column the watermark was, the plan does
not. Our own watermark is defined in `semantics/watermark.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame

from sash.errors import ArgumentError
from sash.planner.facts import OwnWatermark
from sash.runtimes.spark.compat import analysed_plan
from sash.runtimes.spark.packing.blocks import NEWEST_AT
from sash.semantics.durations import Duration, Unit

NEWEST, NEWEST_TICK = "__sash_newest", "__sash_newest_tick"
"""The columns that carry our own watermarks, for timestamps and for integers."""

_METADATA = "spark.watermarkDelayMs"
"""Where Spark notes that a watermark is on a column."""

_NODE = r"^[\s:+\-~']*"
_WATERMARK = re.compile(_NODE + r"EventTimeWatermark [^,]+, (?P<column>.+?)#\d+L?: ")
_STATEFUL = re.compile(
    _NODE + r"(TransformWithState|FlatMapGroups\w*WithState|Aggregate|Deduplicate|Distinct|Join)"
)


_LENGTH = re.compile(r"(?P<number>[\d.]+) (?P<unit>day|hour|minute|second)s?")
_SECONDS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


@dataclass(frozen=True)
class Upstream:
    """What is known about time before our own stages begin."""

    columns: tuple[str, ...]
    """Of the watermarks, as the plan names them; none when there is no watermark yet."""
    derived: bool
    """Whether a stateful step lies between them and us: its rows are as old as the watermark that made it
    emit them, so that they are judged by the one before."""
    delays: tuple[str, ...] = ()
    """How far each of them is behind the newest time, as the plan has it."""

    @classmethod
    def of(cls, df: DataFrame) -> Upstream:
        return cls.in_plan(analysed_plan(df))

    @classmethod
    def in_plan(cls, plan: str) -> Upstream:
        """What the text of an analysed plan has, from the top down."""
        columns: list[str] = []
        delays: list[str] = []
        derived = False
        for line in plan.splitlines():
            watermark = _WATERMARK.match(line)
            if watermark:
                columns.append(watermark["column"])
                delays.append(line.rpartition(", ")[2])
            elif not columns and _STATEFUL.match(line):
                derived = True
        return cls(tuple(columns), derived and bool(columns), tuple(delays))

    def own(self) -> OwnWatermark | None:
        """What judges the rows instead of a watermark of ours; None where the stream has none."""
        if not self.columns:
            return None
        if {NEWEST, NEWEST_TICK}.intersection(self.columns):
            return OwnWatermark("that of the windows before", None)
        lengths = [_length(delay) for delay in self.delays]
        slowest = max(lengths, key=lambda length: length.length)
        several = "the slowest of the stream's own" if len(set(lengths)) > 1 else "the stream's own"
        return OwnWatermark(f"{several}, newest {self.columns[0]} − {slowest}", slowest)

    def require_about(self, df: DataFrame, time: str, *, ticks: bool) -> None:
        """Refuse a time column that the watermark is not on."""
        watermarked = [field.name for field in df.schema if _METADATA in field.metadata]
        foreign = [column for column in self.columns if (column == NEWEST_TICK) != ticks]
        if foreign or (watermarked and time not in watermarked):
            raise ArgumentError(
                "time", time, f"what the stream's watermark is on ({_names(watermarked, foreign)})",
                hint="Spark allows one watermark for a stream; without one, sash.stream sets its own.",
            )  # fmt: skip

    def watermarked(self, blocks: DataFrame, delay: str, *, ticks: bool) -> DataFrame:
        """Blocks with a watermark: the stream's own, or one of their stamps."""
        if self.columns:
            return blocks
        name = NEWEST_TICK if ticks else NEWEST
        return blocks.withColumnRenamed(NEWEST_AT, name).withWatermark(name, delay)


def _length(words: str) -> Duration:
    """
    >>> str(_length("1 minutes 30 seconds"))
    '1 minute 30 seconds'
    """
    parts = _LENGTH.finditer(words)
    seconds = sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)
    return Duration(round(seconds * 1_000_000), Unit.MICROSECONDS)


def _names(watermarked: list[str], foreign: list[str]) -> str:
    ours = {NEWEST: "a timestamp of the windows before", NEWEST_TICK: "an integer of the windows before"}
    return ", ".join(watermarked or [ours.get(column, column) for column in foreign])
