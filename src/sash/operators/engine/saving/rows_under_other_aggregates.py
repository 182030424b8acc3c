"""What was saved under one list of aggregates, as another list has it: rows by column, words by name.

a row        a column that was not kept is null
a word       one of the same name is moved; any other one is 0
known bits   the i-th bit is the i-th aggregate's; a new one has that of its twin
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation import encoding
from sash.arrays import Bytes, Ints
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine.lanes.element_layout import KNOWN, Form
from sash.operators.engine.lanes.row_words import BITS, Words
from sash.operators.engine.pending_events import COLUMNS
from sash.operators.engine.saving.journal_entries import split_by_lengths, with_lengths
from sash.operators.engine.saving.snapshot_contents import heap_in, heap_table, words_in, words_table
from sash.operators.engine.saving.snapshot_names import NamesOfTables, names_of
from sash.operators.engine.state_layout import LanePlan, StatePlan
from sash.operators.folding.panes import part_name

_BOOKKEEPING = [f"__{name}" for name in COLUMNS]


@dataclass(frozen=True)
class Change:
    """Of the aggregates of a query."""

    before: tuple[str, ...]
    """Their names as they were, in order."""
    same: frozenset[str]
    """Those that are what they were."""
    twins: Mapping[str, str | None]
    """For new ones: one of before, over the same columns and with the same condition; None for one that
    counts every event. Others have none."""
    wider: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """For new ones without a twin: one of before that reads their columns and more, with the same
    condition. What it counts, they count; what it does not count, they may."""


@dataclass(frozen=True)
class Renaming:
    """From a list of aggregates to that of a plan."""

    plan: StatePlan
    change: Change
    doubtful: set[str] = dataclasses.field(default_factory=set)
    """New aggregates that may count more of a snapshot's events than the marks of the wider one show."""

    # Rows

    def rows(self, table: pa.Table) -> pa.Table:
        """Rows of an entry, or events that wait: bookkeeping, keys, and the columns that are needed."""
        there = [name for name in _BOOKKEEPING if name in table.column_names]
        wanted = self._wanted(table.schema)
        keys = [key for key in self.plan.bound.keys if key in table.column_names and key not in wanted]
        columns = {name: table[name] for name in [*there, *keys]}
        for name, field in wanted.items():
            old = self._old_column(name)
            kept = old is not None and old in table.column_names
            columns[name] = table[old] if kept else pa.nulls(table.num_rows, field.type)
        fields = [table.schema.field(name) for name in [*there, *keys]]
        return pa.table(columns, schema=pa.schema([*fields, *wanted.values()]))

    def _wanted(self, kept: pa.Schema) -> dict[str, pa.Field]:
        """In the order in which an operator has them: see `WindowOperator._needed`."""
        plan = self.plan
        if plan.panes is not None:
            return {part.name: part for part in plan.panes.parts}
        read = {name: plan.bound.schema.field(name) for name in plan.bound.columns if name in plan.columns}
        marks = {name: kept.field(name) for name in kept.names if name in plan.columns and name not in read}
        as_kept = {name: kept.field(name) for name in read if name in kept.names}
        return read | as_kept | marks

    @cached_property
    def _pane_columns(self) -> dict[str, str | None]:
        """By name of a pane's column: what it was called."""
        panes = self.plan.panes
        if panes is None:
            return {}
        before = self._before(Form(panes.folded.schema, panes.folded.aggregates))
        return {
            column: part_name(before.index(name), part) if name in before else None
            for name, monoid in panes.folded.aggregates.items()
            for part, column in enumerate(monoid.columns)
        }

    def _old_column(self, name: str) -> str | None:
        return self._pane_columns.get(name, name)

    def _before(self, form: Form) -> list[str]:
        """The aggregates of a lane as they were, in order: after those of the query come the lane's own.
        One that is no more what it was has no name any more."""
        own = [name for name in form.monoids if name not in self.plan.bound.aggregates]
        return [name if name in self.change.same else "" for name in self.change.before] + own

    # Words

    def snapshot(self, data: Any) -> bytes:
        """A snapshot in the form of the plan."""
        plan = self.plan
        kept, slots, keys, *rest = split_by_lengths(data)
        names: NamesOfTables = json.loads(bytes(kept))
        streams, lanes = iter(rest), list[bytes]()
        old, key_words = words_in(slots), Words(plan.keys).width
        rows = self._slot_rows(names["key"], old[:, : old.shape[1] - key_words])
        for lane in plan.lanes:
            if lane.running:
                lanes.append(_packed(heap_table(self._folds(lane, rows, heap_in(next(streams))))))
            else:
                words = self._elements(lane.form, names[lane.name], words_in(next(streams)))
                lanes += [_packed(words_table(words)), bytes(next(streams))]
        reported = [bytes(next(streams)) for _ in plan.bound.query.windows]
        waiting = [_packed(self.rows(table_of(stream))) for stream in streams]
        whole = np.hstack([rows, old[:, old.shape[1] - key_words :]])
        first = [_packed(words_table(whole)), bytes(keys)]
        return with_lengths([json.dumps(names_of(plan)).encode(), *first, *lanes, *reported, *waiting])

    def _slot_rows(self, names: list[str], old: Ints) -> Ints:
        """The words of keys, without those of the keys themselves."""
        mine = names_of(self.plan)["key"]
        own = -len(self.plan.keys) - 1 if len(self.plan.keys) else None
        kept, mine = names[:own], mine[:own]
        rows = np.zeros((len(old), len(mine)), np.int64)
        for at, name in enumerate(mine):
            if name in kept and not self._is_new_fold(name):
                rows[:, at] = old[:, kept.index(name)]
        for lane in (lane for lane in self.plan.lanes if lane.running):
            word = f"{lane.name}.known "
            # An aggregate may be called so, too; the words of its fold also have a type.
            then, now = (
                [at for at, name in enumerate(names) if name.startswith(word) and ":" not in name]
                for names in (kept, mine)
            )
            rows[:, now] = self._known(lane.form, old[:, then])
        return rows

    def _is_new_fold(self, name: str) -> bool:
        """Whether a word is of the fold of an aggregate that has the name of another one of before."""
        renewed = [n for n in self.plan.bound.aggregates if n not in self.change.same]
        fold = name.rpartition(": ")[0].rpartition(" ")[0]
        return any(
            fold == f"{lane.name}.{aggregate}"
            for lane in self.plan.lanes if lane.running
            for aggregate in renewed
        )  # fmt: skip

    def _known(self, form: Form, old: Ints) -> Ints:
        """Which aggregates count what."""
        before, known = self._before(form), np.zeros((len(old), form.known_words), np.int64)
        twins = {} if self.plan.folds_early else {**self.change.twins, **self.change.wider}
        for name, aggregate in form.aggregates.items():
            twin = twins.get(name)
            if name in twins and twin is None:
                known[:, aggregate.word] |= aggregate.bit
            elif name in before or twin is not None:
                at = before.index(name) if twin is None else self.change.before.index(twin)
                counted = old[:, at // BITS] >> at % BITS & 1
                known[:, aggregate.word] |= counted * aggregate.bit
                if name in self.change.wider and not counted.all():
                    self.doubtful.add(name)
        return known

    def _folds(self, lane: LanePlan, rows: Ints, heap: Bytes) -> Bytes:
        """The heap of a running lane, with a fold of nothing for each new aggregate that is an object."""
        mine = names_of(self.plan)["key"]
        for name, aggregate in lane.form.aggregates.items():
            if aggregate.machine is None and name not in self._before(lane.form):
                begin = mine.index(f"{lane.name}.{name} 0: begin")
                encode = aggregate.monoid.encode or encoding.encode
                nothing = np.frombuffer(encode(aggregate.monoid.identity()), np.uint8)
                rows[:, begin], rows[:, begin + 1] = len(heap), len(nothing)
                heap = np.concatenate([heap, nothing])
        return heap

    def _elements(self, form: Form, names: list[str], old: Ints) -> Ints:
        then = _element_words(names)
        words = np.zeros((len(old), form.width), np.int64)
        words[:, 0] = old[:, 0]
        known = [at for name, at in then.items() if name.startswith("known ")]
        words[:, KNOWN : KNOWN + form.known_words] = self._known(form, old[:, known])
        for column, at in form.numbers.items():
            place = then.get(f"{self._old_column(column)}: {form.schema.field(column).type}")
            if place is not None:
                words[:, at] = old[:, place]
        for field, at in zip(form.others.schema, form.other_places, strict=True):
            place = then.get(f"{field.name}: {field.type}")
            if place is None:
                words[:, at + 1] = -1
            else:
                words[:, at : at + 2] = old[:, place : place + 2]
        return words


def _element_words(names: list[str]) -> dict[str, int]:
    """Where each word of an element begins, by name; values that are no numbers have two words, after one
    that marks nulls for every 62 of them (see `row_words`)."""
    width = int(names[-1].split()[1]) if names[-1].startswith("in ") and names[-1].endswith(" words") else 0
    others = next(n for n in range(width + 1) if -(-n // BITS) + 2 * n == width)
    single = len(names) - others - 1 if width else len(names)
    places = {name: at for at, name in enumerate(names[:single])}
    first = single + -(-others // BITS)
    return places | {name: first + 2 * at for at, name in enumerate(names[single : single + others])}


def _packed(table: pa.Table) -> bytes:
    return bytes_of(table, compressed=True)
