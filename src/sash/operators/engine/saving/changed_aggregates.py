"""A saved operator under another list of aggregates: some are new, some are gone, or in another order.

What a new aggregate reads may be held already: a twin, over the same columns and with the same condition,
marks the elements that count for both. So does one that reads these columns and more, if it has counted
every element: no column has a null then. The new one is computed as if it had always been there.
Otherwise it is null in every window that may hold events of before, which are those that begin up to the
greatest time that was seen by then. The head of the journal remembers that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.values import reading
from sash.operators.bound_query import WINDOW, BoundQuery, BoundRolling
from sash.operators.columns.times import to_integers
from sash.operators.engine.saving.journal_entries import Entry
from sash.operators.engine.saving.operator_journal import Journal, JournalHead
from sash.operators.engine.saving.rows_under_other_aggregates import Change, Renaming
from sash.operators.engine.saving.snapshot_contents import restored
from sash.operators.engine.state import OperatorState
from sash.semantics.windows import SlideByTupleWindow

_ALWAYS_DUE = 1 << 62
"""More bytes than a journal can have: the batch is saved as a snapshot, in the new form."""


def upgrade(operator: OperatorState, header: bytes, chunks: Mapping[int, bytes], change: Change) -> None:
    """Fill an operator that is new with what was saved under other aggregates."""
    old, renaming = Journal(JournalHead.of(header), chunks), Renaming(operator.plan, change)
    snapshot, entries = old.contents()
    if snapshot is not None:
        operator.restore_facts(old.head.snapshot_facts)
        with reading("a snapshot"):
            renamed = renaming.snapshot(snapshot)
        restored(operator, renamed)
    operator.fits()
    for entry in entries:
        operator.replay(Entry([renaming.rows(rows) for rows in entry.inserts], entry.facts))
    operator.journal = Journal(
        replace(old.head, since=_since(operator, old.head.since, renaming), journal_bytes=_ALWAYS_DUE),
        chunks,
    )


def _since(operator: OperatorState, before: Mapping[str, int], renaming: Renaming) -> dict[str, int]:
    """A new aggregate that has a twin is known for as long as that is."""
    change = renaming.change
    wider = {name: one for name, one in change.wider.items() if name not in renaming.doubtful}
    twins = {} if operator.plan.folds_early else {**change.twins, **wider}
    since, seen = dict[str, int](), operator.clock.horizon
    for name in operator.bound.aggregates:
        source = name if name in change.same else twins.get(name)
        if source is not None and source in before:
            since[name] = before[source]
        elif source is None and name not in twins and seen is not None:
            since[name] = seen
    return since


def without_unknown(bound: BoundQuery, reports: pa.Table, since: Mapping[str, int]) -> pa.Table:
    """Reports with null for the aggregates that had not been there when their windows began."""
    if isinstance(bound, BoundRolling):
        times = to_integers(reports[bound.time])
        lookbacks = [window for window in bound.query.windows if isinstance(window, SlideByTupleWindow)]
        begins = {window: pa.array(times - window.size) for window in lookbacks}
        unknown = [
            (bound.feature(name, window), pc.less(begin, seen))
            for name, seen in since.items()
            for window, begin in begins.items()
        ]
    else:
        begin = pc.struct_field(reports[WINDOW], "start").cast(pa.int64())
        unknown = [(name, pc.less_equal(begin, seen)) for name, seen in since.items()]
    for name, mask in unknown:
        at, field = reports.schema.get_field_index(name), reports.schema.field(name)
        null = pa.scalar(None, field.type)
        reports = reports.set_column(at, field, pc.if_else(pc.fill_null(mask, False), null, reports[name]))
    return reports
