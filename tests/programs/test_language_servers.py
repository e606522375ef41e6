"""The shipped files of language servers, and errors in broken ones."""

import tomllib
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.programs.build.languages import load_catalogue, shipped_directory
from deemster.programs.language_servers import (
    document_of,
    load_language_server,
    load_language_servers,
    shipped_language_servers,
)

ROOT = Path(__file__).resolve().parents[2]
SERVERS = shipped_language_servers()
CATALOGUE = load_catalogue()
CLANGD = (shipped_directory("language_servers") / "clangd.toml").read_text()


def test_a_file_is_named_after_its_server() -> None:
    files = {file.stem for file in shipped_directory("language_servers").glob("*.toml")}
    assert files == {each.id for each in SERVERS}


def test_the_extra_names_exactly_the_wheels_of_the_servers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = project["optional-dependencies"]["language-servers"]
    extra = {name.partition(">")[0] for name in named}
    assert extra == {wheel for each in SERVERS for wheel in each.wheels}


def test_each_language_has_at_most_one_server() -> None:
    served = [language for each in SERVERS for language in each.languages]
    assert len(served) == len(set(served))
    assert set(served) <= {language.id for language in CATALOGUE}


def test_clangd_reads_programs_as_the_judge_compiles_them() -> None:
    """J5: the dialect is that of the compiler, or a right program would look wrong."""
    clangd = next(each for each in SERVERS if each.id == "clangd")
    for name, served in clangd.languages.items():
        compiler = CATALOGUE.named(name).compile
        assert compiler is not None
        dialect = [flag for flag in compiler.argv if flag.startswith("-std=")]
        assert [flag for flag in served.flags if flag.startswith("-std=")] == dialect


def test_no_server_may_start_programs() -> None:
    """X4: a message can ask a server to run a command."""
    assert {each.permissions.base for each in SERVERS} == {"program"}


def test_the_document_has_the_name_of_the_source() -> None:
    document = document_of(CATALOGUE.named("pypy3"))
    assert document is not None
    assert (document.uri, document.language_id) == ("file:///code/main.py", "python")
    assert document_of(CATALOGUE.named("text")) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "clangd"', 'id = "clangd"\ncolour = 1', "the key colour is unknown"),
        ("{code}", "{somewhere}", "the unknown placeholder {somewhere}"),
        ('mounts = ["{packages}', 'mounts = ["', "begin with {scripts}/ or {packages}/"),
    ],
)
def test_a_broken_file_is_refused_with_its_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = tmp_path / "clangd.toml"
    file.write_text(CLANGD.replace(old, new))
    with pytest.raises(Refused, match=r"clangd\.toml") as refused:
        load_language_server(file)
    assert message in str(refused.value)


def test_a_directory_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="reinstall"):
        load_language_servers(tmp_path)
