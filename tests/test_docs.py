"""Relative links in the documentation lead to files and headings that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Packages of corpus/ and samples/ have statements in Markdown, which are data.
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(
            ROOT / folder / "README.md"
            for folder in ("analyzers", "language_servers", "languages", "runner", "samples")
        ),
        ROOT / "tests" / "vm" / "README.md",
    }
)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")


def links(text: str) -> Iterator[str]:
    yield from (
        target for target in LINK.findall(FENCED.sub("", text)) if not ELSEWHERE.match(target)
    )


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ +(.+?) *$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    return [target for target in links(page.read_text()) if not leads_somewhere(page, target)]


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = page.parent / path if path else page
    return found.exists() and (not anchor or anchor in anchors(found.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_of_docs_is_in_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / target).resolve() for target in links(index.read_text())}
    assert {*index.parent.glob("*.md")} - {index} <= listed


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading, with `code`\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-heading-with-code) [c](https://example.org/none.md)\n"
        "[d](missing.md) [e](there.md#missing)\n[f](#missing)\n```\n[g](code.md)\n```\n"
    )
    assert broken(page) == ["missing.md", "there.md#missing", "#missing"]
