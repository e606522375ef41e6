"""Packages of Codeforces Polygon."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.expectation import CaseRule, Observed, ObservedCase, disagreements
from deemster.domain.problem import (
    Aggregation,
    Case,
    Compare,
    Comparison,
    DefaultGrader,
    Group,
    InputValidator,
    JuryProgram,
    PointsUnit,
    Problem,
    ProgramCheck,
    ProtocolName,
    SampleFiles,
    Statement,
    Subtask,
    ValidatorArgs,
)
from deemster.domain.verdict import Verdict
from deemster.problems.formats.polygon import prepare, read_package
from tests.problems.trees import read_tree, write_tree

TESTS = """
    <test description="by hand" method="manual" sample="true"/>
    <test cmd="gen 5" method="generated"/>
"""
XML = """<?xml version="1.0" encoding="utf-8" standalone="no"?>
<problem revision="7" short-name="a-plus-b" url="https://polygon.codeforces.com/p1/me/a-plus-b">
  <names>
    <name language="english" value="A plus B"/>
    <name language="russian" value="Сумма двух"/>
  </names>
  <statements>
    <statement charset="UTF-8" language="english" mathjax="true"
      path="statements/english/problem.tex" type="application/x-tex"/>
    <statement language="english" path="statements/.pdf/english/problem.pdf"
      type="application/pdf"/>
    <statement charset="UTF-8" language="russian" mathjax="true"
      path="statements/.html/russian/problem.html" type="text/html"/>
  </statements>
  <judging cpu-name="x" cpu-speed="3600" {judging}>
    <testset name="tests">
      <time-limit>{time}</time-limit>
      <memory-limit>268435456</memory-limit>
      <test-count>2</test-count>
      <input-path-pattern>tests/%02d</input-path-pattern>
      <answer-path-pattern>tests/%02d.a</answer-path-pattern>
      <tests>{tests}</tests>
      {groups}
    </testset>
    {testsets}
  </judging>
  <files>
    <resources>
      <file path="files/olymp.sty"/>
      <file path="files/testlib.h" type="h.g++"/>
      {resources}
    </resources>
    <executables>
      <executable><source path="files/gen.cpp" type="cpp.g++17"/></executable>
    </executables>
    {attachments}
  </files>
  <assets>
    <checker {checker} type="testlib">
      <source path="files/check.cpp" type="cpp.g++17"/>
      <copy path="check.cpp"/>
      {checker_tests}
    </checker>
    <validators>
      <validator><source path="files/val.cpp" type="cpp.g++17"/>{validator_tests}</validator>
    </validators>
    <solutions>
      <solution tag="main"><source path="solutions/ok.cpp" type="cpp.g++17"/></solution>
      {solutions}
    </solutions>
    {assets}
  </assets>
  <properties><property name="tests-wellformed" value="true"/></properties>
  <stresses><stress-count>0</stress-count><list/></stresses>
  <tags><tag value="implementation"/>{tags}</tags>
  {rest}
