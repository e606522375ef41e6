"""Statements and titles of ICPC packages."""

from pathlib import Path

import pytest

from deemster.domain.problem import Statement
from deemster.problems.summary import statement_text
from tests.problems.formats.icpc.conftest import PackageBuilder


def test_statements_of_several_kinds_and_languages(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "problem_statement/problem.sv.tex": "\\problemname{Summa}\n",
            "problem_statement/problem.pt-BR.pdf": b"%PDF",
            "problem_statement/problem.en.pdf": b"%PDF",
            "problem_statement/problem.md": "x",
            "problem_statement/problem.english.tex": "x",
            "problem_statement/solution.tex": "x",
            "problem_statement/picture.png": b"",
        }
    )
    place = "problem_statement"
    assert problem.statements == (
        Statement("en", "md", f"{place}/problem.md", "Sum"),
        Statement("en", "tex", f"{place}/problem.en.tex", "Sum"),
        Statement("en", "pdf", f"{place}/problem.en.pdf", "Sum"),
        Statement("pt-BR", "pdf", f"{place}/problem.pt-BR.pdf", "Sum"),
        Statement("sv", "tex", f"{place}/problem.sv.tex", "Summa"),
    )
    assert problem.names == {"en": "Sum", "pt-BR": "Sum", "sv": "Summa"}
    assert any("'english' is not a language code" in each for each in problem.warnings)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\\problemname{Two  Words}\n", "Two Words"),
        ("% \\problemname{Old}\n\\problemname{New}\n", "New"),
        ("\\problemname{\\textbf{Bold} and $x^2$ \\& {more}}\n", "Bold and x^2 & more"),
        ("\\problemname{$x^2$}\n%% plainproblemname: x squared\n", "x squared"),
        ("\\problemname{}\n", "Given"),
        ("\\problemname{unclosed\n", "Given"),
        ("Nothing.\n", "Given"),
        ('\\problemname {\\"Uber}\n', "Über"),
    ],
)
def test_a_legacy_title_comes_from_the_statement_first(
    packages: PackageBuilder, text: str, title: str
) -> None:
    problem = packages.legacy(
        {"problem.yaml": "name: Given\n", "problem_statement/problem.en.tex": text}
    )
    assert problem.names == {"en": title}


def test_the_directory_name_is_the_default_title(packages: PackageBuilder) -> None:
    problem = packages.legacy({"problem.yaml": "", "problem_statement/problem.en.tex": None})
    assert problem.names == {"en": "sum"}
    assert any("there is no statement" in each for each in problem.warnings)


def test_a_title_of_2025_is_that_of_problem_yaml(packages: PackageBuilder) -> None:
    problem = packages.modern({"statement/problem.en.tex": "\\problemname{Other}\n"})
    assert [each.title for each in problem.statements] == ["Sum", "Sum"]


def test_names_without_statements_are_warned_of(packages: PackageBuilder) -> None:
    problem = packages.modern({"statement/problem.de.md": "x", "statement/problem.en.md": None})
    assert "problem.yaml: the language de lacks a name in problem.yaml." in problem.warnings
    assert "problem.yaml: the language en lacks a statement." in problem.warnings


def test_statements_are_converted_to_markdown(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"\xef\xbb\xbfAt most {{n}}, {{m}}.\r\n\xff")
    assert statement_text(path, "md", {"n": "5"}) == "At most 5, {{m}}.\n\ufffd"
    assert statement_text(path, "txt", {"n": "5"}).startswith("At most {{n}}")
    assert statement_text(path, "pdf", {}) == ""
    path.write_text("\\section*{Input} At most $\\constant{n}$ and \\constant{n}.")
    assert statement_text(path, "tex", {"n": "5"}) == "## Input\n\n At most $5$ and 5."
