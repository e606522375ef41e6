"""Problems of Hydro."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Aggregation,
    Compare,
    Comparison,
    Group,
    InputValidator,
    JuryProgram,
    PointsUnit,
    Problem,
    ProgramCheck,
    ProtocolName,
    Statement,
    Subtask,
)
from deemster.domain.verdict import Verdict
from deemster.problems.formats.hydro import prepare, read_package
from deemster.problems.formats.hydro.subtasks import shares
from deemster.problems.formats.testlib_checkers import COMPARISONS
from tests.problems.trees import read_tree, write_tree

Read = Callable[..., Problem]
PROBLEM_FILE = (
    "title: 两数之和\npid: P1000\ntag:\n- math\n- 2024\nowner: 1\nnSubmit: 5\nnAccept: 2\n"
)
PAIRS = ["1.in", "1.out", "2.in", "2.out", "10.in", "10.out"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sum"


@pytest.fixture
def read(root: Path) -> Read:
    def prepare_and_read(
        config: str | None = None,
        names: list[str] | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Problem:
        tree = {f"testdata/{name}": "1\n" for name in (PAIRS if names is None else names)}
        write_tree(root, {"problem.yaml": PROBLEM_FILE, **tree, **(files or {})})
        (root / "testdata").mkdir(exist_ok=True)
        if config is not None:
            write_tree(root, {"testdata/config.yaml": config})
        prepare(root)
        once = read_tree(root)
        prepare(root)
        assert read_tree(root) == once
        return read_package(root)

    return prepare_and_read


def said(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return str(caught.value)


def groups(problem: Problem) -> list[Group]:
    return [group for group in problem.tests.groups() if group.name]


# ---- the whole ----


def test_a_plain_problem_is_read_whole(read: Read) -> None:
    problem = read(
        files={
            "problem_zh.md": "# 题目",
            "problem_en_US.md": "# Problem",
            "problem.md": "#",
            "additional_file/a.png": "",
            "testdata/std.cpp": "int main() {}",
            "solution/notes.md": "",
        }
    )
    assert (problem.slug, problem.format) == ("P1000", "hydro")
    assert problem.names == {"zh": "两数之和"}
    assert problem.keywords == ("math", "2024")
    assert problem.limits.time_ms == 1_000
    assert problem.limits.memory_bytes == 256 << 20
    assert problem.checker == Comparison(mode=Compare.LINES)
    assert problem.scoring
    assert problem.tests.grading == Subtask(100.0, Aggregation.SUM, whole_score_only=False)
    (group,) = groups(problem)
    assert group.grading == Subtask(100.0, Aggregation.SUM, whole_score_only=False)
    assert [(case.name, case.input, case.answer) for case in group.cases()] == [
        ("subtask1/1", "testdata/1.in", "testdata/1.out"),
        ("subtask1/2", "testdata/2.in", "testdata/2.out"),
        ("subtask1/3", "testdata/10.in", "testdata/10.out"),
    ]
    assert [case.points for case in group.cases()] == [33.0, 33.0, 34.0]
    assert problem.statements == (
        Statement("zh", "md", "problem.md", "两数之和"),
        Statement("en-US", "md", "problem_en_US.md", "两数之和"),
        Statement("zh", "md", "problem_zh.md", "两数之和"),
    )
    assert problem.attachments == ("additional_file/a.png",)
    (model,) = problem.submissions
    assert (model.path, model.is_model) == ("testdata/std.cpp", True)
    assert model.expectation.verdicts == (Verdict.ACCEPTED,)
    assert problem.languages is None
    assert problem.warnings == ()


def test_a_directory_with_only_test_data_is_a_problem(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "sum", {f"testdata/{name}": "" for name in PAIRS})
    problem = read_package(root)
    assert (problem.slug, problem.names) == ("sum", {"zh": "sum"})


def test_the_configuration_is_read(read: Read) -> None:
    problem = read("""
