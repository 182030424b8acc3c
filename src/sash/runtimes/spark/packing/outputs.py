"""The tables that one pass over a stream produces: reports, and the rows that are in no window.

One stateful step decides about every row, so that each is in the reports' windows or among the late rows,
never in both and never in neither. All outputs leave the step together, each row with the number of its
output, and are separated where they are written (see `deliver_outputs_to_sinks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

REPORTS, LATE = "reports", "late"
HANDED = "handed"
"""Windows that other tasks compute, and what they took: an output without a sink (`handed_out_windows`)."""

Outputs: TypeAlias = tuple[str, ...]
"""Names of outputs; their order is that of their numbers."""
OutputSchemas: TypeAlias = Mapping[str, pa.Schema]
"""Of each output, in order."""
OutputTables: TypeAlias = Mapping[str, pa.Table]
"""What there is for each output; outputs without rows may be left out."""
