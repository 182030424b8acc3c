"""What a release is made of; one is built and installed into an empty environment, in soak with Spark."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import sash

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_said_in_one_place() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    assert metadata.version("sash") == sash.__version__
    sources = [
        path for path in (ROOT / "src").rglob("*.py") if re.search(r"__version__\s*=", path.read_text())
    ]
    assert [path.name for path in sources] == ["_version.py"]


def test_the_package_tells_type_checkers_that_it_is_typed() -> None:
    assert (Path(sash.__file__).parent / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_the_licence_is_named_once_and_its_text_comes_along() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert not any(classifier.startswith("License") for classifier in PROJECT["classifiers"])
    assert (ROOT / PROJECT["license-files"][0]).read_text().lstrip().startswith("Apache License")


def test_the_changelog_speaks_of_this_version() -> None:
    headings = re.findall(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == sash.__version__


@pytest.mark.parametrize("options", [["--without-spark"], pytest.param([], marks=pytest.mark.soak)])
def test_what_is_built_works_in_an_empty_environment(tmp_path: Path, options: list[str]) -> None:
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, cwd=tmp_path)
    check = [sys.executable, str(ROOT / "tools" / "check_dist.py"), str(tmp_path), *options]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "are good" in checked.stdout
