"""What the driver of an elastic query remembers from one micro-batch to the next, in a store of its own.

    newest     how far time has come, as Spark would tell it: the greatest τ of all batches so far
    query      the description of the query that the state belongs to

Spark has no part in this watermark: it is a number that the batches before have left behind. A batch
that is executed again, after whatever has failed, finds the number that it found at first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sash.aggregation.stores.epochs import EpochStore
from sash.errors import EpochError
from sash.runtimes.spark.fingerprint import canonical, require_same

QUERY, NEWEST = b"query", b"newest"


class Journal:
    """The journal while one batch is executed."""

    def __init__(self, store: EpochStore, description: Mapping[str, Any], *, epoch: int) -> None:
        """Go back to the end of the batch before `epoch`; DifferentQuery if another query was there."""
        self._store, self._description, self._epoch = store, description, epoch
        try:
            store.rollback(epoch - 1)
        except EpochError as error:
            raise EpochError(
                f"the checkpoint has come to micro-batch {epoch} and the state to {store.epoch}: they do "
                f"not belong together ({error}); give the query a checkpoint location of its own"
            ) from error
        kept, newest = store.get_many([QUERY, NEWEST])
        if kept is not None:
            require_same(kept, description)
        self.newest: int = 0 if newest is None else json.loads(newest)

    def commit(self, newest: int) -> None:
        """The batch is done, and time has come so far."""
        self._store.put_many({QUERY: canonical(self._description), NEWEST: json.dumps(newest).encode()})
        self._store.commit(self._epoch)
