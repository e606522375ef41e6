"""ICPC packages as a whole: unusual files and names are read or refused."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yaml import safe_dump, safe_load

from deemster.problems.formats.icpc.package import read_package
from tests.problems.formats.icpc.conftest import LEGACY, MODERN, PackageBuilder, outcome


def test_paths_are_those_in_the_package(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "attachments/tool.py": "",
            "attachments/deep/data.txt": "",
            "attachments/.hidden": "",
            "static_validator/look.py": "",
            "include/default/x.txt": "x",
            "data/invalid_input/1.in": "",
        }
    )
    assert problem.attachments == ("attachments/deep/data.txt", "attachments/tool.py")
    paths = [problem.static_validator.path] if problem.static_validator else []
    paths += [each.program.path for each in problem.input_validators]
    paths += [each.path for each in problem.submissions]
    paths += [each.path for each in problem.statements]
    paths += [path for each in problem.includes.values() for path in each]
    paths += [path for case in problem.tests.cases() for path in (case.input, case.answer)]
    paths += [each.case.input for each in problem.validator_tests]
    assert len(paths) == 10
    assert all((packages.root / path).exists() for path in paths)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("sum", "sum"), ("A Plus B", "a-plus-b"), ("été", "t"), ("__", "problem")],
)
def test_the_slug_is_made_of_the_directorys_name(
    packages: PackageBuilder, name: str, slug: str
) -> None:
    packages.root = packages.root.parent / name
    assert packages.legacy().slug == slug


def test_files_with_crlf_are_read(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "problem.yaml": b"\xef\xbb\xbfname: Sum\r\nlimits:\r\n  memory: 64\r\n",
            "data/testdata.yaml": b"on_reject: continue\r\n",
            "problem_statement/problem.en.tex": b"\xef\xbb\xbf\\problemname{Sum}\r\n",
            ".timelimit": b"2\r\n",
        }
    )
    assert problem.limits.memory_bytes == 64 * 1024 * 1024
    assert problem.limits.time_ms == 2000
    assert not problem.tests.stop_at_reject
    assert problem.names == {"en": "Sum"}


def test_forbidden_names_are_warned_of_or_ignored(packages: PackageBuilder) -> None:
    files = {"data/secret/a b.in": "1", "data/secret/a b.ans": "1"}
    problem = packages.legacy(files)
    assert "secret/a b" in [case.name for case in problem.tests.cases()]
    assert any("its name has characters that the format forbids" in w for w in problem.warnings)
    (packages.root / "problem.yaml").write_text(str(MODERN["problem.yaml"]))
    modern = read_package(packages.root)
    assert [case.name for case in modern.tests.cases()] == ["sample/1", "secret/01"]
    assert any("ignored 'a b.in'" in each for each in modern.warnings)


def test_directories_that_the_format_doesnt_have_are_warned_of(
    packages: PackageBuilder,
) -> None:
    problem = packages.legacy({"submission/x.py": "", ".git/config": "", "generators/g.py": ""})
    assert "The package: ignored submission: the format has no such directories." in (
        problem.warnings
    )
    assert not any("generators" in each or ".git" in each for each in problem.warnings)


def test_a_correct_package_has_no_warnings(packages: PackageBuilder) -> None:
    assert packages.legacy().warnings == ()


KEYS = [
    *("name", "type", "limits", "memory", "validation", "grading", "credits", "objective"),
    *("authors", "source", "constants", "max_score", "score_aggregation", "validator_flags"),
    *("require_pass", "args", "input_validator_args", "full_feedback", "time_multipliers"),
    *("output_validator_args", "static_validation_score", "on_reject", "keywords", "author"),
    *("range", "accept_score", "grader_flags", "accepted", "permitted", "uuid", "license"),
    *("required", "score", "secret", "use_for_time_limit", "languages", "embargo_until"),
]
VALUES = [
    *("legacy", "2025-09", "scoring", "custom", "default", "custom score", "min", "all"),
    *("unbounded", "sum", "pass-fail", "sample", "secret/a", "break", "0 5", "x", "AC"),
]
YAML = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 300),
        st.floats(),
        st.dates(),
        st.sampled_from(VALUES),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    ),
    max_leaves=12,
)
FILES = {
    True: ("data/testdata.yaml", "data/secret/testdata.yaml"),
    False: (
        *("data/secret/test_group.yaml", "data/sample/test_group.yaml"),
        *("data/secret/01.yaml", "submissions/submissions.yaml"),
    ),
}


@settings(deadline=None, max_examples=200)
@given(is_legacy=st.booleans(), scoring=st.booleans(), which=st.integers(0, 3), value=YAML)
def test_any_value_in_any_file_is_read_or_refused(
    is_legacy: bool, scoring: bool, which: int, value: object
) -> None:
    base = LEGACY if is_legacy else MODERN
    file = FILES[is_legacy][which % len(FILES[is_legacy])]
    kind = "type: scoring\n" if scoring else ""
    with TemporaryDirectory() as place:
        packages = PackageBuilder(Path(place))
        root = packages.write(
            base, {"problem.yaml": f"{base['problem.yaml']!s}{kind}", file: safe_dump(value)}
        )
        found = outcome(root)
    if isinstance(found, str):
        assert found.startswith(file)
    else:
        assert len(list(found.tests.cases())) == 2


@settings(deadline=None, max_examples=200)
@given(is_legacy=st.booleans(), value=st.dictionaries(st.sampled_from(KEYS), YAML, max_size=4))
def test_any_problem_yaml_is_read_or_refused(is_legacy: bool, value: dict[str, object]) -> None:
    base = LEGACY if is_legacy else MODERN
    own = {"name": "Sum"} if is_legacy else dict(safe_load(str(base["problem.yaml"])))
    with TemporaryDirectory() as place:
        root = PackageBuilder(Path(place)).write(
            base, {"problem.yaml": safe_dump({**own, **value})}
        )
        found = outcome(root)
    if isinstance(found, str):
        assert found.startswith("problem.yaml: the key '")
    else:
        assert len(list(found.tests.cases())) == 2
