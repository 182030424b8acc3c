"""Look-backs of hot keys that several buckets of a stream share, in process: packer, step and journal.

Which keys are shared, from which batch on, by which panes and until when is drawn; the answer must be that
of the reference whatever was drawn, and whatever fails on the way.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.operators.bound_query import BoundRolling
from sash.operators.look_back_regimes import Regime
from sash.runtimes.spark.epochs.epoch_journal import EpochJournal
from sash.runtimes.spark.epochs.epoch_step import EpochStep
from sash.runtimes.spark.packing.blocks import in_order_of_arrival
from sash.runtimes.spark.packing.bucket_of_key_arrow import hashes
from sash.runtimes.spark.packing.columns import BUCKET, places
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import KeySharing, shared_panes
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoad
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys
from sash.runtimes.spark.streaming.hot_keys.look_back_packer import LookBackPacker
from sash.semantics.look_back_rows import ArrivalEvaluation
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch
from tests.operators.features import look_backs, ticks
from tests.runtimes.elastic_batches import _PACKED, DryElastic, Try, _task
from tests.runtimes.tables import table_of

AGGREGATES = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "low": built_in.mean("x", where="x < 5"),
}
TYPES = {"e": pa.int64(), "x": pa.int64()}
KEYS = ("a", "b", None)


class DrySharing(DryElastic):
    """A query in epochs that may share keys, over files, in any number of tasks."""

    def __init__(
        self, bound: BoundRolling, folder: Path, *, sharing: KeySharing | None = None, **how: Any
    ) -> None:
        super().__init__(bound, folder, files=True, **how)
        panes = shared_panes(bound, buckets=self.BUCKETS)
        assert panes is not None
        self.stage = self.run_.stage = replace(self.stage, look_backs=panes)
        self.run_.sharing = sharing or KeySharing(panes, least=2)
        self.shared: list[tuple[Regime, ...]] = []
        """The regimes of each epoch."""
        self.events: list[int] = []
        """That were counted in each epoch."""

    def execute(
        self, batch: Any, epoch: int, *, tasks: int, only: int | None = None
    ) -> list[dict[str, Any]]:
        if self.forgetful:
            OPERATORS.clear()
        answers: list[pa.RecordBatch] = []
        with self.home.journal() as store:
            journal = self.run_.journal(store, epoch)
            blocks = self.sent(batch, journal)
            step = self.step(journal, epoch, tasks)
            for task in range(tasks if only is None else min(only, tasks)):
                mine = blocks.filter(pa.array(_task(blocks["bucket"], tasks).to_numpy() == task))
                answers += list(step.of_task(task, mine.sort_by("bucket").to_batches()))
            if only is not None:
                return []
            newest = self.reported(epoch, tasks)
            reports = [self.reports.value[epoch, task] for task in range(tasks)]
            saved = {bucket for one in reports for bucket in one.held if bucket < self.BUCKETS}
            self.shared.append(journal.shared.regimes)
            self.events.append(sum(one.counts.get("events", 0) for one in reports))
            journal.commit(newest, saved, self.run_._shared_next(journal, reports, newest))
        rows = self.by_output(answers)
        self.late += rows.get(LATE, [])
        return rows[REPORTS]

    def step(self, journal: EpochJournal, epoch: int, tasks: int) -> EpochStep:
        return self.run_._step(
            journal, home=self.home, epoch=epoch, tasks=tasks, clock=self.run_.clock, run=self.run_.name,
            newest=tuple(journal.newest), token=journal.token, reports=self.reports,
        )  # fmt: skip

    def sent(self, batch: pa.Table, journal: EpochJournal) -> pa.Table:
        """The blocks of a batch that two tasks have packed."""
        shared = SharedKeys(journal.shared.regimes, self.run_.clock.milliseconds(journal.newest))
        packer = self.stage.packer
        assert isinstance(packer, LookBackPacker)
        (table,) = in_order_of_arrival(self.placed(batch).to_batches()) if batch.num_rows else (None,)
        half = batch.num_rows // 2
        parts = [] if table is None else [table.slice(half), *([table.slice(0, half)] if half else [])]
        made = [block for part in parts for block in packer.blocks(part, SharedKeys.parse(str(shared)))]
        return pa.Table.from_batches(StampedPacker(iter, self.STAMPS)(made), schema=_PACKED)

    def placed(self, batch: pa.Table) -> pa.Table:
        rows = batch.select(self.stage.columns).combine_chunks()
        (one,) = rows.to_batches()
        share = hashes(one, self.stage.bound.keys) % np.int32(self.BUCKETS)
        return rows.rename_columns(places(self.stage.columns)).append_column(BUCKET, pa.array(share))


@dataclass
class DrawnSharing(KeySharing):
    """Begins and ends whatever is drawn."""

    seed: int = 0
    hashes: Sequence[int] = field(default_factory=tuple)

    def next(
        self, regimes: Sequence[Regime], loads: Mapping[int, KeyLoad], *, events: int, tasks: int,
        newest: int, watermark: int,
    ) -> tuple[Regime, ...]:  # fmt: skip
        random = np.random.default_rng([self.seed, newest % 2**31, len(regimes)])
        found = []
        for regime in regimes:
            if regime.is_over(watermark):
                continue
            ends = not regime.ends and random.random() < 0.3
            kept = regime.ended(newest=newest, reach=self.reach) if ends else regime
            found += [] if kept is None else [kept]
        for key in self.hashes:
            if key not in [regime.key for regime in regimes] and random.random() < 0.5:
                length = int(random.choice(self.panes.lengths))
                shares = int(random.integers(2, self.panes.shares + 1))
                if all(window.size % (shares * length) == 0 for window in self.panes.bound.query.windows):
                    found.append(
                        Regime.begun(key, shares=shares, length=length, newest=newest, reach=self.reach)
                    )
        return tuple(found)


def stream(random: np.random.Generator, *, batches: int, rows: int, pace: int) -> list[list[Arrival]]:
    """Time goes on by `pace` a batch, with events around it; some are far too late, or without a time."""
    made, number = [], 0
    for batch in range(batches):
        arrivals = []
        for _ in range(int(random.integers(0, rows + 1))):
            time: int | None = pace * batch - 20 + int(random.integers(-12, pace + 4))
            time = None if random.random() < 0.03 else time
            value = None if random.random() < 0.2 else int(random.integers(0, 10))
            key = KEYS[int(random.choice(3, p=[0.7, 0.2, 0.1]))]
            arrivals.append(Arrival(time, key, {"e": number, "t": time, "x": value}))
            number += 1
        made.append(arrivals)
    last = pace * batches + 1000
    return [*made, [Arrival(last, key, {"e": number, "t": last, "x": 1}) for key in KEYS], []]


def bound_of(query: Query) -> BoundRolling:
    return BoundRolling(query, table_of([], TYPES).schema, "t", ("k",))


def expected(query: Query, batches: Sequence[Sequence[Arrival]]) -> list[dict[str, Any]]:
    """The last row of each event that is final in the end, as the reference has it."""
    bound, oracle = bound_of(query), ArrivalEvaluation(replace(query, emit=Emit(When.ARRIVAL)))
    rows = {(row.key, row.ordinal): row for row in oracle.run([Batch(tuple(batch)) for batch in batches])}
    until = max(arrival.time for batch in batches for arrival in batch if arrival.time is not None)
    final = [row for row in rows.values() if row.time < until - query.delay.length]
    label = {
        (name, window.label): bound.feature(name, window) for window in query.windows for name in AGGREGATES
    }
    return [
        {"k": row.key, "t": row.time, **{label[name]: value for name, value in row.values.items()}}
        for row in final
    ]


def observed(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(
        str(sorted((name, value) for name, value in row.items() if name not in ("e", "x"))) for row in rows
    )


HASHES = hashes(pa.record_batch({"k": pa.array(KEYS, pa.string())}), ["k"]).tolist()
tries = st.lists(
    st.lists(st.builds(Try, st.integers(1, 7), st.integers(0, 7)), max_size=2), min_size=16, max_size=16
)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    lengths=st.lists(st.sampled_from([4, 6, 12, 24, 60]), min_size=1, max_size=3, unique=True),
    delay=st.integers(0, 15), batches=st.integers(1, 14), pace=st.integers(1, 25), tries=tries,
    degrees=st.lists(st.integers(1, 7), min_size=16, max_size=16), forgetful=st.booleans(),
    outputs=st.sampled_from([(REPORTS,), (REPORTS, LATE)]),
)  # fmt: skip
def test_oracle_shared_look_backs_of_a_stream_are_those_of_the_reference_whatever_fails(
    seed: int, lengths: list[int], delay: int, batches: int, pace: int, tries: list[list[Try]],
    degrees: list[int], forgetful: bool, outputs: Outputs,
) -> None:  # fmt: skip
    query = Query(look_backs(*lengths), AGGREGATES, delay=ticks(delay), flush=False)
    arrivals = stream(np.random.default_rng(seed), batches=batches, rows=9, pace=pace)
    bound = bound_of(query)
    panes = shared_panes(bound, buckets=DrySharing.BUCKETS)
    assert panes is not None
    with tempfile.TemporaryDirectory() as folder:
        dry = DrySharing(
            bound, Path(folder), degrees=degrees.__getitem__, forgetful=forgetful, outputs=outputs,
            sharing=DrawnSharing(panes, 2, seed=seed, hashes=HASHES),
        )  # fmt: skip
        rows = dry.run([table_of(batch, TYPES) for batch in arrivals], tries=tries)
    assert observed(rows) == observed(expected(query, arrivals))
    assert dry.events == [len(batch) for batch in arrivals]
    if LATE in outputs:
        oracle = ArrivalEvaluation(replace(query, emit=Emit(When.ARRIVAL)))
        oracle.run([Batch(tuple(batch)) for batch in arrivals])
        late = sorted((entry.arrival.values["e"], entry.reason) for entry in oracle.late)
        assert sorted((row["e"], row["late_reason"]) for row in dry.late) == late


def test_buckets_that_share_keys_are_emptied_when_nothing_is_shared_any_more(tmp_path: Path) -> None:
    # W = 4; the regime of epoch 1 has S = 11, T = 15; U = 31 and V = 35 with epoch 3
    query = Query(look_backs(4), AGGREGATES, delay=ticks(0), flush=False)
    panes = shared_panes(bound_of(query), buckets=DrySharing.BUCKETS)
    assert panes is not None
    sharing = KeySharing(panes, least=2)
    dry = DrySharing(bound_of(query), tmp_path, sharing=sharing)
    begun = Regime.begun(HASHES[0], shares=4, length=1, newest=10, reach=4)
    ended = begun.ended(newest=30, reach=4)
    assert ended is not None
    planned = iter([(begun,), (begun,), (ended,), (), ()])
    sharing.next = lambda *given, **how: next(planned)  # type: ignore[method-assign]
    moments = [(9, 10), (12, 16, 17), (29, 30), (33, 34, 50), (51, 52)]
    batches = [[Arrival(time, "a", {"e": time, "t": time, "x": 1}) for time in times] for times in moments]
    rows, sizes = [], []
    for epoch, batch in enumerate(batches):
        rows += dry.execute(table_of(batch, TYPES), epoch, tasks=2)
        stores = dry.home.buckets(list(range(DrySharing.BUCKETS, 2 * DrySharing.BUCKETS)))
        sizes.append(
            sum(store.rollback(store.committed.epoch) or len(list(store.keys())) for store in stores)
        )
    assert observed(rows) == observed(expected(query, batches))
    assert sizes[0] == 0 < min(sizes[1:4])
    assert sizes[4] == 0