type: default
time: 1500ms
memory: 0.5g
filename: sum
langs: [cc, py.py3]
detail: full
key: 0123456789abcdef0123456789abcdef
score: 50
time_limit_rate: {py: 2}
memory_limit_rate: {py: 1}
""")
    assert problem.limits.time_ms == 1_500
    assert problem.limits.memory_bytes == 512 << 20
    assert (problem.input_file, problem.output_file) == ("sum.in", "sum.out")
    assert problem.languages == frozenset({"cc", "py.py3"})
    assert len(problem.warnings) == 1
    assert "'time_limit_rate' is ignored" in problem.warnings[0]


@pytest.mark.parametrize(
    ("text", "ms"), [("2s", 2000), ("500ms", 500), ("1.5s", 1500), ("3", 3), ("'3'", 3000)]
)
def test_times_have_units(read: Read, text: str, ms: int) -> None:
    assert read(f"time: {text}").limits.time_ms == ms


@pytest.mark.parametrize(
    ("text", "size"),
    [("64m", 64 << 20), ("512K", 512 << 10), ("1GB", 1 << 30), ("32", 32 << 20)],
)
def test_sizes_have_units(read: Read, text: str, size: int) -> None:
    assert read(f"memory: {text}").limits.memory_bytes == size


# ---- cases ----


def test_listed_subtasks_are_kept(read: Read) -> None:
    problem = read("""
subtasks:
- score: 30
  type: min
  time: 2s
  cases:
  - {input: 1.in, output: 1.out}
  - {input: 2.in, output: 2.out, time: 3s, memory: 64m}
- score: 50
  type: max
  if: [1]
  cases: [{input: 10.in, output: 10.out}]
- type: sum
  id: 7
  if: [1, 2]
  cases: [{input: 1.in, output: 1.out, score: 15}, {input: 2.in, output: 2.out}]
""")
    assert [(group.name, group.grading) for group in groups(problem)] == [
        ("subtask1", Subtask(30.0, Aggregation.MIN, whole_score_only=False)),
        ("subtask2", Subtask(50.0, Aggregation.MAX, ("subtask1",), whole_score_only=False)),
        (
            "subtask7",
            Subtask(20.0, Aggregation.SUM, ("subtask1", "subtask2"), whole_score_only=False),
        ),
    ]
    found = {case.name: case for case in problem.tests.cases()}
    assert found["subtask1/1"].time_ms == 2_000
    assert found["subtask1/2"].time_ms == 3_000
    assert found["subtask1/2"].memory_bytes == 64 << 20
    assert found["subtask2/1"].time_ms is None
    assert [found[f"subtask7/{n}"].points for n in (1, 2)] == [15.0, 5.0]
    assert found["subtask1/1"].points is None
    assert [group.stop_at_reject for group in groups(problem)] == [True, False, False]


def test_a_subtask_takes_the_minimum_by_default(read: Read) -> None:
    problem = read("subtasks: [{score: 100, cases: [{input: 1.in, output: 1.out}]}]")
    grading = groups(problem)[0].grading
    assert isinstance(grading, Subtask)
    assert grading.aggregation is Aggregation.MIN


def test_subtasks_come_after_those_that_they_require(read: Read) -> None:
    problem = read("""
subtasks:
- {id: 1, score: 50, if: [2], cases: [{input: 1.in, output: 1.out}]}
- {id: 2, score: 50, cases: [{input: 2.in, output: 2.out}]}
""")
    assert [group.name for group in groups(problem)] == ["subtask2", "subtask1"]


def test_listed_cases_override_subtasks(read: Read) -> None:
    problem = read("""