</problem>
"""
PARTS = (
    "judging", "groups", "testsets", "resources", "attachments", "checker", "checker_tests",
    "validator_tests", "solutions", "assets", "tags", "rest",
)  # fmt: skip
FILES: Mapping[str, str | bytes] = {
    "statements/english/problem.tex": r"\begin{problem}",
    "statements/.html/russian/problem.html": "<p>",
    "statements/english/problem-properties.json": '{"authorName": "Ada", "name": "A plus B"}',
    "statements/russian/problem-properties.json": '{"authorName": "Ada"}',
    "files/testlib.h": "// testlib",
    "files/olymp.sty": "",
    "files/check.cpp": '#include "testlib.h"',
    "files/val.cpp": '#include "testlib.h"',
    "files/gen.cpp": "",
    "solutions/ok.cpp": "int main() {}",
    "tests/01": "1 2\n",
    "tests/01.a": "3\n",
    "tests/02": "3 4\n",
    "tests/02.a": "7\n",
}
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def write(files: Mapping[str, str | bytes] | None = None, **parts: str) -> Path:
        known = dict.fromkeys(PARTS, "")
        text = XML.format_map(known | {"tests": TESTS, "time": "1500"} | parts)
        root = write_tree(tmp_path / "package", {**FILES, **(files or {})})
        return write_tree(root, {"problem.xml": text})

    return write


def cases(problem: Problem) -> list[Case]:
    return list(problem.tests.cases())


def said(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return str(caught.value)


# ---- the whole ----


def test_a_plain_package_is_read_whole(make: Make) -> None:
    problem = read_package(make())
    assert problem.slug == "a-plus-b"
    assert problem.format == "polygon"
    assert problem.names == {"en": "A plus B", "ru": "Сумма двух"}
    assert problem.limits.time_ms == 1500
    assert problem.limits.memory_bytes == 256 << 20
    assert not problem.scoring
    assert problem.tests.grading == DefaultGrader()
    assert problem.tests.stop_at_reject
    assert [(case.name, case.input, case.answer) for case in cases(problem)] == [
        ("01", "tests/01", "tests/01.a"),
        ("02", "tests/02", "tests/02.a"),
    ]
    assert [case.is_sample for case in cases(problem)] == [True, False]
    assert [case.description for case in cases(problem)] == ["by hand", "gen 5"]
    assert cases(problem)[1].input_validator_args == ValidatorArgs(("--testset", "tests"))
    checker = JuryProgram("checker", "files/check.cpp", "cpp17", ("files/testlib.h",))
    assert problem.checker == ProgramCheck((checker,), ProtocolName.TESTLIB)
    validator = JuryProgram("validator", "files/val.cpp", "cpp17", ("files/testlib.h",))
    assert problem.input_validators == (InputValidator(validator, ProtocolName.TESTLIB),)
    assert problem.statements == (
        Statement("en", "tex", "statements/english/problem.tex", "A plus B"),
        Statement("ru", "html", "statements/.html/russian/problem.html", "Сумма двух"),
    )
    assert problem.credits == "Ada"
    assert problem.keywords == ("implementation",)
    assert problem.source.endswith("/a-plus-b")
    assert problem.interactor is None
    assert problem.warnings == ()


def test_samples_use_the_files_of_the_statement(make: Make) -> None:
    example = {"statements/english/example.01": "1", "statements/english/example.01.a": "2"}
    shown = SampleFiles("statements/english/example.01", "statements/english/example.01.a")
    assert cases(read_package(make(example)))[0].shown == shown


def test_samples_without_statement_files_use_the_test_files(make: Make) -> None:
    root = make({"statements/english/example.01": "1"})
    assert cases(read_package(root))[0].shown == SampleFiles()


def test_problems_may_use_files_instead_of_stdin_and_stdout(make: Make) -> None:
    problem = read_package(make(judging='input-file="a.in" output-file="a.out"'))
    assert (problem.input_file, problem.output_file) == ("a.in", "a.out")
    problem = read_package(make(judging='input-file="stdin" output-file=""'))
    assert (problem.input_file, problem.output_file) == ("", "")
    assert "not a plain name" in said(lambda: read_package(make(judging='input-file="../x"')))


def test_attachments_and_materials_for_contestants_are_kept(make: Make) -> None:
    root = make(
        {"files/a.zip": b"", "materials/m.pdf": b""},
        attachments='<attachments><file path="files/a.zip"/></attachments>',
        rest='<materials><material path="materials/m.pdf" publish="with-statement"/>'
        '<material path="materials/secret.pdf" publish="with-tutorial"/></materials>',
    )
    assert read_package(root).attachments == ("files/a.zip", "materials/m.pdf")


def test_the_short_name_is_the_default_name(tmp_path: Path, make: Make) -> None:
    path = make() / "problem.xml"
    start, _, rest = path.read_text().partition("<names>")
    path.write_text(start + rest.partition("</names>")[2])
    assert read_package(path.parent).names == {"en": "a-plus-b"}


def test_other_testsets_and_unknown_elements_are_warned_of(make: Make) -> None:
    root = make(testsets='<testset name="pretests"><tests/></testset>', rest="<novelty/>")
    warnings = read_package(root).warnings
    assert len(warnings) == 2
    assert "<novelty>" in warnings[0]
    assert "'pretests'" in warnings[1]


# ---- programs ----


@pytest.mark.parametrize(
    ("name", "comparison"),
    [
        ("wcmp", Comparison(mode=Compare.TOKENS)),
        ("ncmp", Comparison(mode=Compare.TOKENS)),
        ("yesno", Comparison(mode=Compare.TOKENS, case_sensitive=False)),
    ],
)
def test_some_standard_checkers_are_built_in(
    make: Make, name: str, comparison: Comparison
) -> None:
    root = make(checker=f'name="std::{name}.cpp"')
    assert read_package(root).checker == comparison


@pytest.mark.parametrize("name", ["rcmp6", "fcmp", "lcmp"])
def test_other_standard_checkers_are_run(make: Make, name: str) -> None:
    assert isinstance(
        read_package(make(checker=f'name="std::{name}.cpp"')).checker, ProgramCheck
    )


def test_points_of_a_checker_may_be_percent(make: Make) -> None:
    root = make(judging='treat-points-from-checker-as-percent="true"')
    checker = read_package(root).checker
    assert isinstance(checker, ProgramCheck)
    assert checker.points_unit is PointsUnit.PERCENT


def test_an_interactive_problem_always_has_a_checker_program(make: Make) -> None:
    """Also to a standard checker, which is a program then."""
    interactor = '<interactor><source path="files/inter.cpp" type="cpp.g++20"/></interactor>'
    root = make({"files/inter.cpp": ""}, assets=interactor, checker='name="std::wcmp.cpp"')
    problem = read_package(root)
    program = JuryProgram("interactor", "files/inter.cpp", "cpp20", ("files/testlib.h",))
    assert problem.interactor == ProgramCheck((program,), ProtocolName.TESTLIB)
    assert isinstance(problem.checker, ProgramCheck)


def test_a_missing_testlib_is_allowed(make: Make) -> None:
    """As in repositories that don't keep it."""
    root = make()
    (root / "files/testlib.h").unlink()
    assert read_package(root).checker == ProgramCheck(
        (JuryProgram("checker", "files/check.cpp", "cpp17"),), ProtocolName.TESTLIB
    )


