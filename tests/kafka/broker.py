"""A real Kafka for the tests: one node that is broker and controller (KRaft), on free loopback ports.

`make kafka` fetches it and Spark's connector from Maven Central, into build/kafka.
"""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FETCHED = Path(__file__).parents[2] / "build" / "kafka"
PARTITIONS = 2
"""Of every topic."""
_CLUSTER = "c2FzaC1zYXNoLXNhc2gtcw"


def connector() -> dict[str, str]:
    """The setting with which a session can talk to Kafka; none when the connector was not fetched."""
    jars = sorted(map(str, (FETCHED / "connector").glob("*.jar")))
    return {"spark_jars": ",".join(jars)} if jars else {}


class Broker:
    """A broker that can be killed and started again with what it had."""

    def __init__(self, folder: Path) -> None:
        if not (FETCHED / "broker").exists():
            raise RuntimeError("these tests need a Kafka broker; run `make kafka`")
        folder.mkdir(parents=True, exist_ok=True)
        port, controller = _free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self._settings, self._log = folder / "server.properties", folder / "broker.log"
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": folder / "data",
            # A producer that makes a topic by writing to it may write its second batch before its first,
            # and then waits for the first for ever.
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
        }
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        format_ = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._settings))
        subprocess.run(self._java(*format_), check=True, capture_output=True)
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._settings)), stdout=log, stderr=log
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Kafka did not start:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """At once, as a lost machine: nothing is flushed and nobody is notified."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        host, port = self.address.split(":")
        try:
            with socket.create_connection((host, int(port)), timeout=1):
                return True
        except OSError:
            return False

    def _java(self, *words: str) -> list[str]:
        classes = str(FETCHED / "broker" / "*")
        return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", classes, *words]

    # What a test writes and reads, with Spark's own connector and its client: it needs no other.

    def create(self, spark: Any, *topics: str) -> None:
        jvm = spark._jvm
        kafka, settings, new = (
            jvm.org.apache.kafka.clients.admin, jvm.java.util.HashMap(), jvm.java.util.ArrayList()
        )  # fmt: skip
        settings.put("bootstrap.servers", self.address)
        for topic in topics:
            new.add(kafka.NewTopic(topic, PARTITIONS, 1))
        admin = kafka.Admin.create(settings)
        admin.createTopics(new).all().get()
        admin.close()

    def send(self, spark: Any, topic: str, values: list[str], *, partition: int | None = None) -> None:
        """Records, to one partition or spread over all."""
        rows = [(value, number % PARTITIONS if partition is None else partition)
                for number, value in enumerate(values)]  # fmt: skip
        records = spark.createDataFrame(rows, "value string, partition int").coalesce(1)
        self._with_options(records.write, topic=topic).save()

    def received(self, spark: Any, topic: str) -> list[str]:
        """Every value that is in a topic now."""
        rows = self._with_options(spark.read, subscribe=topic).load().selectExpr("CAST(value AS string)")
        return [row.value for row in rows.collect()]

    def stream(self, spark: Any, topic: str, **options: str) -> Any:
        """A topic as a stream, from its beginning."""
        options = {"subscribe": topic, "startingOffsets": "earliest", **options}
        return self._with_options(spark.readStream, **options).load()

    def _with_options(self, writer: Any, **options: str) -> Any:
        return writer.format("kafka").option("kafka.bootstrap.servers", self.address).options(**options)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody had a moment ago; opened together, so that they differ."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