cases: [{input: 1.in, output: 1.out, score: 70}, {input: 2.in, output: 2.out}]
subtasks: [{score: 100, cases: [{input: 10.in, output: 10.out}]}]
""")
    assert [case.points for case in problem.tests.cases()] == [70.0, 30.0]


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["a1.in", "a1.ans", "a2.in", "a2.out"], [("a1.in", "a1.ans"), ("a2.in", "a2.out")]),
        (["input1.txt", "output1.txt"], [("input1.txt", "output1.txt")]),
        (["1.IN", "1.OUT"], [("1.IN", "1.OUT")]),
        (["s.in1", "s.ou1", "s.in2", "s.out2"], [("s.in1", "s.ou1"), ("s.in2", "s.out2")]),
        (["1.in.txt", "1.out.txt"], [("1.in.txt", "1.out.txt")]),
        (["input/1.in", "output/1.out"], [("input/1.in", "output/1.out")]),
        (["data-1.in", "data-1.out"], [("data-1.in", "data-1.out")]),
        (["1-small.in", "1-small.ans"], [("1-small.in", "1-small.ans")]),
        (["1.in", "1.out", "2.in", "notes.txt", "3.out", "chk.cpp"], [("1.in", "1.out")]),
        (["10.in", "10.out", "9.in", "9.out"], [("9.in", "9.out"), ("10.in", "10.out")]),
    ],
)  # fmt: skip
def test_cases_are_found_by_their_names(
    read: Read, names: list[str], pairs: list[tuple[str, str]]
) -> None:
    problem = read(names=names)
    found = [(case.input, case.answer) for case in problem.tests.cases()]
    assert found == [(f"testdata/{one}", f"testdata/{other}") for one, other in pairs]
    assert len(groups(problem)) == 1


def test_subtasks_are_found_by_file_names(read: Read) -> None:
    names = [f"{n}.{end}" for n in ("1-1", "1-2", "2-1", "a3_1") for end in ("in", "out")]
    problem = read(names=names)
    assert [(group.name, group.grading) for group in groups(problem)] == [
        ("subtask1", Subtask(33.0, Aggregation.MIN, whole_score_only=False)),
        ("subtask2", Subtask(33.0, Aggregation.MIN, whole_score_only=False)),
        ("subtask3", Subtask(34.0, Aggregation.MIN, whole_score_only=False)),
    ]


def test_subtasks_without_cases_configure_the_found_ones(read: Read) -> None:
    names = [f"{n}.{end}" for n in ("1-1", "2-1") for end in ("in", "out")]
    problem = read(
        "subtasks: [{id: 1, score: 40}, {id: 2, score: 60, if: [1], type: sum}]", names
    )
    assert [group.grading for group in groups(problem)] == [
        Subtask(40.0, Aggregation.MIN, whole_score_only=False),
        Subtask(60.0, Aggregation.SUM, ("subtask1",), whole_score_only=False),
    ]


@pytest.mark.parametrize(
    ("total", "given", "expected"),
    [
        (100, [None] * 3, [33, 33, 34]),
        (100, [None] * 7, [14, 14, 14, 14, 14, 15, 15]),
        (100, [40, None, None], [40, 30, 30]),
        (100, [60, 60, None], [60, 60, 0]),
        (10, [None] * 3, [3, 3, 4]),
        (100, [100], [100]),
        (100, [], []),
    ],
)
def test_remaining_points_are_distributed_in_whole_points(
    total: float, given: list[float | None], expected: list[float]
) -> None:
    assert shares(total, given) == expected


# ---- programs ----


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        ("testlib", ProtocolName.TESTLIB),
        ("kattis", ProtocolName.ICPC),
        ("syzoj", ProtocolName.SYZOJ),
        ("hustoj", ProtocolName.HUSTOJ),
        ("lemon", ProtocolName.LEMON),
        ("qduoj", ProtocolName.QDUOJ),
    ],
)
def test_a_checker_is_a_program(read: Read, kind: str, protocol: ProtocolName) -> None:
    config = f"checker_type: {kind}\nchecker: chk.cc\njudge_extra_files: [lib.h, chk.cc]\n"
    problem = read(config, files={"testdata/chk.cc": "", "testdata/lib.h": ""})
    program = JuryProgram("checker", "testdata/chk.cc", None, ("testdata/lib.h",))
    assert problem.checker == ProgramCheck((program,), protocol, PointsUnit.SHARE_OR_PERCENT)


def test_a_checker_may_name_its_language(read: Read) -> None:
    config = "checker_type: testlib\nchecker: {file: chk.cpp, lang: cc.cc17o2}\n"
    problem = read(config, files={"testdata/chk.cpp": ""})
    assert isinstance(problem.checker, ProgramCheck)
    assert problem.checker.programs[0].language == "cc.cc17o2"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("checker_type: strict", Comparison(mode=Compare.EXACT)),
        ("{checker_type: testlib, checker: wcmp}", Comparison(mode=Compare.TOKENS)),
        ("{checker_type: testlib, checker: rcmp}", Comparison(Compare.TOKENS, absolute=1.5e-6)),
        ("{checker_type: testlib, checker: yesno}", COMPARISONS["nyesno"]),
        ("{checker_type: testlib, checker: uncmp}", Comparison(mode=Compare.SORTED_TOKENS)),
    ],
)  # fmt: skip
def test_checkers_without_a_file_are_comparisons(
    read: Read, config: str, expected: Comparison
) -> None:
    assert read(config).checker == expected


def test_an_unused_checker_is_warned_of(read: Read) -> None:
    problem = read("checker: chk.cc", files={"testdata/chk.cc": ""})
    assert problem.checker == Comparison(mode=Compare.LINES)
    assert "'checker' is ignored" in problem.warnings[0]


def test_an_interactive_problem_has_an_interactor(read: Read) -> None:
    problem = read("type: interactive\ninteractor: talk.cc", files={"testdata/talk.cc": ""})
    program = JuryProgram("interactor", "testdata/talk.cc")
    unit = PointsUnit.SHARE_OR_PERCENT
    assert problem.interactor == ProgramCheck((program,), ProtocolName.TESTLIB, unit)


def test_a_validator_is_read(read: Read) -> None:
    problem = read("validator: val.cc", files={"testdata/val.cc": ""})
    program = JuryProgram("validator", "testdata/val.cc")
    assert problem.input_validators == (InputValidator(program, ProtocolName.TESTLIB),)


def test_contestants_may_submit_outputs(read: Read) -> None:
    assert read("type: submit_answer").submit_answer


def test_extra_files_are_added_to_submissions(read: Read, root: Path) -> None:
    files = {"testdata/grader.cpp": "g", "testdata/lib.h": "h"}
    problem = read("user_extra_files: [grader.cpp, lib.h]", files=files)
    assert problem.includes == {"default": ("_include",)}
    assert read_tree(root / "_include") == {"grader.cpp": b"g", "lib.h": b"h"}


# ---- what is refused ----


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("type: objective", "'type' has questions"),
        ("type: remote_judge", "'type' is judged by another site"),
        ("type: communication", "'type' runs several programs"),
        ("type: odd", "'type' is 'odd'"),
        ("redirect: system/1000", "'redirect' means"),
        ("template: {cc: [a, b]}", "'template' writes code"),
        ("answers: {1: [A, 5]}", "'answers' holds"),
        ("multi_pass: 2", "'multi_pass' asks"),
        ("chekcer: x", "is 'checker' meant?"),
        ("checker_type: ccr", "'checker_type' is 'ccr'"),
        ("checker_type: testlib", "'checker' is missing"),
        ("{checker_type: testlib, checker: chk.cc}", "'checker' names 'chk.cc'"),
        ("{checker_type: testlib, checker: pointscmp}", "'checker' is 'pointscmp'"),
        ("type: interactive", "'interactor' is missing"),
        ("time: soon", "'time' must be a time"),
        ("memory: lots", "'memory' must be a size"),
        ("filename: ../x", "'filename'"),
        ("user_extra_files: [../../x]", "'user_extra_files' can't be used"),
        ("cases: [{input: 9.in}]", "'cases.0.input' names '9.in'"),
        ("cases: [{input: 1.in, output: /etc/passwd}]", "'cases.0.output' can't be used"),
        ("cases: [{in: 1.in}]", "'cases.0.in' is not known"),
        (
            "subtasks: [{score: 1, if: [3], cases: [{input: 1.in, output: 1.out}]}]",
            "'subtasks.0.if' names subtask3",
        ),
        (
            "subtasks: [{score: 1, if: [1], cases: [{input: 1.in, output: 1.out}]}]",
            "depends on itself",
        ),
        ("subtasks: [{score: 1, type: avg, cases: [{input: 1.in}]}]", "'subtasks.0.type'"),
        ("[]", "must be a map"),
    ],
)
def test_unsupported_features_are_refused_by_key(read: Read, config: str, message: str) -> None:
    refusal = said(lambda: read(config))
    assert "testdata/config.yaml" in refusal
    assert message in refusal


def test_an_unknown_key_of_the_problem_is_refused(root: Path, read: Read) -> None:
    assert "problem.yaml: the key 'titel'" in said(
        lambda: read(files={"problem.yaml": "titel: x"})
    )


def test_a_problem_without_cases_is_refused(read: Read) -> None:
    assert "no test cases in testdata/" in said(lambda: read(names=["readme.txt"]))


def test_an_old_configuration_is_refused(read: Read) -> None:
    assert "config.ini" in said(lambda: read(files={"testdata/config.ini": "1\n"}))


def test_extra_files_of_one_name_are_refused(read: Read) -> None:
    files = {"testdata/a/lib.h": "1", "testdata/b/lib.h": "2"}
    message = said(lambda: read("user_extra_files: [a/lib.h, b/lib.h]", files=files))
    assert "two files of this name" in message
