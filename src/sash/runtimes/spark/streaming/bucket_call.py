"""What the operator of a bucket emits in the course of one call: rows of each output, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from sash.operators.engine import LatestOperator, WindowOperator
from sash.runtimes.spark.packing.answers import Answers, Counts
from sash.runtimes.spark.packing.blocks import COUNTS
from sash.runtimes.spark.packing.columns import ORDINAL
from sash.runtimes.spark.packing.outputs import HANDED
from sash.runtimes.spark.packing.pane_blocks import NEWEST, ArrivedPanes, SharedPanes
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import load_row, of_owner
from sash.runtimes.spark.streaming.hot_keys.handing_of_batch import handing_of_batch
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoads

if TYPE_CHECKING:
    from sash.runtimes.spark.streaming.window_stage import WindowStage

PackedInput: TypeAlias = "tuple[bytes | pa.Buffer, int]"
"""A payload, and the number of its input."""


class BucketCall:
    """What the operator of a bucket emits in the course of one call."""

    def __init__(self, stage: WindowStage, bucket: Bucket) -> None:
        self._stage, self._bucket = stage, bucket
        self._parts: dict[str, list[pa.Table]] = {output: [] for output in stage.schemas}
        self._counts = dict.fromkeys(COUNTS, 0)
        self.saved = 0
        """Events that did not come, because panes came for them, less those panes."""
        self.key_loads: KeyLoads = {}
        """What was seen of keys that may be hot, where somebody looks."""
        self._sharing: WindowOperator | None = None
        if HANDED in stage.schemas:
            assert isinstance(bucket.operator, WindowOperator), "no other one hands windows out"
            self._sharing = bucket.operator
            self._sharing.hand_out = handing_of_batch().dealer(bucket.number)
            self._sharing.emitted, self._sharing.spent = 0, 0.0

    @property
    def _counts_keys(self) -> bool:
        """Whether keys are counted here, and not by another bucket that has them too."""
        return True

    def reach(self, watermark: int) -> None:
        """Time passes while the batch goes on. Where it has one answer for each key, that is computed at
        its end."""
        if isinstance(self._bucket.operator, LatestOperator):
            self._bucket.operator.judge_by(watermark)
        else:
            self.advance(watermark)

    def advance(self, watermark: int) -> None:
        answer = self._bucket.operator.advance(watermark)
        self._take("reports", answer.reports)
        self._take("late", answer.late)
        if answer.handed is not None:
            self._keep(HANDED, of_owner(answer.handed, self._bucket.number))
        self._counts["forgotten"] += answer.forgotten if self._counts_keys else 0

    def take(self, blocks: Iterable[PackedInput], *, milliseconds: int) -> None:
        """The blocks of a batch that Spark's watermark of so many milliseconds judges: rows, and panes that
        were folded before they came."""
        stage, number, panes = self._stage, self._bucket.number, None
        if stage.panes is not None:
            payloads, panes = stage.panes.arrived(
                number, (payload for payload, _ in blocks), milliseconds=milliseconds
            )
            blocks = [(payload, 0) for payload in payloads]
        rows = stage.arrived(number, blocks)
        self.insert(rows)
        if panes is not None and stage.panes is not None:
            self.insert_panes(stage.panes, panes)

    def insert(self, rows: pa.Table) -> None:
        arrived = rows.drop_columns(ORDINAL).rename_columns(self._stage.columns)
        self._counts["events"] += self._originals(arrived).num_rows
        late = self._bucket.operator.insert(arrived, rows[ORDINAL].to_numpy())
        self._take("late", self._originals(late))

    def insert_panes(self, shared: SharedPanes, arrived: ArrivedPanes, query: int = 0) -> None:
        """Events that were folded before they came; `query` is the number of this one among those that
        share them."""
        operator, panes = self._bucket.operator, arrived.rows
        assert isinstance(operator, WindowOperator), "no other one takes panes"
        self._counts["events"] += arrived.events
        self.saved += arrived.events - panes.num_rows
        operator.insert_panes(shared.keys(panes), panes[NEWEST].to_numpy(), shared.elements(panes, query))

    def _originals(self, rows: pa.Table) -> pa.Table:
        """Those that are counted here: all, unless some are copies of what another bucket counts."""
        return rows

    def _take(self, output: str, part: pa.Table) -> None:
        self._counts[output] += part.num_rows
        self._keep(output, part)

    def _keep(self, output: str, part: pa.Table) -> None:
        """For the sink of this output, if it has one."""
        if output in self._parts and part.num_rows:
            schema = self._stage.schemas[output]
            self._parts[output].append(part.select(schema.names).cast(schema))

    def answer(self) -> tuple[dict[str, pa.Table], Counts]:
        """The rows of each output that has some, and the counts."""
        bucket, sharing = self._bucket, self._sharing
        if sharing is not None and sharing.emitted:
            computed = sharing.hand_out is None
            load = load_row(
                bucket.number, windows=sharing.emitted, seconds=sharing.spent, computed=computed
            )
            self._keep(HANDED, load)
            # One for each window, which is what most functions return: they are called later.
            self._counts["reports"] += 0 if computed else sharing.emitted
        state = {"restored": int(bucket.restored), "read": bucket.chunks.read, "written": bucket.written}
        tables = {output: pa.concat_tables(parts) for output, parts in self._parts.items() if parts}
        return tables, self._counts | state

    def outgoing(self, answers: Answers) -> Iterator[Any]:
        """The answer and its counts, unless both are empty."""
        tables, counts = self.answer()
        if any(counts.values()):
            yield from answers.outgoing(tables, counts)
