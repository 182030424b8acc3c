"""A trivial engine behind the protocol of the drivers: tumbling windows that close with the next one."""

from __future__ import annotations

import os
import time
from typing import Any

ENGINE = "tumbling"
KINDS = ["time"]


def version() -> str:
    return "1.0"


def answer(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    print("engines write to standard output as they like")
    return [one(run) for run in runs]


def one(run: dict[str, Any]) -> dict[str, Any]:
    if run["size"] == 13:
        raise ValueError("thirteen brings bad luck")
    if run["size"] == 14:
        os._exit(3)
    if run["size"] == 15:
        time.sleep(60)
    if run["size"] != run["slide"]:
        return {"refused": "tumbling windows only"}
    held: dict[int, list[int]] = {}
    for index in (index for group in run["groups"] for index in group):
        held.setdefault(run["times"][index] // run["size"], []).append(index)
    *closed, last = held.values()
    return {"reports": closed, "flushed": [last], "late": []}