def test_resources_belong_to_their_assets(make: Make) -> None:
    root = make(
        {"files/global.h": "", "files/check.inc": "", "files/lib.cpp": ""},
        resources="""
          <file path="files/global.h" type="h.g++"/>
          <file path="files/check.inc" type="h.g++">
            <stages><stage name="compile"/></stages>
            <assets><asset name="checker"/></assets>
          </file>
          <file path="files/lib.cpp" type="cpp.g++17"/>
        """,
    )
    problem = read_package(root)
    assert isinstance(problem.checker, ProgramCheck)
    beside = problem.checker.programs[0].resources
    assert beside == ("files/testlib.h", "files/global.h", "files/check.inc")
    assert problem.input_validators[0].program.resources == beside[:2]


def test_graders_are_added_to_submissions(make: Make) -> None:
    root = make(
        {"files/grader.cpp": "g", "files/grader.h": "h", "files/grader.py": "p"},
        resources="""
          <file for-types="cpp.*" path="files/grader.cpp" type="cpp.g++17">
            <stages><stage name="compile"/></stages><assets><asset name="solution"/></assets>
          </file>
          <file for-types="cpp.*;c.*" path="files/grader.h" type="h.g++">
            <stages><stage name="compile"/></stages><assets><asset name="solution"/></assets>
          </file>
          <file for-types="python.*" path="files/grader.py" type="python.3">
            <stages><stage name="compile"/></stages><assets><asset name="solution"/></assets>
          </file>
        """,
    )
    prepare(root)
    prepare(root)
    assert read_package(root).includes == {
        "cpp": ("_include/cpp",),
        "c": ("_include/c",),
        "python3": ("_include/python3",),
    }
    assert read_tree(root / "_include") == {
        "cpp/grader.cpp": b"g",
        "cpp/grader.h": b"h",
        "c/grader.h": b"h",
        "python3/grader.py": b"p",
    }


def test_tests_of_checkers_and_validators_are_read(make: Make) -> None:
    place = "files/tests/checker-tests"
    root = make(
        {f"{place}/{n:02}{end}": "" for n in (1, 2, 3) for end in ("", ".o", ".a")}
        | {f"files/tests/validator-tests/{n:02}": "" for n in (1, 2)},
        checker_tests=f"""<testset><test-count>3</test-count>
          <input-path-pattern>{place}/%02d</input-path-pattern>
          <output-path-pattern>{place}/%02d.o</output-path-pattern>
          <answer-path-pattern>{place}/%02d.a</answer-path-pattern>
          <tests><test verdict="ok"/><test verdict="presentation-error"/>
          <test verdict="crashed"/></tests></testset>""",
        validator_tests="""<testset><test-count>2</test-count>
          <input-path-pattern>files/tests/validator-tests/%02d</input-path-pattern>
          <tests><test verdict="valid"/><test verdict="invalid"/></tests></testset>""",
    )
    tests = read_package(root).validator_tests
    assert [(test.kind, test.case.input, test.output) for test in tests] == [
        ("valid_output", f"{place}/01", f"{place}/01.o"),
        ("invalid_output", f"{place}/02", f"{place}/02.o"),
        ("invalid_input", "files/tests/validator-tests/02", ""),
    ]


