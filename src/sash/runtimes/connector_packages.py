"""What has to be added to Spark for formats that do not come with it.

The sentences that name them are in `pipeline/formats.py` (pipeline files), `spark/sinks/usable.py` (when a
query starts) and `spark/failures.py` (when it has failed).
"""

from __future__ import annotations

from collections.abc import Mapping

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"
DELTA = "io.delta:delta-spark_2.13"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"
POSTGRESQL = "org.postgresql:postgresql:42.7.4"
"""An example: each database has a driver of its own."""
PACKAGES: Mapping[str, str] = {"kafka": KAFKA, "delta": DELTA, "iceberg": ICEBERG}
