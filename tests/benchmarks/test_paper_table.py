"""Tables 'paper | here | why it differs' stand where a page has marked their place, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper_table import PaperTable, publish

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks"
TABLES = {
    "stretch.md": [
        *(f"stretch-{n}" for n in range(1, 7)),
        "scalegate-1000", "scalegate-1", "user-functions-computes", "user-functions-waits",
    ],
    "patterns.md": ["jpdc-1", "jpdc-2", "jpdc-3", "windflow-1", "windflow-2"],
    "README.md": ["amta-3", "amta-4", "amta-6"],
}  # fmt: skip


def table() -> PaperTable:
    made = PaperTable("q2", "forwarder")
    made.add("tuples a second", paper="120,000", here="50,000", why="Python")
    return made


def test_a_table_replaces_what_stood_at_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- q2 -->\nold\n<!-- /q2 -->\n<!-- q3 -->\nother\n<!-- /q3 -->\n")
    for _ in range(2):
        publish([table()], page)
        assert page.read_text() == (
            f"before\n<!-- q2 -->\n\n{table().markdown()}\n\n<!-- /q2 -->\n"
            "<!-- q3 -->\nother\n<!-- /q3 -->\n"
        )


def test_a_page_without_a_place_stays_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    publish([table()], page)
    assert page.read_text() == "nothing\n"


@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page, names in TABLES.items() for name in names]
)
def test_the_table_of_an_experiment_is_in_the_documentation(page: str, name: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    between = text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    assert "| paper | here | why it differs |" in between
    assert len(between.strip().splitlines()) > 2
