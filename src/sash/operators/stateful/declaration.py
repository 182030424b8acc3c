"""O+, the generalised stateful operator of the STRETCH paper, as it is declared.

    O+(WA, WS, I, f_MK, window type, f_U, f_O, f_S, f_μ)

Windows are [l, l + WS) with l a multiple of WA. A tuple t of input i meets, for every key k ∈ f_MK(t), the
windows of k that hold t.τ. When the watermark reaches the end of a window, the window has *expired*.

| parameter | here | called | default |
|---|---|---|---|
| WA, WS | `advance`, `size` | | |
| I | `inputs`, each with its schema | | |
| f_MK | `keys`, one for all inputs or one each | when a tuple arrives | one key for all tuples |
| window type | `window`: `"multi"`, each window by itself; `"single"`, one per key, that slides | | multi |
| f_U | `update(windows, tuple)` | for each window set that the tuple meets | store the tuple |
| f_O | `output(windows)` | when a window set expires | nothing |
| f_S | `slide(windows)` | when a single window has moved by WA | purge stale tuples |
| f_μ | `mapping(shares, instances, before=…, load=…)` | at each epoch | even loads |

`update` and `output` answer with nothing, a row (a mapping) or several. A row's time is the right end of
its window. Rows come in the order of time: those of a window that is not the next to expire wait for their
turn. So times never decrease, and each time is a valid watermark of the output.

Gulisano, Najdataei, Nikolakopoulos, Papadopoulos, Papatriantafilou, Tsigas: 'STRETCH: Virtual
Shared-Nothing Parallelism for Scalable and Elastic Stream Processing' (IEEE TPDS, 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from sash.aggregation import encoding
from sash.errors import ArgumentError, UnitError, Unsupported
from sash.operators.elastic.instance_of_share import Assignment, balanced
from sash.operators.order.interleaved import END_OF_TIME, Input, InputTable, interleave
from sash.operators.stateful.keys import Keys, key_function
from sash.operators.stateful.windows import InputEvent, WindowSet, nothing, purge, store
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike
from sash.semantics.windows.time import TimeWindow

if TYPE_CHECKING:
    from sash.operators.stateful.running_operator import Running

EmittedRows: TypeAlias = "Mapping[str, Any] | Iterable[Mapping[str, Any]] | None"
TIME = "time"
"""The output column with the right end of the window."""

SHARES = 64


class Stateful:
    """The operator as it is declared. Give functions, or subclass it and override its methods."""

    def __init__(
        self,
        *,
        advance: DurationLike | Duration,
        size: DurationLike | Duration,
        inputs: Input | Sequence[Input],
        keys: Keys | Sequence[Keys] = None,
        window: Literal["single", "multi"] = "multi",
        update: Callable[[WindowSet, InputEvent], EmittedRows] | None = None,
        output: Callable[[WindowSet], EmittedRows] | None = None,
        slide: Callable[[WindowSet], None] | None = None,
        state: Callable[[], Any] = list,
        schema: pa.Schema | None = None,
        mapping: Assignment = balanced,
        shares: int = SHARES,
    ) -> None:
        self.inputs = (inputs,) if isinstance(inputs, Input) else tuple(inputs)
        if not self.inputs or not all(isinstance(each, Input) for each in self.inputs):
            raise ArgumentError("inputs", inputs, "an Input(schema, time=…), or several of them")
        if window not in ("single", "multi"):
            raise ArgumentError("window", window, "'single' or 'multi'")
        if durations.whole_number(shares) is None or shares < 1:
            raise ArgumentError("shares", shares, "a positive number of shares of the keys")
        self.window_type, self.shares, self.mapping = window, shares, mapping
        self.clock = self._clock(advance, size)
        self.payload = pa.schema([]) if schema is None else schema
        if TIME in self.payload.names:
            raise ArgumentError(
                "schema", self.payload.names, f"without {TIME!r}, which is the window's end"
            )
        given: list[Any] = [keys] * len(self.inputs)
        if isinstance(keys, Sequence) and not isinstance(keys, str):
            given = list(keys)
        if len(given) != len(self.inputs):
            raise ArgumentError(
                "keys", f"{len(given)} of them", f"one, or one for each of {len(self.inputs)}"
            )
        self.keys = [key_function(k, own.schema) for k, own in zip(given, self.inputs, strict=True)]
        self._update, self._output, self._slide = update or store, output or nothing, slide or purge
        self._state = state

    def _clock(self, advance: DurationLike | Duration, size: DurationLike | Duration) -> TimeWindow:
        slide, length = durations.positive(advance, "advance"), durations.positive(size, "size")
        unit = durations.same_unit(advance=slide, size=length)
        for number, own in enumerate(self.inputs):
            if own.unit is not unit:
                raise UnitError(
                    f"inputs[{number}].time", own.time, f"a column for {unit.spelling}",
                    hint="Durations are for timestamps, integers for integer time columns.",
                )  # fmt: skip
        return TimeWindow(length.length, slide.length, 0, unit)

    # The functions of the paper: override them, or give them to the constructor

    def update(self, windows: WindowSet, arrival: InputEvent) -> EmittedRows:
        """f_U: updates the windows of one of a tuple's keys."""
        return self._update(windows, arrival)

    def output(self, windows: WindowSet) -> EmittedRows:
        """f_O: what is emitted for windows that have expired."""
        return self._output(windows)

    def slide(self, windows: WindowSet) -> None:
        """f_S: a single window has moved by WA; `windows.start` is its new start."""
        self._slide(windows)

    def state(self) -> Any:
        """The state of a new window."""
        return self._state()

    # How windows are saved on a stream

    def pack(self, states: list[Any]) -> bytes:
        """The states of a window, one for each input, as bytes. Override it, and `unpack`, for states that
        are made of other things than plain values and tuples."""
        try:
            return encoding.encode(states)
        except Unsupported as error:
            raise Unsupported(
                "state", states, "made of numbers, texts, times, tuples, and lists, sets or dicts of them",
                hint="Override pack and unpack in a subclass to save states of another kind.",
            ) from error  # fmt: skip

    def unpack(self, data: bytes) -> list[Any]:
        """The states that `pack` was given."""
        states: list[Any] = encoding.decode(data)
        return states

    @property
    def keeps_tuples(self) -> bool:
        """Whether a window is nothing but its tuples: they are saved once then, however many windows hold
        them."""
        stores = type(self).update is Stateful.update and self._update is store and self._state is list
        own_state = type(self).state is not Stateful.state
        return stores and not own_state and (self.window_type == "multi" or self.slides_silently)

    @property
    def slides_silently(self) -> bool:
        """Whether sliding emits nothing and only purges: then many small steps are one large one."""
        overridden = (type(self).output, type(self).slide) != (Stateful.output, Stateful.slide)
        return not overridden and self._output is nothing and self._slide is purge

    # How it runs

    @property
    def schema(self) -> pa.Schema:
        """Of the output: the time, and the columns of the rows."""
        type_ = self.inputs[0].schema.field(self.inputs[0].time).type
        bound = pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else pa.int64()
        return pa.schema([pa.field(TIME, bound), *self.payload])

    def next_end(self, time: int) -> int:
        """The earliest end of a window after `time`: nothing that is still to be emitted is older."""
        return ((time - self.clock.size) // self.clock.slide + 1) * self.clock.slide + self.clock.size

    def start(self) -> Running:
        """The running half: state, cut into shares of the keys."""
        from sash.operators.stateful.interpreted_shares import InterpretedShares

        return InterpretedShares(self)

    def over(self, *batches: InputTable) -> pa.Table:
        """The whole output over bounded inputs, one batch for each, in the order of time."""
        if len(batches) != len(self.inputs):
            raise ArgumentError(
                "batches", f"{len(batches)} of them", f"one for each of {len(self.inputs)} inputs"
            )
        return self.start().process(interleave(self.inputs, enumerate(batches), watermark=END_OF_TIME))
