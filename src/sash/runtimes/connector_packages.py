"""What has to be added to Spark for formats that do not come with it."""

from __future__ import annotations

from collections.abc import Mapping

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"
DELTA = "io.delta:delta-spark_2.13"
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"
PACKAGES: Mapping[str, str] = {"kafka": KAFKA, "delta": DELTA, "iceberg": ICEBERG}