@pytest.mark.parametrize(
    ("kind", "language"),
    [
        ("cpp.g++11", "cpp17"),
        ("cpp.ms2017", "cpp17"),
        ("cpp.gcc13-64-winlibs-g++20", "cpp20"),
        ("cpp.gcc14-64-msys2-g++23", "cpp23"),
        ("c.gcc", "c"),
        ("java11", "java"),
        ("java8", "java"),
        ("kotlin16", "kotlin"),
        ("python.3", "python3"),
        ("python.pypy3-64", "pypy3"),
        ("python.2", "python.2"),
        ("pas.fpc", "pascal"),
        ("pas.dpr", "pascal"),
        ("csharp.mono", "csharp"),
        ("something.new", "something.new"),
    ],
)
def test_types_of_sources_are_languages(make: Make, kind: str, language: str) -> None:
    solution = f'<solution tag="accepted"><source path="solutions/x" type="{kind}"/></solution>'
    problem = read_package(make({"solutions/x": ""}, solutions=solution))
    assert problem.submissions[1].language == language


# ---- solutions ----


def labelled(make: Make, tag: str, *, points: bool = False, extra: str = "") -> Problem:
    tests = TESTS.replace("<test ", '<test points="5" ') if points else TESTS
    source = '<source path="solutions/x.py" type="python.3"/>'
    solution = f'<solution tag="{tag}">{source}{extra}</solution>'
    return read_package(make({"solutions/x.py": ""}, solutions=solution, tests=tests))


AC, PARTIAL = Verdict.ACCEPTED, Verdict.PARTIAL
WA, TLE, MLE = Verdict.WRONG_ANSWER, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT
RTE, CE, OLE = Verdict.RUNTIME_ERROR, Verdict.COMPILE_ERROR, Verdict.OUTPUT_LIMIT
TAGS = {
    "accepted": {AC},
    "rejected": {WA, TLE, MLE, RTE, CE, OLE},
    "wrong-answer": {WA, OLE},
    "presentation-error": {WA, OLE},
    "time-limit-exceeded": {TLE},
    "time-limit-exceeded-or-accepted": {AC, TLE},
    "time-limit-exceeded-or-memory-limit-exceeded": {TLE, MLE},
    "memory-limit-exceeded": {MLE},
    "failed": {RTE, MLE},
}


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_gives_the_expected_verdict(make: Make, tag: str) -> None:
    example = labelled(make, tag).submissions[1]
    assert example.label == tag
    assert not example.is_model
    for verdict in Verdict:
        seen = Observed(verdict, [ObservedCase("01", verdict)])
        assert (not disagreements(example.expectation, seen)) == (verdict in TAGS[tag])


def test_the_main_solution_is_the_model(make: Make) -> None:
    main = read_package(make()).submissions[0]
    assert main.is_model
    assert main.expectation.verdicts == (AC,)
    assert main.expectation.time_bound == "lower"


def test_a_failing_solution_may_earn_points(make: Make) -> None:
    expectation = labelled(make, "time-limit-exceeded", points=True).submissions[1].expectation
    slow = [ObservedCase("01", AC), ObservedCase("02", TLE)]
    assert not disagreements(expectation, Observed(PARTIAL, slow))
    assert not disagreements(expectation, Observed(TLE, [ObservedCase("01", TLE)]))
    wrong = [ObservedCase("01", AC), ObservedCase("02", WA)]
    assert disagreements(expectation, Observed(PARTIAL, wrong))
    assert disagreements(expectation, Observed(AC, [ObservedCase("01", AC)]))


def test_extra_tags_are_expectations_for_a_group(make: Make) -> None:
    extra = (
        '<extra-tags><extra-tag group="easy" tag="accepted"/>'
        '<extra-tag group="hard" tag="time-limit-exceeded"/>'
        '<extra-tag testset="tests" tag="time-limit-exceeded"/></extra-tags>'
    )
    rules = (
        labelled(make, "rejected", points=True, extra=extra).submissions[1].expectation.rules
    )
    assert rules[0] == CaseRule("easy", permitted=frozenset({AC}))
    assert (rules[1].cases, rules[1].required) == ("hard", frozenset({TLE, PARTIAL}))
    assert rules[2].cases == ""


def test_a_do_not_run_solution_is_ignored(make: Make) -> None:
    problem = labelled(make, "do-not-run")
    assert len(problem.submissions) == 1
    assert "do-not-run" in problem.warnings[0]


