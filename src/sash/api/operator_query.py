"""A stateful operator (O+) over its inputs: `sash.operate(operator, *data)`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa

from sash.api.handle import Launch, QueryHandle
from sash.errors import ArgumentError
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.join import Join
from sash.planner.explain.explanation import VERSION
from sash.planner.explain.explanation_text import RUNTIMES, named, numbered_lines, sections
from sash.runtimes.local.local_source import LocalSource
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import Sink


class OperatorRuntime(Protocol):
    """The inputs of an operator, and the runtime that they belong to."""

    @property
    def bounded(self) -> bool: ...
    def collect(self) -> pa.Table: ...
    def dataframe(self) -> Any: ...
    @property
    def stages(self) -> list[str]: ...


@dataclass(frozen=True)
class LocalOperator:
    """Inputs in this process: tables, frames, or columns by name, sorted by time."""

    operator: Stateful
    data: tuple[Any, ...]

    bounded: ClassVar[bool] = True

    def collect(self) -> pa.Table:
        return self.operator.over(*map(_columns, self.data))

    def dataframe(self) -> Any:
        first = LocalSource.of(self.data[0])
        return self.collect() if first is None else first.frame(self.collect())

    @property
    def stages(self) -> list[str]:
        return ["merge the inputs by time", "run the operator"]


def _columns(data: Any) -> Any:
    source = LocalSource.of(data)
    return data if source is None else source.table


@dataclass(frozen=True)
class OperatorQuery(QueryHandle):
    """The rows that an operator emits, in the order of time."""

    operator: Stateful
    runtime: OperatorRuntime

    def __repr__(self) -> str:
        return f"<sash operator {type(self.operator).__name__} → {', '.join(self.operator.schema.names)}>"

    @property
    def _bounded(self) -> bool:
        return self.runtime.bounded

    def _collected(self) -> pa.Table:
        return self.runtime.collect()

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        first = getattr(self.runtime, "first", None)
        return super()._first(rows) if first is None else first(rows)

    def _framed(self) -> Any:
        return self.runtime.dataframe()

    def _started(self, sink: Sink, launch: Launch) -> Any:
        from sash.runtimes.spark.stateful.join_frames import JoinFrames
        from sash.runtimes.spark.stateful.operator_stages import StreamingOperator
        from sash.runtimes.spark.streaming.start import start_join, start_operator

        runtime = self.runtime
        if isinstance(runtime, JoinFrames):
            if launch.elastic is None:
                runtime.require_no_mapping()
            return start_join(
                runtime.streams, runtime.bound, sink, late=launch.late_of_sides(),
                checkpoint=launch.checkpoint, elastic=launch.elastic, trigger=launch.trigger,
                name=launch.name, mapping=self.operator.mapping,
            )  # fmt: skip
        assert isinstance(runtime, StreamingOperator), "only Spark has streams"
        return start_operator(
            runtime, sink, late=launch.late_of_one_input(),
            checkpoint=launch.checkpoint, elastic=launch.elastic, trigger=launch.trigger, name=launch.name,
        )  # fmt: skip

    def _explained(self) -> dict[str, Any]:
        """Its keys are those of the JSON, and stay."""
        operator = self.operator
        kind = "each by itself" if operator.window_type == "multi" else "one per key, which slides"
        return {
            "version": VERSION,
            "semantics": {
                "operator": type(operator).__name__,
                "windows": f"{operator.clock.formula}; {kind}",
                "inputs": [f"{', '.join(own.schema.names)}, by {own.time}" for own in operator.inputs],
                "output": operator.schema.names,
            },
            "stages": self.runtime.stages,
            "keeps": self._keeps(),
        }

    def _keeps(self) -> str:
        """What is held between two batches."""
        if self._bounded:
            here = isinstance(self.runtime, LocalOperator)
            held = "all inputs are" if here else "each task has the tuples of its keys"
            return f"no state; {held} in memory while it runs"
        clock = self.operator.clock
        if self.operator.window_type == "single":
            return "per key: the state of one window, and rows that wait for the watermark"
        at_once = ceil(clock.size / clock.slide)
        return (
            f"per key: the state of {at_once} open windows at a time, until the watermark passes their ends"
        )

    @property
    def _where(self) -> str:
        if isinstance(self.runtime, LocalOperator):
            return RUNTIMES["process"]
        return RUNTIMES["spark batch" if self._bounded else "spark streaming"]

    def _as_json(self) -> str:
        return json.dumps(self._explained(), indent=2, ensure_ascii=False)

    def _as_text(self) -> str:
        facts = self._explained()
        return named(
            [
                *self._semantics(facts),
                ("runs", self._where),
                ("keeps", facts["keeps"]),
                ("more", 'explain("plan"): stages; explain("json")'),
            ]
        )

    def _as_plan(self) -> str:
        facts = self._explained()
        return sections(
            [
                ("semantics", [f"{name}: {text}" for name, text in self._semantics(facts)]),
                (f"stages: {self._where}", numbered_lines(facts["stages"])),
                ("keeps", [facts["keeps"]]),
            ]
        )

    def _semantics(self, facts: dict[str, Any]) -> list[tuple[str, str]]:
        """The operator, its windows, and the columns of its inputs and of its output."""
        semantics = facts["semantics"]
        several = len(semantics["inputs"]) > 1
        return [
            ("operator", semantics["operator"]),
            ("windows", semantics["windows"]),
            *(
                (f"input {number}" if several else "input", own)
                for number, own in enumerate(semantics["inputs"])
            ),
            ("output", ", ".join(semantics["output"])),
        ]


def operate(
    operator: Stateful, *data: Any, delay: DurationLike | Sequence[DurationLike] = 0
) -> OperatorQuery:
    """A stateful operator over its inputs, one of `data` for each: a query, as those over windows are.

    Arrow tables, pandas or polars frames, or columns by name, all sorted by time, are computed in this
    process. Static PySpark DataFrames are computed by Spark: a tuple goes once to each bucket that owns one
    of its keys. `.dataframe()` of streaming PySpark DataFrames is one too, so that operators and windows
    follow each other; `.start(sink, checkpoint=…)` runs it, with `elastic=` on as many tasks as it needs.
    An elastic operator takes streams as they are read: it cannot follow another operator or windows.

    `delay` is how far behind the newest tuple of a stream another may come and still be on time, one for
    all inputs or one for each. Of several inputs the one that is furthest behind counts, and one without
    a tuple so far holds back the others. Tuples of one time are taken in the order of the inputs. A
    stream that comes with a watermark, as the rows of another operator do, keeps it. A delay given for it
    is then one for all inputs, on top of their own: Spark has one watermark for all of them.
    """
    if not isinstance(operator, Stateful):
        raise ArgumentError("operator", operator, "a sash.operators.Stateful")
    return OperatorQuery(operator, _runtime(operator, data, delay))


def _runtime(operator: Stateful, data: tuple[Any, ...], delay: Any) -> OperatorRuntime:
    on_spark = [type(each).__module__.startswith(("pyspark.", "sash.runtimes.spark.")) for each in data]
    if not any(on_spark):
        if len(data) != len(operator.inputs):
            expected = f"one for each of {len(operator.inputs)} inputs"
            raise ArgumentError("data", f"{len(data)} of them", expected)
        _refuse_delay(delay, len(data), "tables, which are sorted by time")
        return LocalOperator(operator, data)
    if not all(on_spark):
        raise ArgumentError("data", [type(each).__name__ for each in data], "all DataFrames, or all tables")
    from sash.operators.stateful.streaming import BoundOperator
    from sash.runtimes.spark.stateful import operator_stages
    from sash.runtimes.spark.stateful.join_frames import JoinFrames

    frames = tuple(map(operator_stages.frame_of, data))
    operator_stages.require_fitting(operator, frames)
    if not any(df.isStreaming for df in frames):
        _refuse_delay(delay, len(frames), "static DataFrames, whose tuples are all on time")
        if isinstance(operator, Join):
            return JoinFrames(operator, frames)
        return operator_stages.StaticOperator(operator, frames)
    if not all(df.isStreaming for df in frames):
        kinds = ["streaming" if df.isStreaming else "static" for df in frames]
        raise ArgumentError("data", kinds, "all streaming DataFrames, or all static ones")
    delays = _delays(delay, len(frames))
    if isinstance(operator, Join):
        return JoinFrames(operator, frames, delays)
    return operator_stages.StreamingOperator(BoundOperator(operator, delays), frames)


def _refuse_delay(given: Any, inputs: int, data: str) -> None:
    if any(each.length for each in _delays(given, inputs)):
        raise ArgumentError("delay", given, f"left out for {data}")


def _delays(given: Any, inputs: int) -> tuple[Duration, ...]:
    """One for each input."""
    each = list(given) if isinstance(given, list | tuple) else [given] * inputs
    if len(each) != inputs:
        raise ArgumentError("delay", given, f"one delay, or one for each of {inputs} inputs")
    return tuple(durations.not_negative(one, "delay") for one in each)
