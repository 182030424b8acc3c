"""A table of a database as a sink, by upsert.

    rows of the batch ──Spark──▶ staging table ──one transaction──▶ delete those keys, insert the rows

The transaction is in portable SQL, and what it does twice it has done once: a batch that is executed again
replaces its own rows. Without keys the rows of a batch are replaced as a whole, by its number and that
of its query in the columns `batch` and `writer`: several queries may add to one table. A staging table
belongs to one batch of one query, and is dropped with the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession, functions as F

from sash.errors import UnknownColumn
from sash.runtimes.spark.compat import Database
from sash.runtimes.spark.packing.columns import flat
from sash.runtimes.spark.sinks.protocol import BATCH, WRITER, Reads, writer_of
from sash.runtimes.spark.sinks.wrapped_sinks import newest_revisions

_CLOBS = ("jdbc:derby:", "jdbc:db2:")
"""Where Spark makes text columns CLOBs, which cannot be compared: texts in keys are VARCHAR(255) there."""

_WITH_ARRAYS = "jdbc:postgresql:"
"""Where Spark makes array columns."""


@dataclass(frozen=True)
class JdbcSink:
    """Structs are flat columns there: window_id, window_start, window_end. The table is made if there is
    none."""

    url: str
    table: str
    keys: tuple[str, ...] | None = None
    """None: those of the query where this is `.latest`, otherwise none."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of Spark's JDBC writer: user, password, driver and so on."""

    reads = Reads.KEPT
    """A partition may be read twice, and what is counted would be counted twice."""

    @property
    def adds(self) -> tuple[str, ...]:
        return (BATCH,) if self.keys else (BATCH, WRITER)

    @property
    def holds_no_lists(self) -> str:
        return "" if self.url.startswith(_WITH_ARRAYS) else "a table of this database"

    @property
    def identity(self) -> tuple[str, ...]:
        return "database", self.url, self.table.casefold()

    def of_latest(self, keys: tuple[str, ...]) -> JdbcSink:
        return replace(self, keys=keys) if self.keys is None else self

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        spark, shaped, keys = rows.sparkSession, flat(rows), self.keys or ()
        for key in keys:
            if key not in shaped.columns:
                raise UnknownColumn("keys", key, shaped.columns)
        if keys:
            shaped = newest_revisions(shaped, keys)
        writer = writer_of(spark)
        added = {BATCH: F.lit(batch).cast("long"), WRITER: F.lit(int(writer, 16)).cast("long")}
        shaped = shaped.withColumns({name: added[name] for name in self.adds})
        staging = f"{self.table}_sash_{writer}_{batch}"
        given = {**self._column_types(shaped), **self.options, "url": self.url}
        # Takes the place of what a failed execution of this batch has left.
        shaped.write.format("jdbc").options(**given).option("dbtable", staging).mode("overwrite").save()
        # Makes the table if it is not there, with the types that Spark chose for the staging table.
        empty = spark.createDataFrame([], shaped.schema)
        empty.write.format("jdbc").options(**given).option("dbtable", self.table).mode("append").save()
        with Database(spark, self.url, self.options) as database:
            quote = database.quoted
            columns = ", ".join(map(quote, shaped.columns))
            pairs = [(f"{self.table}.{quote(key)}", f"s.{quote(key)}") for key in keys or self.adds]
            delete = f"DELETE FROM {self.table} WHERE EXISTS (SELECT 1 FROM {staging} s WHERE "
            # By equality alone, so that an index of the table serves; rows with nulls, if any, apart.
            database.run(delete + " AND ".join(f"{there} = {new}" for there, new in pairs) + ")")
            null = " OR ".join(f"{new} IS NULL" for _, new in pairs)
            if database.finds(f"SELECT 1 FROM {staging} s WHERE {null}"):
                same = (f"({there} = {new} OR ({there} IS NULL AND {new} IS NULL))" for there, new in pairs)
                database.run(f"{delete}({null}) AND {' AND '.join(same)})")
            database.run(f"INSERT INTO {self.table} ({columns}) SELECT {columns} FROM {staging}")
            # Last: some databases commit before they drop a table.
            database.run(f"DROP TABLE {staging}")

    def _column_types(self, rows: DataFrame) -> dict[str, str]:
        types = dict(rows.dtypes)
        texts = [key for key in self.keys or () if types[key] == "string"]
        if not texts or not self.url.startswith(_CLOBS):
            return {}
        return {"createTableColumnTypes": ", ".join(f"`{key}` VARCHAR(255)" for key in texts)}