def test_an_unknown_tag_is_refused_by_name(make: Make) -> None:
    assert "unknown tag 'wonderful'" in said(lambda: labelled(make, "wonderful"))


# ---- points ----

GROUPED = """
    <test group="samples" method="manual" points="0" sample="true"/>
    <test group="2" method="manual" points="10.0"/>
    <test group="1" method="manual" points="15.0"/>
    <test group="2" method="manual" points="20.0"/>
    <test method="manual" points="5.0"/>
"""
GROUPS = """<groups>
    <group name="2" points-policy="complete-group" points="55.0" feedback-policy="complete">
      <dependencies><dependency group="1"/><dependency group="samples"/></dependencies>
    </group>
    <group name="1" points-policy="each-test"/>
    <group name="samples" points-policy="complete-group"/>
</groups>"""


def grouped(make: Make, tests: str = GROUPED, groups: str = GROUPS) -> Problem:
    count = tests.count("<test ")
    names = [f"tests/{n:02}{end}" for n in range(1, count + 1) for end in ("", ".a")]
    return read_package(make(dict.fromkeys(names, "1\n"), tests=tests, groups=groups))


def group_named(problem: Problem, name: str) -> Group:
    return next(group for group in problem.tests.groups() if group.name == name)


def test_groups_have_points_and_come_after_those_they_depend_on(make: Make) -> None:
    problem = grouped(make)
    assert problem.scoring
    assert [group.name for group in problem.tests.groups()] == [
        "",
        "samples",
        "1",
        "2",
        "ungrouped",
    ]
    assert problem.tests.grading == Subtask(75.0, Aggregation.SUM, whole_score_only=False)
    assert group_named(problem, "2").grading == Subtask(
        55.0, Aggregation.ALL_OR_NOTHING, ("1", "samples"), whole_score_only=False
    )
    assert [case.name for case in group_named(problem, "2").cases()] == ["2/02", "2/04"]
    assert group_named(problem, "1").grading == Subtask(
        15.0, Aggregation.SUM, whole_score_only=False
    )
    assert [case.points for case in group_named(problem, "1").cases()] == [15.0]
    assert [case.name for case in group_named(problem, "ungrouped").cases()] == ["05"]
    case = next(group_named(problem, "2").cases())
    assert case.input_validator_args.shared == ("--testset", "tests", "--group", "2")


def test_a_complete_group_without_points_has_those_of_its_tests(make: Make) -> None:
    problem = grouped(make, groups=GROUPS.replace('points="55.0"', ""))
    grading = group_named(problem, "2").grading
    assert isinstance(grading, Subtask)
    assert grading.max_score == 30.0


def test_tests_without_points_share_those_of_the_group(make: Make) -> None:
    tests = '<test group="a" method="manual"/><test group="a" method="manual"/>'
    groups = '<groups><group name="a" points-policy="each-test" points="100"/></groups>'
    group = group_named(grouped(make, tests, groups), "a")
    assert group.grading == Subtask(100.0, Aggregation.SUM, whole_score_only=False)
    assert [case.points for case in group.cases()] == [None, None]


def test_points_without_groups_add_up(make: Make) -> None:
    problem = grouped(make, groups="", tests=TESTS.replace("<test ", '<test points="5.5" '))
    assert problem.tests.grading == Subtask(11.0, Aggregation.SUM, whole_score_only=False)
    assert [case.points for case in cases(problem)] == [5.5, 5.5]


def test_a_sample_may_have_points(make: Make) -> None:
    problem = grouped(make, groups="", tests=TESTS.replace("<test ", '<test points="5" '))
    first = cases(problem)[0]
    assert not first.is_sample
    assert first.full_feedback


def test_groups_without_points_pass_or_fail_together(make: Make) -> None:
    tests = '<test group="a" method="manual"/><test group="b" method="manual"/>'
    groups = '<groups><group name="a" points-policy="complete-group"/></groups>'
    problem = grouped(make, tests, groups)
    assert not problem.scoring
    assert problem.tests.grading == DefaultGrader()


CIRCLE = GROUPS.replace(
    '"each-test"/>',
    '"each-test"><dependencies><dependency group="2"/></dependencies></group>',
)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (CIRCLE, "depends on itself"),
        (GROUPS.replace('dependency group="1"', 'dependency group="9"'), "has no tests"),
        (GROUPS.replace("each-test", "by-mood"), "unknown points-policy 'by-mood'"),
        (GROUPS.replace("55.0", "lots"), "invalid points"),
    ],
    ids=["circle", "missing", "policy", "points"],
)
def test_invalid_groups_are_refused(make: Make, groups: str, message: str) -> None:
    assert message in said(lambda: grouped(make, groups=groups))


