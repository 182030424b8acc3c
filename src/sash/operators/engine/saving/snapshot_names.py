"""What the words of a snapshot mean, by name.

A snapshot holds rows of words, which only the code that wrote them can read. So it names them: a version of
the library that keeps other words, or the same in another order, refuses it instead of reading nonsense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sash.errors import CorruptValue
from sash.operators.engine.lanes.element_layout import Form
from sash.operators.engine.lanes.row_words import Words

if TYPE_CHECKING:
    from sash.operators.engine.state_layout import StatePlan

NamesOfTables = dict[str, list[str]]
_SLOT = ["hash", "state", "closes", "expires", "newest"]
_RING = ["base", "log", "head", "count"]
_RUNNING = ["open", "first", "last"]


def names_of(plan: StatePlan) -> NamesOfTables:
    """The words of a key's row, and of the elements of each lane."""
    slot, names = list(_SLOT), dict[str, list[str]]()
    for lane in plan.lanes:
        own = [*_RUNNING, *_known(lane.form), *_folds(lane.form)] if lane.running else _RING
        slot += [f"{lane.name}.{word}" for word in own]
        if not lane.running:
            names[lane.name] = _element(lane.form)
    for number, kind in enumerate(plan.kinds):
        slot += [f"window {number}.{word}" for word in kind.memory]
    return {"key": slot + _columns(plan.keys), **names}


def require_same(kept: NamesOfTables, plan: StatePlan) -> None:
    """CorruptValue if a snapshot has other words than this version keeps."""
    ours = names_of(plan)
    for name in sorted(kept.keys() | ours.keys()):
        theirs, mine = kept.get(name, []), ours.get(name, [])
        if theirs != mine:
            at = next((n for n, (a, b) in enumerate(zip(theirs, mine, strict=False)) if a != b), None)
            at = min(len(theirs), len(mine)) if at is None else at
            other, here = (words[at] if at < len(words) else "nothing" for words in (theirs, mine))
            raise CorruptValue(
                f"the state was saved by another version of Sash: word {at} of {name!r} is {other!r} there "
                f"and {here!r} here; start the query with a new checkpoint, or use the version that saved "
                "it"
            )


def _known(form: Form) -> list[str]:
    return [f"known {number}" for number in range(form.known_words)]


def _folds(form: Form) -> list[str]:
    """Of a running lane: the partial aggregates."""
    words = list[str]()
    for name, aggregate in form.aggregates.items():
        machine = aggregate.machine
        parts = ["begin", "length"] if machine is None else [str(dtype) for dtype in machine.dtypes]
        words += [f"{name} {number}: {part}" for number, part in enumerate(parts)]
    return words


def _element(form: Form) -> list[str]:
    numbers = [f"{column}: {form.schema.field(column).type}" for column in form.numbers]
    return ["time", *_known(form), *numbers, *_columns(form.others.schema)]


def _columns(schema: pa.Schema) -> list[str]:
    fields = [f"{field.name}: {field.type}" for field in schema]
    return [*fields, f"in {Words(schema).width} words"] if fields else []
