"""A table of a database as a sink, by upsert.

    rows of the batch ──Spark──▶ staging table ──one transaction──▶ delete those keys, insert the rows

The transaction is in portable SQL, and what it does twice it has done once: a batch that is executed again
replaces its own rows. Without keys the rows of a batch are replaced as a whole, by its number in the column
`batch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sash.errors import UnknownColumn
from sash.runtimes.spark.compat import Database
from sash.runtimes.spark.packing.columns import flat
from sash.runtimes.spark.sinks.protocol import BATCH


@dataclass(frozen=True)
class JdbcSink:
    """Structs are flat columns there: window_id, window_start, window_end. The table is made if there is
    none."""

    url: str
    table: str
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """Of Spark's JDBC writer: user, password, driver and so on."""

    whole = False
    """A partition may be read twice, and what is counted would be counted twice."""
    adds = (BATCH,)

    @property
    def identity(self) -> tuple[str, ...]:
        return "database", self.url, self.table.casefold()

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        shaped = flat(rows)
        for key in self.keys:
            if key not in shaped.columns:
                raise UnknownColumn("keys", key, shaped.columns)
        shaped = shaped.withColumn(BATCH, F.lit(batch).cast("long"))
        staging, given = f"{self.table}_sash", {**self.options, "url": self.url}
        writer = shaped.write.format("jdbc").options(**given)
        writer.option("dbtable", staging).option("truncate", "true").mode("overwrite").save()
        # Makes the table if it is not there, with the types that Spark chose for the staging table.
        empty = shaped.sparkSession.createDataFrame([], shaped.schema)
        empty.write.format("jdbc").options(**given).option("dbtable", self.table).mode("append").save()
        with Database(shaped.sparkSession, self.url, self.options) as database:
            quote = database.quoted
            columns = ", ".join(map(quote, shaped.columns))
            same = " AND ".join(
                f"({self.table}.{quote(key)} = s.{quote(key)} OR "
                f"({self.table}.{quote(key)} IS NULL AND s.{quote(key)} IS NULL))"
                for key in self.keys or (BATCH,)
            )
            database.run(f"DELETE FROM {self.table} WHERE EXISTS (SELECT 1 FROM {staging} s WHERE {same})")
            database.run(f"INSERT INTO {self.table} ({columns}) SELECT {columns} FROM {staging}")
