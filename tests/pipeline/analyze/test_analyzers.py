"""The shipped analyser files, and errors in broken ones."""

import tomllib
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from deemster.domain.analysis import AnalyzerId
from deemster.domain.errors import Refused
from deemster.pipeline.analyze.analyzers import load_analyzer, load_analyzers
from deemster.programs.build.languages import load_catalogue, shipped_directory
from tests.pipeline.analyze.conftest import ANALYZERS

ROOT = Path(__file__).resolve().parents[3]
LIZARD = (shipped_directory("analyzers") / "lizard.toml").read_text()


def test_a_file_is_named_after_its_analyser() -> None:
    files = {file.stem for file in shipped_directory("analyzers").glob("*.toml")}
    assert files == ANALYZERS.keys()


def test_analysers_name_languages_that_exist() -> None:
    known = {language.id for language in load_catalogue()}
    for analyzer in ANALYZERS.values():
        assert analyzer.languages.keys() <= known


def test_the_extra_names_exactly_the_wheels_of_the_analysers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = {name.partition(">")[0] for name in project["optional-dependencies"]["analyzers"]}
    assert extra == {wheel for each in ANALYZERS.values() for wheel in each.wheels}


def test_each_analyser_can_be_installed_and_is_limited() -> None:
    """X6."""
    for analyzer in ANALYZERS.values():
        assert analyzer.installation
        assert analyzer.limits.cpu_ms <= 30_000
        assert analyzer.limits.output_bytes == 4 << 20
        assert bool(analyzer.mounts) == bool(analyzer.wheels)


def test_each_rule_is_explained_in_whole_sentences() -> None:
    for analyzer in ANALYZERS.values():
        for rule in analyzer.rules.values():
            assert rule.explanation.endswith("."), rule.id
            assert 40 <= len(rule.explanation) <= 400, rule.id
            assert rule.title[-1] not in ".!", rule.id


def test_checkstyle_is_configured_with_exactly_the_rules_that_are_explained() -> None:
    analyzer = ANALYZERS[AnalyzerId("checkstyle")]
    text = analyzer.files["checks.xml"].decode()
    modules = {module.get("name") for module in fromstring(text.strip()).iter("module")}
    assert modules - {"Checker", "TreeWalker"} == analyzer.rules.keys()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "lizard"', 'id = "lizard"\ncolour = 1', "the key colour is unknown"),
        ('format = "table"', 'format = "poem"', "there is no output format 'poem'"),
        ('"{sources}"', '"{sorces}"', "the key run.argv has the unknown placeholder {sorces}"),
        ("{function} has {lines}", "{name} has", "unknown placeholder {name}"),
        ('category = "complexity"', 'category = "beauty"', "category is invalid"),
        ('"{packages}/lizard.py"', '"/usr/lib/python3"', "the key mounts.0 is invalid"),
        ("[languages]", "[languages", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in LIZARD
    file = tmp_path / "lizard.toml"
    file.write_text(LIZARD.replace(old, new))
    with pytest.raises(Refused, match=r"lizard\.toml") as refused:
        load_analyzer(file)
    assert message in str(refused.value)


def test_a_directory_without_analysers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="There is no analyser file"):
        load_analyzers(tmp_path)
