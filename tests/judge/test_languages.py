"""Language files: what is shipped, and what is said about broken ones."""

import re
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.pipeline.judge.languages import load_catalogue, load_language, shipped_directory

C_FILE = (shipped_directory() / "c.toml").read_text()


def broken(tmp_path: Path, old: str, new: str) -> Path:
    assert old in C_FILE
    file = tmp_path / "c.toml"
    file.write_text(C_FILE.replace(old, new, 1))
    return file


def test_the_shipped_languages_are_all_there() -> None:
    assert [language.id for language in load_catalogue()] == [
        "c",
        "cpp",
        "java",
        "javascript",
        "python3",
    ]


def test_a_language_file_is_named_after_its_language() -> None:
    for file in shipped_directory().glob("*.toml"):
        assert load_language(file).id == file.stem


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[run]", "[run]\ntimeout = 3", "c.toml: the key run.timeout is unknown"),
        ('name = "C"', 'name = "C"\nnmae = "C"', "c.toml: the key nmae is unknown"),
        ("cpu_s = 10", 'cpu_s = "soon"', "c.toml: the key compile.cpu_s is wrong"),
        ("cpu_s = 10", "cpu_s = -1", "c.toml: the key compile.cpu_s is wrong"),
        ('output = "program"', 'output = "../x"', "the key compile.output is wrong"),
        ("{output}", "{outptu}", "the key compile.argv has the unknown placeholder {outptu}"),
        ("{code}/program", "{heap_mb}{x}", "the key run.argv has the unknown placeholder {x}"),
        ("pattern = '", "pattern = '(", "the key version.pattern is wrong"),
        ("[run]", '[run.permissions.errno]\nsocket = "ENOPE"\n[run]', "ENOPE is no name"),
        ("[run]", "[run", "c.toml is not TOML"),
        ('id = "c"', "", "the key id is wrong: Field required"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(Refused, match=re.escape(said)):
        load_language(broken(tmp_path, old, new))


def test_a_directory_without_languages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no language file"):
        load_catalogue(tmp_path)