# ---- what is refused ----


def test_a_standard_package_is_refused_with_what_is_missing(make: Make) -> None:
    root = make()
    (root / "tests" / "02").unlink()
    (root / "tests" / "02.a").unlink()
    message = said(lambda: read_package(root))
    assert "tests/02, tests/02.a" in message
    assert "full package from Polygon" in message


def test_many_missing_tests_are_counted(make: Make) -> None:
    root = make(tests='<test method="generated"/>' * 40)
    assert "and 71 more" in said(lambda: read_package(root))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"judging": 'run-count="2"'}, "run twice"),
        ({"tags": '<tag value="run-twice"/>'}, "run twice"),
        ({"assets": "<scorer/>"}, "a scorer"),
        ({"assets": "<strategy/>"}, "a strategy"),
        ({"assets": "<arbiter/>"}, "an arbiter"),
        ({"assets": "<interactor><runs/></interactor>"}, "two runs"),
        ({"time": "0"}, "<time-limit>"),
        ({"time": "fast"}, "<time-limit>"),
        ({"tests": ""}, "has no tests"),
        ({"solutions": '<solution tag="accepted"><source path="x"/></solution>'}, "names x"),
        ({"solutions": '<solution tag="accepted"/>'}, "has 0 sources"),
        ({"solutions": "<solution/>"}, "has no 'tag'"),
        (
            {"solutions": '<solution tag="accepted"><source path="../../x"/></solution>'},
            "outside of itself",
        ),
        ({"resources": '<file path="/etc/passwd" type="h.g++"/>'}, "absolute file name"),
        ({"resources": '<file path="files/none.h" type="h.g++"/>'}, "files/none.h"),
    ],
)
def test_unsupported_features_are_refused_with_the_reason(
    make: Make, parts: dict[str, str], message: str
) -> None:
    refusal = said(lambda: read_package(make(**parts)))
    assert message in refusal


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("tests/%s", "sensible"),
        ("tests/01", "sensible"),
        ("tests/%02d%02d", "sensible"),
        ("tests/%0999999999d", "sensible"),
        ("../%02d", "outside of itself"),
        ("/etc/%02d", "absolute file name"),
    ],
)
def test_a_pattern_leads_to_files_of_the_package_only(
    make: Make, pattern: str, message: str
) -> None:
    root = make()
    path = root / "problem.xml"
    path.write_text(path.read_text().replace(">tests/%02d<", f">{pattern}<"))
    assert message in said(lambda: read_package(root))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'<!DOCTYPE problem [<!ENTITY a "b">]><problem>&a;</problem>', "entities"),
        (b'<!DOCTYPE problem SYSTEM "file:///etc/passwd"><problem/>', "document type"),
        ('<?xml version="1.0"?><problem/>'.encode("utf-16"), "UTF-8"),
        (b"<problem>", "can't be read"),
        (b"<contest/>", "contains <contest>"),
        (b"\xff\xfe", "UTF-8"),
        (b"<problem>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</problem>", ""),
    ],
)
def test_hostile_documents_are_refused(make: Make, content: bytes, message: str) -> None:
    root = make()
    (root / "problem.xml").write_bytes(content)
    assert message in said(lambda: read_package(root))


def test_a_huge_document_is_refused_unread(make: Make) -> None:
    root = make()
    with (root / "problem.xml").open("r+b") as file:
        file.truncate(1 << 40)
    assert "16 MB" in said(lambda: read_package(root))


# ---- preparing ----


def test_crlf_becomes_lf(make: Make) -> None:
    root = make(
        {
            "tests/01": b"1 2\r\n3\r\n",
            "tests/01.a": b"3\r\n",
            "tests/02": b"mixed\r\nlines\n",
            "tests/02.a": b"\r",
            "solutions/ok.cpp": b"int main() {}\r\n",
        }
    )
    prepare(root)
    found = read_tree(root)
    assert found["tests/01"] == b"1 2\n3\n"
    assert found["tests/01.a"] == b"3\n"
    assert found["tests/02"] == b"mixed\r\nlines\n"
    assert found["tests/02.a"] == b"\r"
    assert found["solutions/ok.cpp"] == b"int main() {}\r\n"
    assert not [name for name in found if name.endswith(".changed")]
