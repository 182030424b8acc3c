"""Which queries a checkpoint has, and what their state is called.

    <checkpoint>/sash/queries     {"bars": "bars 5d2…", "alerts": "alerts 09f…"}

A query that is added begins without state, also one that was there before and was removed in between: what
it held then lacks the events since. So the name of its state is another one each time that it is added. The
register is written before the stream starts; starting again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from uuid import uuid4

from pyspark.sql import SparkSession

from sash.aggregation.stores.values import seal, unseal
from sash.runtimes.spark.compat import HadoopFolder

FOLDER, FILE = "sash", "queries"
_SEALED_AS = b"queries of a stream"


def registered(spark: SparkSession, checkpoint: str, names: Iterable[str]) -> dict[str, str]:
    """The name of each query's state, after the register has been brought up to date."""
    folder = HadoopFolder(spark, f"{checkpoint}/{FOLDER}")
    data = folder.read(FILE)
    before: dict[str, str] = {} if data is None else json.loads(bytes(unseal(_SEALED_AS, data)))
    after = {name: before.get(name) or f"{name} {uuid4().hex[:8]}" for name in names}
    if after != before:
        folder.write(FILE, seal(_SEALED_AS, json.dumps(after, sort_keys=True).encode()))
    return after
