"""Detection of the format of a package."""

from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.problems.archive import Bounds
from deemster.problems.formats import dmoj, hydro, icpc, polygon
from deemster.problems.formats.detect import prepare, read_problem, reader_of
from tests.problems.trees import read_tree, write_tree

READERS = {
    "icpc": icpc.read_package,
    "polygon": polygon.read_package,
    "hydro": hydro.read_package,
    "dmoj": dmoj.read_package,
}


@pytest.mark.parametrize(
    ("names", "reader"),
    [
        (["problem.yaml", "data/secret/1.in"], "icpc"),
        (["problem.yaml", "problem_statement/problem.tex"], "icpc"),
        (["problem.yaml", "statement/problem.en.md", "testdata/x"], "icpc"),
        (["problem.yaml", "data/secret/1.in", "problem.xml"], "icpc"),
        (["problem.yaml"], "icpc"),
        (["domjudge-problem.ini", "1.in"], "icpc"),
        (["problem.xml", "statements/english/problem.tex", "tests/01"], "polygon"),
        (["problem.yaml", "testdata/1.in"], "hydro"),
        (["testdata/config.yaml"], "hydro"),
        (["init.yml", "data.zip"], "dmoj"),
        (["init.yml", "tests/a/test.yml"], "dmoj"),
    ],
)
def test_the_format_is_detected_from_the_files(
    tmp_path: Path, names: list[str], reader: str
) -> None:
    root = write_tree(tmp_path / "x", dict.fromkeys(names, ""))
    assert reader_of(root) is READERS[reader]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["readme.txt"], "ICPC/Kattis .* Polygon .* Hydro .* DMOJ"),
        ([], "not a problem package"),
        (["contest.xml", "problems/a/problem.xml"], "contest"),
        (["a/problem.yaml", "b/problem.yaml"], r"several problems \(a, b\)"),
    ],
)
def test_a_directory_without_a_package_is_refused_with_the_known_formats(
    tmp_path: Path, names: list[str], message: str
) -> None:
    root = write_tree(tmp_path / "x", dict.fromkeys(names, ""))
    with pytest.raises(Refused, match=message):
        read_problem(root)


def test_a_package_is_prepared_by_its_format(tmp_path: Path) -> None:
    files = {"testdata/1.in": "", "testdata/1.out": "", "testdata/lib.h": "h"}
    config = {"testdata/config.yaml": "user_extra_files: [lib.h]"}
    root = write_tree(tmp_path / "hydro", files | config)
    prepare(root, Bounds())
    assert read_problem(root).includes
    root = write_tree(tmp_path / "icpc", {"problem.yaml": "", "data/secret/1.in": "1\r\n"})
    before = read_tree(root)
    prepare(root, Bounds())
    assert read_tree(root) == before
