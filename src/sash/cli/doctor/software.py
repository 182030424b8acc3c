"""Python, Java and packages.

Which packages in which versions is read from the metadata of the installed distribution, so that it is
written in one place, pyproject.toml. No package is imported for its version: a broken one must not
break the report.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from shlex import quote

from sash.cli.doctor.health_check import HealthCheck, install
from sash.cli.doctor.requirement_parser import Requirement

DISTRIBUTION = "sash"
JAVA = 17
NEEDED = frozenset({None, "spark"})
"""What `pip install sash` brings, and what it leaves to a cluster that has its own."""
FOR_DEVELOPERS = frozenset({"dev", "test", "bench", "docs"})


def python() -> HealthCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    requirement = Requirement.parse(f"python{_required_python()}")
    if requirement.allows(version):
        return HealthCheck("Python", "ok", f"{version} at {sys.executable}")
    return HealthCheck(
        "Python",
        "wrong",
        f"{version}; {requirement.versions} is needed",
        install("python3.11", "python@3.11"),
    )


def java() -> HealthCheck:
    """As Spark finds it: below JAVA_HOME if that is set, otherwise on the path."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    fix = install("openjdk-17-jre-headless", "openjdk@17")
    if program is None:
        return HealthCheck("Java", "missing", f"no `java` on the path, and Spark needs version {JAVA}", fix)
    if not Path(program).exists():
        return HealthCheck(
            "Java", "wrong", f"JAVA_HOME is {home}, where there is no bin/java", "unset JAVA_HOME"
        )
    version = java_version(program)
    if version is None:
        return HealthCheck("Java", "wrong", f"{program} does not print its version", fix)
    if int(version.split(".")[0]) < JAVA:
        return HealthCheck("Java", "wrong", f"{version} at {program}; Spark needs {JAVA} or later", fix)
    return HealthCheck("Java", "ok", f"{version} at {program}")


def java_version(program: str) -> str | None:
    """What `java -version` prints; 1.8.0 is what version 8 called itself."""
    try:
        result = subprocess.run(
            [program, "-version"], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?([\d.]+)', result.stderr + result.stdout)
    return version[1] if version else None


def packages() -> Iterator[HealthCheck]:
    """Those without which Sash does not run."""
    if _version(DISTRIBUTION) is None:
        words = "runs from its source, so that what it depends on is not known"
        yield HealthCheck(
            DISTRIBUTION, "wrong", words, f"{quote(sys.executable)} -m pip install --editable ."
        )
    for requirement in requirements():
        if requirement.extra in NEEDED:
            yield package(requirement, _version(requirement.name))
    spark_home = os.environ.get("SPARK_HOME")
    found = util.find_spec("pyspark")
    own = Path(found.origin).parent if found and found.origin else None
    if spark_home and own and Path(spark_home).resolve() != own.resolve():
        words = f"SPARK_HOME is {spark_home}, and pyspark is at {own}: Python and Java would differ"
        yield HealthCheck("Spark", "wrong", words, "unset SPARK_HOME")


def package(requirement: Requirement, version: str | None) -> HealthCheck:
    """
    >>> package(Requirement.parse("pandas>=2.2,<3"), "3.0.1").found
    '3.0.1; >=2.2,<3 is needed'
    """
    fix = _pip(requirement)
    if version is None:
        return HealthCheck(
            requirement.name,
            "missing",
            f"not installed; {requirement.versions or 'any version'} is needed",
            fix,
        )
    if not requirement.allows(version):
        return HealthCheck(requirement.name, "wrong", f"{version}; {requirement.versions} is needed", fix)
    return HealthCheck(requirement.name, "ok", version)


def extras() -> Iterator[HealthCheck]:
    """What can be added, each as a whole."""
    by_extra: dict[str, list[Requirement]] = {}
    for requirement in requirements():
        if requirement.extra is not None and requirement.extra not in NEEDED | FOR_DEVELOPERS:
            by_extra.setdefault(requirement.extra, []).extend(_with_its_extras(requirement))
    for extra, several in by_extra.items():
        checks = [package(requirement, _version(requirement.name)) for requirement in several]
        lacking = [f"{each.name} {each.found}" for each in checks if each.state != "ok"]
        name = f"extra {extra}"
        if lacking:
            fix = _pip(f"{DISTRIBUTION}[{extra}]")
            yield HealthCheck(name, "missing", "; ".join(lacking), fix, needed=False)
        else:
            there = ", ".join(f"{each.name} {each.found}" for each in checks)
            yield HealthCheck(name, "ok", there, needed=False)


def _with_its_extras(requirement: Requirement) -> list[Requirement]:
    """A requirement, and what its own extras bring: pyspark[connect] brings grpcio."""
    brought = [each for each in requirements(requirement.name) if each.extra in requirement.extras]
    return [requirement, *(each for each in brought if each.extra is not None)]


def requirements(distribution: str = DISTRIBUTION) -> list[Requirement]:
    """What an installed distribution needs; nothing when it is not installed."""
    try:
        return [Requirement.parse(text) for text in metadata.requires(distribution) or ()]
    except metadata.PackageNotFoundError:
        return []


def _required_python() -> str:
    try:
        return metadata.metadata(DISTRIBUTION)["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return _version_in_file(name)


def _version_in_file(name: str) -> str | None:
    """Of a package that is on the path without having been installed, as a cluster's pyspark often is."""
    found = util.find_spec(name)
    file = Path(found.origin).with_name("version.py") if found and found.origin else None
    written = (
        re.search(r"__version__.*?=\s*['\"]([^'\"]+)", file.read_text()) if file and file.exists() else None
    )
    return written[1] if written else None


def _pip(requirement: Requirement | str) -> str:
    return f"{quote(sys.executable)} -m pip install {quote(str(requirement))}"
