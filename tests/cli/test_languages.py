"""`deemster languages` lists and tests the languages."""

from deemster.programs.build.languages import load_catalogue
from tests.cli.conftest import Deemster


def test_every_language_is_listed_with_its_version(call: Deemster) -> None:
    """J6."""
    done = call("languages", "--json")
    assert done.code == 0
    listed = {each["id"]: each for each in done.json["languages"]}
    assert set(listed) == {language.id for language in load_catalogue()}
    c = listed["c"]
    assert c["found"]
    assert c["version"].startswith("GCC ")
    assert c["packages"] == ["gcc", "libc6-dev"]
    assert c["install"] == "apt-get install gcc libc6-dev"
    assert c["source_file"] == "main.c"
    assert "main(void)" in c["template"]
    assert c["compile"]["argv"][0] == c["tools"]["compiler"]
    assert "{output}" in c["compile"]["argv"]
    assert c["run"] == {"argv": ["{code}/program"], "environment": {}}
    assert listed["python3"]["run"]["argv"][0] == listed["python3"]["tools"]["interpreter"]
    assert "test" not in c


def test_a_table_names_the_language_and_the_version(call: Deemster) -> None:
    done = call("languages")
    assert b"Python 3 (python3)" in done.out
    assert b"CPython 3." in done.out
    assert b"(.cpp)" in done.out


def test_only_the_named_languages_are_shown(call: Deemster) -> None:
    done = call("languages", "py3", "c", "--json")
    assert [each["id"] for each in done.json["languages"]] == ["python3", "c"]


def test_an_unknown_language_is_refused(call: Deemster) -> None:
    done = call("languages", "klingon")
    assert done.code == 2
    assert "There is no language 'klingon'" in done.err


def test_self_tests_pass_in_the_sandbox(call: Deemster) -> None:
    done = call("languages", "c", "javascript", "python3", "text", "--test", "--json")
    assert done.code == 0, done.out
    for each in done.json["languages"]:
        assert each["test"]["ok"], each
        assert each["test"]["cpu_ms"] >= 0


def test_packages_are_those_of_missing_languages_only(call: Deemster) -> None:
    listed = call("languages", "--json").json["languages"]
    missing = {name for each in listed if not each["found"] for name in each["packages"]}
    done = call("languages", "--packages")
    assert set(done.out.decode().split()) == missing
