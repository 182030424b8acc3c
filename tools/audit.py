"""Known weaknesses of what Sash depends on, in the versions that are installed here.

    python -m tools.audit

Asks the database of advisories that PyPI's own come from, https://osv.dev. The exit code is 1 when there is
one that is not accepted below, or when the server answers with an error. Without a way to the server
nothing is known: one sentence, exit code 0, and a line at the end of `.ci/run`. Only packages of
Python are looked up, not the jars of tools/kafka and tools/lakes, which tests use.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tools.not_run_here import note

SERVER = "https://api.osv.dev/v1/querybatch"
EXTRAS = ("spark", "redis", "polars", "connect", "dashboard", "serve", "prometheus", "otel")
ON_THE_WAY = (403, 407, 511)
"""What a proxy answers in the server's place. One that does not read what passes refuses the connection."""
ACCEPTED: dict[str, str] = {}
"""Advisories that do not concern Sash, each with the reason."""

Lookup = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def installed(name: str = "sash", extras: tuple[str, ...] = EXTRAS) -> dict[str, str]:
    """A distribution's dependencies with their versions, all the way down; those that are installed."""
    found: dict[str, str] = {}
    waiting = [(name, extras)]
    while waiting:
        one, chosen = waiting.pop()
        for requirement in metadata.requires(one) or ():
            needed, wanted = _parsed(requirement)
            extra = re.search(r"""extra == ['"]([\w-]+)['"]""", requirement)
            if needed in found or (extra and extra[1] not in chosen):
                continue
            try:
                version = metadata.version(needed)
            except metadata.PackageNotFoundError:
                continue  # of another platform or Python
            if needed != name:
                found[needed] = version
            waiting.append((needed, wanted))
    return dict(sorted(found.items()))


def _parsed(requirement: str) -> tuple[str, tuple[str, ...]]:
    """
    >>> _parsed("PySpark[connect,sql]>=4.1; extra == 'spark'")
    ('pyspark', ('connect', 'sql'))
    """
    name, extras = re.match(r"([\w.-]+)(?:\[([\w,\s-]*)\])?", requirement).groups()  # type: ignore[union-attr]
    plain = re.sub(r"[-_.]+", "-", name).lower()
    return plain, tuple(each.strip() for each in (extras or "").split(",") if each)


def advisories(versions: dict[str, str], lookup: Lookup) -> list[tuple[str, str, str]]:
    """Name, version and advisory, of those that are not accepted."""
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in versions.items()
    ]
    return [
        (name, version, known["id"])
        for (name, version), answer in zip(versions.items(), lookup(queries), strict=True)
        for known in answer.get("vulns", ())
        if known["id"] not in ACCEPTED
    ]


def look_up(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    headers = {"Content-Type": "application/json"}
    request = Request(SERVER, json.dumps({"queries": queries}).encode(), headers)
    with urlopen(request, timeout=30) as answer:
        results: list[dict[str, Any]] = json.load(answer)["results"]
        return results


def main(lookup: Lookup = look_up) -> int:
    versions = installed()
    try:
        found = advisories(versions, lookup)
    except (URLError, TimeoutError) as error:
        if isinstance(error, HTTPError) and error.code not in ON_THE_WAY:
            print(f"not audited: {SERVER} answers with an error ({error})")
            return 1
        print(f"not audited: no way to {SERVER} ({error})")
        note(f"the audit of dependencies, without a way to {SERVER}")
        return 0
    for name, version, advisory in found:
        print(f"{name} {version}: https://osv.dev/{advisory}")
    print(f"{len(versions)} dependencies, {len(found)} with a known weakness")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
