"""Rule ids that code, tests and docs cite are defined in docs/rules.md."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "docs" / "rules.md"
TEXT = {".md", ".py", ".sql", ".toml", ".c", ".h", ".sh", ""}
NOT_TEXT = {"bin", "build", "node_modules", "seeds"}

LETTERS = "AISQDJXEFPMHCOKW"
# Not a compiler flag, an attribute, an escape or a part of a longer word.
CITED = re.compile(
    rf"(?<![\w%+/.-])([{LETTERS}])([1-9]\d?)(?:\s?[–-]\s?\1([1-9]\d?))?(?![\w%+/=])"  # noqa: RUF001
)
TEST_NAME = re.compile(rf"\bdef test_([{LETTERS.lower()}])([1-9]\d?)_")
NOT_RULES = {"C11", "F95"}
"""Standards of programming languages that look like ids."""


def defined(text: str) -> list[str]:
    return re.findall(r"^- \*\*([A-Z]\d+)\*\* ", text, re.MULTILINE)


def cited(text: str) -> Iterator[str]:
    for letter, first, last in CITED.findall(text):
        yield from (f"{letter}{number}" for number in range(int(first), int(last or first) + 1))
    for letter, number in TEST_NAME.findall(text):
        yield f"{letter.upper()}{number}"


def files() -> Iterator[Path]:
    yield from (ROOT / "dev", *ROOT.glob("*.md"))
    for folder in ("src", "tests", "runner", "docs", "languages"):
        for path in (ROOT / folder).rglob("*"):
            if (
                path.suffix in TEXT
                and path.is_file()
                and NOT_TEXT.isdisjoint(path.relative_to(ROOT).parts)
            ):
                yield path


def citations() -> dict[str, set[str]]:
    """Every cited id, with the files that cite it."""
    found: dict[str, set[str]] = {}
    for path in set(files()) - {RULES, Path(__file__)}:
        for rule in set(cited(path.read_text())) - NOT_RULES:
            found.setdefault(rule, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_cited_rule_is_defined() -> None:
    rules = set(defined(RULES.read_text()))
    unknown = {rule: sorted(files) for rule, files in citations().items() if rule not in rules}
    assert not unknown, f"docs/rules.md does not define these ids: {unknown}"


def test_the_citations_of_the_tree_are_found() -> None:
    found = citations()
    assert {rule[0] for rule in found} >= set("AISQDJXHCO")
    assert "tests/system/test_kill.py" in set().union(*found.values())


def test_each_rule_is_defined_once_and_none_is_left_out() -> None:
    rules = defined(RULES.read_text())
    numbers = {letter: [int(r[1:]) for r in rules if r[0] == letter] for letter in LETTERS}
    assert numbers == {letter: list(range(1, len(n) + 1)) for letter, n in numbers.items() if n}


def test_a_citation_is_found_however_it_is_written() -> None:
    text = '''
    """Q91: a docstring."""
    """X92"""
    # a comment (A93, A94), and see I95 and S96.
    assert found, "private data stays in its process (C97)"
    /* Rules: X98 J99
    def test_d89_overload() -> None: ...
    It follows C31–C33, or H41-H42.
    '''  # noqa: RUF001
    assert set(cited(text)) == {
        *("Q91", "X92", "A93", "A94", "I95", "S96", "C97", "X98", "J99", "D89"),
        *("C31", "C32", "C33", "H41", "H42"),
    }


def test_what_only_looks_like_an_id_is_none() -> None:
    text = """
    argv = ["gcc", "-O2", "-gnatW8", "-std=c99"]
    pyseccomp.Arch.X86, SHA256, 0xC3, p%C3%A4, 4+E8/d1g==, K8s, F100, C0, x86, /A4/, P50_MS
    def test_case_c3(): def test_utf8_names():
    """
    assert not list(cited(text))
