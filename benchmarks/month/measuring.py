"""What there is to measure: processes by what they are, folders by bytes and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
HEAP = 1 << 30
"""Bytes of the JVM's heap, all touched when it starts: what grows in the process is beside them."""
POOLS = {"JVM metaspace MB": ("Metaspace",), "JVM code cache MB": ("Code",)}
"""How the names of the JVM's pools begin: there may be one of code or several. Compressed classes are in
the metaspace."""
ALLOCATOR = "JVM allocator MB"
PARTS_BESIDE_HEAP = (*POOLS, "JVM direct buffers MB", ALLOCATOR, "JVM threads")
OUTSIDE = (*PARTS_BESIDE_HEAP, "JVM classes", "py4j objects")

ARENA = 1 << 26
"""Bytes that glibc reserves at a time for an arena of malloc that is not the main one."""


def processes(driver: int) -> dict[str, float]:
    """Anonymous memory, in megabytes: of the driver, its JVM, and all Python workers together; and the
    processors' seconds of all of them since they began."""
    found = {"driver python MB": 0.0, "driver JVM MB": 0.0, "workers MB": 0.0, "workers": 0.0, "CPU": 0.0}
    for process in _family(driver):
        try:
            name = Path(f"/proc/{process}/comm").read_text().strip()
            status = Path(f"/proc/{process}/status").read_text()
            times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
        except (FileNotFoundError, ProcessLookupError):
            continue
        memory = next((line for line in status.splitlines() if line.startswith("RssAnon")), "RssAnon: 0 kB")
        kind = "driver python" if process == driver else "driver JVM" if name == "java" else "workers"
        found[f"{kind} MB"] += int(memory.split()[1]) * 1024 / MEGABYTE
        found["workers"] += kind == "workers"
        found["CPU"] += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return found


def _family(process: int) -> Iterator[int]:
    """It and all below it. Processes and threads end while they are listed."""
    yield process
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            yield from _family(int(child))


def heap(spark: Any) -> float:
    """Megabytes of the JVM's heap that are in use after a collection."""
    jvm = spark.sparkContext._jvm
    jvm.java.lang.System.gc()
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    return float(memory.getHeapMemoryUsage().getUsed() / MEGABYTE)


def outside_of_the_heap(spark: Any) -> dict[str, float]:
    """What the JVM itself knows of its memory beside the heap, in megabytes, and its threads, each with a
    stack. Metaspace are classes, and grow with code that Spark generates; direct buffers are Arrow's and
    Netty's, as far as they are Java's. What the allocator of the C library has, in use or not, the JVM does
    not know. Objects of py4j are those that the JVM keeps for Python."""
    jvm = spark.sparkContext._jvm
    factory = jvm.java.lang.management.ManagementFactory
    found = dict.fromkeys(OUTSIDE, 0.0)
    for pool in factory.getMemoryPoolMXBeans():
        name = str(pool.getName())
        kind = next((kind for kind, first in POOLS.items() if name.startswith(first)), None)
        if kind is not None:
            # What is committed is the process's, used or not.
            found[kind] += pool.getUsage().getCommitted() / MEGABYTE
    buffers = jvm.java.lang.Class.forName("java.lang.management.BufferPoolMXBean")
    for pool in factory.getPlatformMXBeans(buffers):
        if str(pool.getName()) == "direct":
            found["JVM direct buffers MB"] = pool.getMemoryUsed() / MEGABYTE
    found[ALLOCATOR] = _in_malloc(int(jvm.java.lang.ProcessHandle.current().pid())) / MEGABYTE
    found["JVM threads"] = float(factory.getThreadMXBean().getThreadCount())
    found["JVM classes"] = float(factory.getClassLoadingMXBean().getLoadedClassCount())
    gateway = spark.sparkContext._gateway.java_gateway_server.getGateway()
    found["py4j objects"] = float(gateway.getBindings().size())
    return found


def _in_malloc(process: int) -> int:
    """Bytes of glibc's malloc: of the main arena, and of the others, which are anonymous mappings that
    begin at multiples of 64 MiB and are no longer. The JVM's own mappings of that kind lie below 2⁴⁰."""
    kilobytes, inside = 0, False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            begin, end = (int(each, 16) for each in words[0].split("-"))
            arena = begin % ARENA == 0 and end - begin <= ARENA and begin >> 40 > 0
            inside = words[5:] == ["[heap]"] or (not words[5:] and arena)
        elif inside and words[0] == "Anonymous:":
            kilobytes += int(words[1])
    return kilobytes * 1024


def folders(home: Path) -> dict[str, float]:
    """Bytes and files of all that queries write down; of manifests, as many as the sink with most has."""
    places = {
        "arenas": home / "arenas", "store": home / "checkpoints/elastic/sash",
        "state": home / "checkpoints/together/sash",
    }  # fmt: skip
    found: dict[str, float] = {}
    for name, place in places.items():
        files, size = _inside(place)
        found |= {f"{name} files": files, f"{name} MB": size / MEGABYTE}
    for name in ("together", "elastic"):
        checkpoint = home / "checkpoints" / name
        for each in sorted(checkpoint.iterdir()) if checkpoint.exists() else ():
            if each.is_dir() and each not in places.values():
                files, size = _inside(each)
                found |= {f"{name} {each.name} files": files, f"{name} {each.name} MB": size / MEGABYTE}
    manifests = [
        sum(path.is_file() for path in (sink / "_sash").rglob("[0-9]*"))
        for sink in (home / "sinks").glob("*")
    ]
    found["manifests"] = max(manifests, default=0)
    found["scratch files"] = _inside(home / "scratch")[0]
    return found


def _inside(folder: Path) -> tuple[int, int]:
    files = size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(path) / name).stat().st_blocks * 512
            except FileNotFoundError:
                continue
            files += 1
    return files, size
