"""Statements that are not UTF-8 are reported, in every format."""

from pathlib import Path

import pytest

from deemster.domain.problem import Statement
from deemster.problems.formats.detect import read_problem
from deemster.problems.formats.encoding import CHUNK_BYTES, encoding_warnings
from deemster.problems.new_package import make_package


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", None),
        ("Aufgabe: Größe\n".encode(), None),
        (b"a" * (CHUNK_BYTES - 1) + "é".encode(), None),
        ("Größe\n".encode("latin-1"), 1),
        (b"\n" * CHUNK_BYTES + b"x\nGr\xf6\xdfe", CHUNK_BYTES + 2),
        (b"one\ntwo \xc3", 2),
    ],
)
def test_the_first_line_that_is_not_utf8_is_named(
    tmp_path: Path, content: bytes, line: int | None
) -> None:
    (tmp_path / "problem.de.tex").write_bytes(content)
    found = list(encoding_warnings(tmp_path, [Statement("de", "tex", "problem.de.tex", "x")]))
    if line is None:
        assert found == []
    else:
        assert found == [
            (
                f"problem.de.tex is not UTF-8 (first in line {line}), so that characters are "
                "lost: save it as UTF-8."
            )
        ]


def test_readers_of_packages_warn_of_it(tmp_path: Path) -> None:
    package = make_package(tmp_path, "mine")
    statement = next((package / "statement").glob("problem.en.*"))
    statement.write_bytes(statement.read_bytes() + "Größe\n".encode("latin-1"))
    [warning] = read_problem(package).warnings
    assert warning.startswith(f"statement/{statement.name} is not UTF-8 (first in line ")


def test_a_pdf_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"\xff")
    assert list(encoding_warnings(tmp_path, [Statement("de", "pdf", "a.pdf", "x")])) == []
