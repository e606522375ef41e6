"""`deemster languages`."""

from tests.cli.conftest import Deemster


def test_every_language_is_listed_with_its_version(deemster: Deemster) -> None:
    done = deemster("languages", "--json")
    assert done.code == 0
    listed = {each["id"]: each for each in done.json["languages"]}
    assert set(listed) == {"c", "cpp", "java", "javascript", "python3"}
    assert listed["c"]["found"]
    assert listed["c"]["version"].startswith("GCC ")
    assert listed["c"]["packages"] == ["gcc", "libc6-dev"]
    assert "test" not in listed["c"]


def test_a_table_names_the_language_and_the_version(deemster: Deemster) -> None:
    done = deemster("languages")
    assert b"Python 3 (python3)" in done.out
    assert b"CPython 3." in done.out


def test_self_tests_pass_in_the_cage(deemster: Deemster) -> None:
    done = deemster("languages", "--test", "--json")
    assert done.code == 0, done.out
    for each in done.json["languages"]:
        assert not each["found"] or each["test"]["ok"], each


def test_packages_are_those_of_missing_languages_only(deemster: Deemster) -> None:
    listed = deemster("languages", "--json").json["languages"]
    wanted = {name for each in listed if not each["found"] for name in each["packages"]}
    done = deemster("languages", "--packages")
    assert set(done.out.decode().split()) == wanted
