"""Policy windows: after every insertion the policy evicts a prefix; what is left is reported every S."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind
from sash.operators.predicates import policies
from sash.operators.windows.ranges import Ranges
from sash.semantics.windows import PolicyWindow


class PolicyKind(RangeKind[PolicyWindow]):
    """`seen` elements have been through the policy; the window begins at `lo`."""

    memory: ClassVar[dict[str, int | float]] = {"seen": 0, "lo": 0}
    places: ClassVar[bool] = True
    _last: tuple[Held, tuple[Ints, Ints, Ints]] | None = None

    @property
    def on_columns(self) -> bool:
        return policies.on_columns(self.window, self.schema)

    def misfits(self, rows: pa.Table, offsets: Ints, held: Held, memory: KeyMemory) -> dict[int, str]:
        found: dict[int, str] = {}
        for column in reversed(self.window.columns):  # the first column that is null is named
            if rows[column].null_count:
                missing = np.flatnonzero(pc.is_null(rows[column]).to_numpy())
                found |= {int(at): f"{column} is null" for at in missing}
        return found

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        key, ordinal, lo = self._slides(held, memory)
        w, rest = np.divmod(ordinal + 1, self.window.slide)
        due = np.flatnonzero((rest == 0) & ((lo <= ordinal) | moment.empty))
        key, w, lo, hi = key[due], w[due] - 1, lo[due], ordinal[due] + 1
        start, end = held.bounds(key, lo, hi)
        return Ranges(key, w, lo, hi, start, end, closes_at=held.time_at(key, hi - 1))

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        key, _, lo = self._slides(held, memory)
        last = np.flatnonzero(np.diff(key, append=-1))
        memory["lo"][key[last]] = lo[last]
        memory["seen"][:] = held.count
        assert held.policy is not None
        held.policy.keep()
        self._last = None
        needed: Ints = memory["lo"].copy()
        return needed

    def _slides(self, held: Held, memory: KeyMemory) -> tuple[Ints, Ints, Ints]:
        """Once for the windows that are listed, and for what they let go."""
        if self._last is None or self._last[0] is not held:
            assert held.policy is not None
            self._last = held, held.policy.slides(memory["seen"], held.count, memory["lo"])
        return self._last[1]

    def wakes(self, times: Ints) -> Ints:
        return times
