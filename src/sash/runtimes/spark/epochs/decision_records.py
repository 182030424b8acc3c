"""What was decided for a micro-batch, and why: by the driver, between two batches, from what it measured.

    panes      who folds them before the shuffle, Spark's generated code or tasks of Python:
               `sql_folding/epoch_fold.py` decides
    tasks      one task for packing and step, or two stages: `epochs/one_task.py`
    windows    which buckets hand windows out: `streaming/hot_keys/choose_busy_buckets.py`
    keys       whose look-backs several buckets share: `streaming/hot_keys/choose_shared_keys.py`
    plan       whether the keys are as uneven as the plan took them to be: `epochs/assumed_skew.py`

Nothing is decided here: these are the records of it. None of it is a part of the state, so that every batch
can be computed in another way than the last one; but for keys, which the journal of epochs has, and for the
plan, which a checkpoint keeps: of that a record has what another checkpoint would begin with. The progress
of a query has the records beside its counts, and the live page shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from weakref import WeakValueDictionary

from sash.runtimes.observed_counts import DECISIONS, is_of_sash


@dataclass(frozen=True)
class Decision:
    """One of them.

    >>> print(Decision("tasks", "one task", "the batch before had 200 events"))
    one task: the batch before had 200 events
    """

    about: Literal["panes", "tasks", "windows", "keys", "plan"]
    choice: str
    why: str

    def __str__(self) -> str:
        return f"{self.choice}: {self.why}"


class DecidingRun(Protocol):
    """One run of a query whose batches are decided on."""

    def decisions_of(self, batch: int) -> tuple[Decision, ...]: ...


_RUNS: WeakValueDictionary[str, DecidingRun] = WeakValueDictionary()
"""Of this process, by the identifier that Spark gave them."""


def remember_decisions(run_id: str, run: DecidingRun) -> None:
    _RUNS[run_id] = run


def with_decisions(report: Mapping[str, Any]) -> dict[str, Any]:
    """One of Spark's progress reports (its JSON), whose counts are there, with what was decided."""
    found, run = dict(report), _RUNS.get(str(report["runId"]))
    decided = () if run is None else run.decisions_of(int(report["batchId"]))
    if decided:
        texts = [str(one) for one in decided]
        observed = (report.get("observedMetrics") or {}).items()
        found["observedMetrics"] = {
            name: {**counts, DECISIONS: texts} if is_of_sash(name) else counts for name, counts in observed
        }
    return found


def in_lines(batch: int, decided: Iterable[str]) -> str:
    """For people."""
    return "\n".join([f"how batch {batch} was computed", *(f"  {one}" for one in decided)])
