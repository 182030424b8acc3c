"""Every block of Python in the documentation runs, and prints what the page shows."""

from __future__ import annotations

from codeop import compile_command
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.pages import Block, Page, difference

ROOT = Path(__file__).parents[2]
FOLDERS = ("how-to", "concepts")
PAGES = [
    Page(path)
    for path in (
        ROOT / "README.md",
        ROOT / "docs" / "llms.txt",
        *sorted((ROOT / "docs").glob("*.md")),
        *(path for folder in FOLDERS for path in sorted((ROOT / "docs" / folder).glob("*.md"))),
    )
]
PARTITIONS = "spark.sql.shuffle.partitions"


def page_marks(page: Page) -> list[pytest.MarkDecorator]:
    spark = [pytest.mark.spark] if page.needs_spark else []
    return [*spark, pytest.mark.kafka] if page.needs_kafka else spark


@pytest.fixture
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """An empty folder to run a page in: for Python, and for Spark, whose relative paths are its JVM's own.

    Pages that call `sash.spark_session()` get the tests' own Spark, with its settings put back afterwards.
    """
    monkeypatch.chdir(tmp_path)
    if not request.getfixturevalue("page").needs_spark:
        yield
        return
    spark = request.getfixturevalue("spark")
    hadoop = spark._jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    before, partitions = files.getWorkingDirectory(), spark.conf.get(PARTITIONS)
    files.setWorkingDirectory(hadoop.Path(str(tmp_path)))
    yield
    files.setWorkingDirectory(before)
    spark.conf.set(PARTITIONS, partitions)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=page_marks(page)) for page in PAGES],
    ids=lambda page: page.path.relative_to(ROOT).as_posix(),
)
@pytest.mark.usefixtures("folder")
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(
    page: Page, request: pytest.FixtureRequest
) -> None:
    if page.needs_kafka:
        broker = request.getfixturevalue("broker")
        broker.create(request.getfixturevalue("spark"), *page.topics)
        page = replace(page, broker=broker.address)
    different = []
    for block, printed in page.run():
        found = difference(block, printed)
        if found is not None:
            different.append(f"{page.path}:{block.line}\n{found}")
    assert not different, "\n".join(different)


def test_only_another_session_or_another_spark_keeps_a_block_from_being_run() -> None:
    """No release of Delta fits the newest Spark; `make test-lakes` has one that it fits."""
    reasons = {(page.path.name, block.not_run) for page in PAGES for block in page.blocks if block.not_run}
    assert reasons <= {
        ("declarative-pipelines.md", "it is a file of a pipeline, and runs in the test of this page"),
        ("kafka.md", "a new session"),
        ("lakes.md", "this page's Spark has no Delta; tests/lakes runs the same"),
        ("watch-a-query.md", "needs prometheus-client; tests/dashboard/test_metrics.py scrapes it"),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.relative_to(ROOT).as_posix())
def test_the_python_of_a_page_can_be_pasted_into_a_prompt(page: Page) -> None:
    """The prompt of Python up to 3.12 ends a compound statement at an empty line, and only there."""
    for block in page.blocks:
        entered: list[str] = []
        for number, line in enumerate([*block.source.splitlines(), ""], start=1):
            entered.append(line)
            try:
                if compile_command("\n".join(entered), symbol="single") is not None:
                    entered = []
            except SyntaxError as error:
                pytest.fail(f"{page.path}:{block.line + number}: {error.msg}")
        assert not entered, f"{page.path}:{block.line}"


def test_output_that_differs_from_what_a_page_shows_is_told() -> None:
    block = Block("print(1)", 0, "2\n", None)
    assert difference(block, "1\n") is not None
    assert difference(block, "2  \n") is None


def test_a_block_that_is_not_run_must_know_its_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: Kafka -->\n```python\nwrite(records)\n```\n")
    with pytest.raises(AssertionError, match="is defined nowhere"):
        list(Page(page).run())
