"""Papers are cited as they are: one list of them, and the same titles and years wherever they are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = {
    "Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient Bulk Evictions": (
        "A. Villalba, J. Ll. Berral, D. Carrera",
        "IEEE Transactions on Parallel and Distributed Systems", 2019,
    ),
    "Harnessing Sliding-Window Execution Semantics for Parallel Stream Processing": (
        "G. Mencagli, M. Torquati, F. Lucattini, S. Cuomo, M. Aldinucci",
        "Journal of Parallel and Distributed Computing", 2018,
    ),
    "Raising the Parallel Abstraction Level for Streaming Analytics Applications": (
        "G. Mencagli, M. Torquati, D. Griebler, M. Danelutto, L. G. L. Fernandes", "IEEE Access", 2019,
    ),
    "STRETCH: Virtual Shared-Nothing Parallelism for Scalable and Elastic Stream Processing": (
        "V. Gulisano, H. Najdataei, Y. Nikolakopoulos, A. V. Papadopoulos, M. Papatriantafilou, P. Tsigas",
        "IEEE Transactions on Parallel and Distributed Systems", 2022,
    ),
    "Defining the execution semantics of stream processing engines": (
        "L. Affetti, R. Tommasini, A. Margara, G. Cugola, E. Della Valle", "Journal of Big Data", 2017,
    ),
}  # fmt: skip


def plain(path: Path) -> str:
    """A file as one line, without marks of emphasis."""
    return " ".join(path.read_text(encoding="utf-8").replace("*", "").split())


def texts() -> list[tuple[Path, str]]:
    """Every document and source file but this one."""
    places = ("docs", "src", "benchmarks", "examples", "tests")
    paths = [
        path for place in places for kind in ("md", "py") for path in (ROOT / place).rglob(f"*.{kind}")
    ]
    paths += [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")]
    return [(path, plain(path)) for path in paths if path != Path(__file__)]


@pytest.mark.parametrize("title", PAPERS)
def test_the_list_names_each_paper_with_authors_venue_and_year(title: str) -> None:
    listed = plain(ROOT / "docs" / "papers.md")
    authors, venue, year = PAPERS[title]
    assert re.search(rf"{re.escape(f'{authors}: {title}. {venue}')} [^.|]*{year}", listed)


@pytest.mark.parametrize("title", PAPERS)
def test_a_title_is_the_whole_title_wherever_it_begins(title: str) -> None:
    begin = " ".join(title.split()[:3])
    cited = 0
    for path, text in texts():
        for found in re.finditer(re.escape(begin), text, re.IGNORECASE):
            stretch = text[found.start() : found.start() + len(title)]
            assert stretch.lower() == title.lower(), path
            cited += path.parent.name != "docs"
    assert cited


@pytest.mark.parametrize(
    ("authors", "years"),
    [("Mencagli", {2018, 2019}), ("Villalba", {2019}), ("Gulisano", {2021, 2022}), ("Affetti", {2017})],
)
def test_a_year_behind_the_authors_is_that_of_their_paper(authors: str, years: set[int]) -> None:
    # The name, perhaps more names and a venue, and a year before the citation ends.
    for path, text in texts():
        for found in re.finditer(rf"{authors}\b[^().;:|]{{0,120}}?\b((?:19|20)\d\d)\b", text):
            assert int(found[1]) in years, (path, found[0])
