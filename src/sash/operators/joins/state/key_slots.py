"""Keys, each with its slot: 0, 1, 2, … in the order in which they first came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.columns.coded_keys import key_codes


class KeySlots:
    """Null is a key of its own."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.table: pa.Table | None = None
        """One row per slot; None until the first key has come."""

    def __len__(self) -> int:
        return 0 if self.table is None else int(self.table.num_rows)

    def slots_of(self, rows: pa.Table) -> Ints:
        """The slot of each row; keys that are new get the next ones."""
        keys = rows.select(list(self.names))
        known = keys.slice(0, 0) if self.table is None else self.table
        both = pa.concat_tables([known, keys])
        codes = key_codes(both, both.column_names)
        if len(self.names) > 1:
            _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
            codes = np.argsort(np.argsort(first))[inverse]
        # Codes now count distinct keys in the order of their first appearance: the known ones keep theirs.
        slots: Ints = codes[known.num_rows :]
        new = np.flatnonzero(codes >= known.num_rows)
        if len(new) or self.table is None:
            first = new[np.unique(codes[new], return_index=True)[1]]
            self.table = pa.concat_tables([known, both.take(pa.array(first))])
        return slots
