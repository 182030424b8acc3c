"""Functions of users in processes: an operator whose shares live in worker processes.

    share s of S shares lives in process ⌊s · n / S⌋ of n, for good

Python functions hold the interpreter's lock, so that instances in threads take turns. Here an instance is
still a thread, with the shares that f_μ gives it, but the functions run in the processes of these shares,
one process at a time. A new mapping therefore moves no state. Neighbouring shares live together, as even
mappings hand them out, so that instances seldom want the same process.

The keys of tuples, f_MK, are computed in this process. Tuples travel once to each process that has one of
their keys. To send a tuple and what it makes takes some ten microseconds: processes are for functions that
take longer.
"""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import Unsupported
from sash.operators.columns.times import to_integers
from sash.operators.order.interleaved import Interleaved
from sash.operators.patterns.process_workers import Process, module_path, pickled
from sash.operators.stateful.declaration import TIME, Stateful
from sash.operators.stateful.interpreted_shares import InterpretedShares
from sash.operators.stateful.share_worker import ShareSetup, StepRequest
from sash.operators.stateful.shared_preparation import Prepared


class ProcessShares(InterpretedShares):
    """An operator with plain Python functions, in so many processes."""

    def __init__(self, operator: Stateful, processes: int) -> None:
        super().__init__(operator)
        if not isinstance(operator.start(), InterpretedShares):
            raise Unsupported(
                "processes", True, "left out for an operator whose work is compiled",
                hint="Kernels release Python's lock: its instances run side by side in threads.",
            )  # fmt: skip
        data = pickled(operator, argument="operator", instead="with processes=False")
        setup = ShareSetup(data, module_path())
        self._processes = [Process() for _ in range(processes)]
        self._locks = [Lock() for _ in range(processes)]
        for process in self._processes:
            process.request(setup)

    def _home(self, share: int) -> int:
        return share * len(self._processes) // self.operator.shares

    def _share(self, number: int) -> Any:
        return self._processes[self._home(number)]

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        answers = [self.operator.schema.empty_table()]
        homes = np.array([self._home(share) for share in mine.tolist()])
        for home in np.unique(homes).tolist():
            shares = mine[homes == home]
            request = self._request(run, prepared, shares)
            with self._locks[home], ExitStack() as held:
                for share in shares.tolist():
                    held.enter_context(self.share(share))
                answers.append(self._processes[home].request(request))
        together = pa.concat_tables(answers)
        if len(answers) == 2:
            return together
        return together.take(pa.array(np.argsort(to_integers(together[TIME]), kind="stable")))

    def _request(self, run: Interleaved, prepared: Prepared, shares: Ints) -> StepRequest:
        met = [(share, *self.met(prepared, share)) for share in shares.tolist()]
        places = np.unique(np.concatenate([events for _, events, _ in met]))
        tables = []
        for number, table in enumerate(run.tables):
            own = np.isin(run.positions(number), places, assume_unique=True)
            tables.append(table.filter(pa.array(own)).combine_chunks())
        return StepRequest(
            run.times[places],
            run.inputs[places],
            run.first + places,
            tuple(tables),
            run.watermark,
            tuple((share, np.searchsorted(places, events).tolist(), keys) for share, events, keys in met),
        )

    def buffers(self) -> list[tuple[int, int]]:
        """Nothing ever leaves its process."""
        return []

    def close(self) -> None:
        for process in self._processes:
            process.end()
