"""Joins of inputs that live in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.bounded_join import join_tables, untimed
from sash.operators.threads import available_cores
from sash.runtimes.local.local_source import LocalSource
from sash.semantics.expression import Side


@dataclass(frozen=True)
class LocalJoin:
    """Two inputs in memory. The answer has the form of the left one."""

    left: LocalSource
    right: LocalSource
    shares: int = 1

    bounded = True

    def collect(self, bound: BoundJoin | BoundAsof) -> pa.Table:
        shares = available_cores() if isinstance(bound, BoundAsof) else self.shares
        return join_tables(bound, {side: self._input(side).table for side in Side}, shares=shares)

    def collect_late(self, bound: BoundJoin | BoundAsof, side: Side) -> pa.Table:
        return untimed(bound.of(side), self._input(side).table)

    def dataframe(self, bound: BoundJoin | BoundAsof) -> Any:
        return self.left.frame(self.collect(bound))

    def late_dataframe(self, bound: BoundJoin | BoundAsof, side: Side) -> Any:
        return self._input(side).frame(self.collect_late(bound, side))

    def stages(self, bound: BoundJoin | BoundAsof) -> list[str]:
        if isinstance(bound, BoundAsof):
            return ["sort both sides by time", "merge by time, with one slot per key"]
        shares = f"{self.shares} shares, in threads" if self.shares > 1 else "one share"
        return [
            "sort both sides by group, cell and time",
            f"compare events that are close in time, in {shares}",
            "sort pairs",
        ]

    def _input(self, side: Side) -> LocalSource:
        return self.left if side is Side.LEFT else self.right
