"""One window of the query on its way: its progress, and its view of the events that all windows share.

Windows of one query share the events that are held. One that reaches less far back than another skips the
oldest of them, and the events that it cannot place; its progress sees only the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.bound import BoundQuery
from sash.operators.layout import Layout
from sash.operators.streaming.by_content import PolicyProgress, RunProgress
from sash.operators.streaming.by_delta import DeltaProgress
from sash.operators.streaming.by_engine import engine_progress
from sash.operators.streaming.by_position import CountProgress, SlideByTupleProgress
from sash.operators.streaming.by_time import ClockProgress, SessionProgress, SlideByTimeProgress
from sash.operators.streaming.delta_by_definition import DeltaByDefinition
from sash.operators.streaming.progress import Moment, Progress
from sash.semantics.run_as import EngineWindow
from sash.semantics.window import Window
from sash.semantics.windows import (
    CountWindow,
    CumulateWindow,
    DeltaWindow,
    PolicyWindow,
    PunctuatedWindow,
    SessionWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    ThresholdWindow,
    TimeWindow,
)

Ints = NDArray[np.int64]

PROGRESS: dict[type[Window], type[Progress[Any]]] = {
    CountWindow: CountProgress,
    CumulateWindow: ClockProgress,
    DeltaWindow: DeltaProgress,
    PolicyWindow: PolicyProgress,
    PunctuatedWindow: RunProgress,
    SessionWindow: SessionProgress,
    SlideByTimeWindow: SlideByTimeProgress,
    SlideByTupleWindow: SlideByTupleProgress,
    ThresholdWindow: RunProgress,
    TimeWindow: ClockProgress,
}


def progress_of(window: Window, bound: BoundQuery) -> Progress[Any]:
    if isinstance(window, EngineWindow):
        return engine_progress(window)
    progress = PROGRESS[type(window)](window)
    if isinstance(progress, DeltaByDefinition):
        progress.measure(whole=pa.types.is_integer(bound.schema.field(progress.window.attribute).type))
    return progress


class Track:
    """A progress and what it skips. Look-backs that make one row go `together`: none of them skips."""

    def __init__(self, progress: Progress[Any], *, together: bool) -> None:
        self.progress, self.together = progress, together
        self.skipped = np.empty(0, np.int64)
        """How many of the oldest events of each slot are held for other windows only."""
        self.layout: Layout
        self.chosen: Ints

    @property
    def window(self) -> Window:
        window: Window = self.progress.window
        return window

    def look_at(self, layout: Layout) -> dict[int, str]:
        """Take the events that this window sees; answer with those that it cannot place, and why."""
        everything = np.arange(len(layout.times))
        seen = np.ones(len(layout.times), np.bool_)
        if self.skipped.any():
            slot = layout.slot_of_position()
            seen = everything - layout.offsets[:-1][slot] >= self.skipped[slot]
        view = layout if seen.all() else layout.where(seen)
        positions = np.flatnonzero(seen)
        misfits = {int(positions[at]): why for at, why in self.progress.misfits(view).items()}
        seen[list(misfits)] = False
        self._whole, self.chosen = layout, np.flatnonzero(seen)
        self.layout = layout if seen.all() else layout.where(seen)
        return misfits

    def ahead(self, moment: Moment) -> Moment:
        """A moment one slide further: the next window may begin after all that has been seen."""
        slide = self.window.slide if isinstance(self.window, TimeWindow) else 0
        return replace(moment, horizon=moment.horizon + slide)

    def move_on(self, final: Ints, settled: int) -> Ints:
        """How many of the shared events of each slot this window lets go; at most the final ones."""
        own = self.progress.move_on(self.layout, settled)
        first_needed = self.layout.offsets[:-1] + own
        some_left = first_needed < self.layout.offsets[1:]
        gone = final.copy()
        slots = np.flatnonzero(some_left)
        places = self.chosen[first_needed[slots]] - self._whole.offsets[slots]
        gone[slots] = np.minimum(final[slots], places)
        self._own = own
        return gone

    def dropped(self, gone: Ints, shared: Ints) -> None:
        """`shared` of the `gone` events have left for good; the rest is skipped from now on."""
        self.skipped = gone - shared
        if self.together:
            self.skipped[:] = 0
            self.progress.remembered["base"] += shared - self._own

    def add_slots(self, count: int) -> None:
        self.progress.add_slots(count)
        self.skipped = np.append(self.skipped, np.zeros(count, np.int64))

    def keep_slots(self, slots: Ints) -> None:
        self.progress.keep_slots(slots)
        self.skipped = self.skipped[slots]
