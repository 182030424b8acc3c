"""The state of an elastic query, in the LMDB store beside its checkpoint: see `elastic.home`."""

from __future__ import annotations

import json
from pathlib import Path

from sash.aggregation.stores.looking import DATA, Look, Namespace, looking
from sash.errors import CorruptValue
from sash.operators.inventory import inventory
from sash.runtimes.spark.elastic.epoch_journal import QUERY
from sash.runtimes.spark.elastic.held import CHUNK, TOKEN, header_in
from sash.runtimes.spark.elastic.state_location import FOLDER
from sash.runtimes.spark.inspection.description import Description
from sash.runtimes.spark.inspection.found import BucketSeen, StageSeen

JOURNAL, BUCKET = "journal", "bucket-"


def store_of(checkpoint: Path) -> Path | None:
    """Where an elastic query keeps its state; None when it is not there."""
    folder = checkpoint / FOLDER
    return folder if (folder / DATA).is_file() else None


def stage_in(store: Path) -> tuple[int, StageSeen] | None:
    """The last epoch and the state of the elastic query in a store; None when none has lived there."""
    with looking(store) as look:
        journal = dict(look.items(JOURNAL))
        if QUERY not in journal:
            return None
        description = json.loads(journal[QUERY])
        names = {namespace.name: namespace for namespace in look.namespaces()}
        numbers = sorted(int(name.removeprefix(BUCKET)) for name in names if name.startswith(BUCKET))
        buckets = (_bucket(look, number, description) for number in numbers)
        held = tuple(bucket for bucket in buckets if bucket is not None)
        return names[JOURNAL].committed.epoch, StageSeen("elastic, in LMDB", description, held)


def namespaces_in(store: Path) -> list[Namespace]:
    """What any LMDB store of Sash's holds."""
    with looking(store) as look:
        return list(look.namespaces())


def _bucket(look: Look, number: int, description: Description) -> BucketSeen | None:
    name = f"{BUCKET}{number}"
    token = dict(look.items(name, prefix=TOKEN)).get(TOKEN)
    chunks = [(int(key.removeprefix(CHUNK)), data) for key, data in look.items(name, prefix=CHUNK)]
    if token is None:
        if chunks:
            raise CorruptValue(f"the state of bucket {number} lacks its header")
        return None
    return BucketSeen(number, None, inventory(header_in(token), chunks))
