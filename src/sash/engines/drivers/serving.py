"""Serve one engine over JSON lines: `python serving.py on_bytewax`, in the environment of that engine.

    →  {"runs": [{"times": […], "groups": [[…], …], "kind": "time", "size": 3, "slide": 2, "delay": 0}, …]}
    ←  {"answers": [{"reports": [[…], …], "flushed": [[…], …], "late": […]}, …]}   or   {"error": "…"}

For a run whose windows the engine does not take the answer is {"refused": "its words"}; for one that the
driver cannot feed, {"unmeasured": "why"}.

    →  {"clock": true}     ←  {"starts": […]}, in ms, of windows of 1 s over the time of processing

The first line out is {"engine": …, "version": …, "kinds": […]}. A driver is a module beside this one with
ENGINE, KINDS, `version()` and `answer(runs)`. Contents are indexes into `times`; `groups` lists the events
that arrive together. Only the standard library and the engine are imported here: Sash is not installed in
the environments of other engines.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib import import_module
from typing import Any, TextIO


def main() -> None:
    # Engines write to standard output as they like; the protocol keeps a channel that they do not know.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = import_module(sys.argv[1])
    send(channel, {"engine": driver.ENGINE, "version": driver.version(), "kinds": driver.KINDS})
    for line in sys.stdin:
        try:
            answer = reply(driver, json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        send(channel, answer)


def reply(driver: Any, request: dict[str, Any]) -> dict[str, Any]:
    if "clock" in request:
        return {"starts": driver.window_starts() if hasattr(driver, "window_starts") else []}
    return {"answers": driver.answer(request["runs"])}


def send(channel: TextIO, message: dict[str, Any]) -> None:
    channel.write(json.dumps(message) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
