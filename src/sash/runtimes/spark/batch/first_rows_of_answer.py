"""The first rows of an answer and how many it has, without bringing all of them to the driver.

    first(answer)  =  first(∪ over partitions p: first(p)),    each in the order of the whole answer

So at most `rows` of each partition come, with the number of those that were there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

from sash.runtimes.spark.batch.driver_memory import brought

COUNT = "__sash_rows"
Ordered = Callable[[pa.Table], pa.Table]


def first_rows(df: DataFrame, rows: int, *, ordered: Ordered) -> tuple[pa.Table, int]:
    """In the types of the DataFrame; `ordered` travels to executors."""

    def of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept, count = None, 0
        for batch in batches:
            table = pa.Table.from_batches([batch])
            count += table.num_rows
            kept = ordered(table if kept is None else pa.concat_tables([kept, table])).slice(0, rows)
        if kept is not None:
            counts = pa.array([count, *[0] * (kept.num_rows - 1)][: kept.num_rows], pa.int64())
            yield from kept.append_column(COUNT, counts).combine_chunks().to_batches()

    schema = StructType([*df.schema.fields, StructField(COUNT, LongType())])
    found = brought(df.mapInArrow(of_partition, schema))
    total = pc.sum(found[COUNT]).as_py() or 0
    return ordered(found.drop_columns(COUNT)).slice(0, rows), int(total)
