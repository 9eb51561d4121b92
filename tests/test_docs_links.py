"""Links inside the documentation lead to files and headings that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAMED_IN_CODE = re.compile(r"docs/[\w/]+\.md")


def anchor(heading: str) -> str:
    """The name that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """All headings of a page, as links name them."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in HEADING.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if heading:
            assert heading in anchors(target), link


def test_pages_that_code_names_exist() -> None:
    files = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "tui").rglob("*.py"), ROOT / "CHANGELOG.md"]
    named = [
        (file.relative_to(ROOT), page)
        for file in files
        for page in NAMED_IN_CODE.findall(file.read_text(encoding="utf-8"))
    ]
    assert len(named) >= 20
    assert [(file, page) for file, page in named if not (ROOT / page).exists()] == []


NAMED_FILE = re.compile(r"`([\w/]+\.py)[`:]")
TO_BE_WRITTEN = "yours.py"
"""What pages call a file that the reader is to write."""


def test_files_that_pages_name_exist() -> None:
    """Some by the end of their path, where the page says below which folder they are."""
    folders = ("engine", "tui", "tests", "benchmarks", "catalogs", "sample_logs", "docs")
    known = [
        f"/{file.relative_to(ROOT)}" for folder in folders for file in (ROOT / folder).rglob("*.py")
    ]
    named = [
        (page.relative_to(ROOT), name)
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for name in NAMED_FILE.findall(page.read_text(encoding="utf-8"))
        if not name.endswith(TO_BE_WRITTEN)
    ]
    assert len(named) >= 50
    missing = [one for one in named if not any(file.endswith(f"/{one[1]}") for file in known)]
    assert missing == []
