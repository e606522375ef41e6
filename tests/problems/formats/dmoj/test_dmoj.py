"""Problems of the DMOJ judge."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.expectation import CaseRule
from deemster.domain.problem import (
    Aggregation,
    Case,
    Checker,
    Compare,
    Comparison,
    Group,
    JuryProgram,
    PointsUnit,
    Problem,
    ProgramCheck,
    ProtocolName,
    Statement,
    Subtask,
)
from deemster.domain.verdict import Verdict
from deemster.problems.archive import Bounds
from deemster.problems.formats.dmoj import patterns, prepare, read_package
from tests.problems.trees import read_tree, write_tree

Read = Callable[..., Problem]
CASES = (
    "test_cases:\n- {in: 1.in, out: 1.out, points: 5}\n- {in: 2.in, out: 2.out, points: 10}\n"
)
FILES = {"1.in": "1\n", "1.out": "1\n", "2.in": "2\n", "2.out": "2\n"}


def zipped(files: Mapping[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "aplusb", FILES)


@pytest.fixture
def read(root: Path) -> Read:
    def prepare_and_read(init: str, files: Mapping[str, str | bytes] | None = None) -> Problem:
        write_tree(root, {"init.yml": init, **(files or {})})
        prepare(root, Bounds())
        once = read_tree(root)
        prepare(root, Bounds())
        assert read_tree(root) == once
        return read_package(root)

    return prepare_and_read


def said(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return str(caught.value)


def items(problem: Problem) -> list[tuple[str, Subtask]]:
    found = []
    for group in problem.tests.groups():
        assert isinstance(group.grading, Subtask)
        found.append((group.name, group.grading))
    return found


# ---- the whole ----


def test_a_plain_problem_is_read_whole(read: Read) -> None:
    problem = read(CASES + "hints: [unicode]\n", {"statement.md": "# A plus B"})
    assert (problem.slug, problem.format, problem.names) == ("aplusb", "dmoj", {"en": "aplusb"})
    assert problem.checker == Comparison(mode=Compare.TOKENS)
    assert problem.scoring
    assert problem.tests.grading == Subtask(15.0, Aggregation.SUM, whole_score_only=False)
    assert [(c.name, c.input, c.answer, c.points) for c in problem.tests.cases()] == [
        ("1", "1.in", "1.out", 5.0),
        ("2", "2.in", "2.out", 10.0),
    ]
    assert problem.limits.time_ms == 2_000
    assert problem.limits.memory_bytes == 256 << 20
    assert problem.limits.output_bytes == 25_165_824
    assert problem.statements == (Statement("en", "md", "statement.md", "aplusb"),)
    assert problem.warnings == (
        "init.yml has no limits, which DMOJ keeps elsewhere: 2 s and 256 MB are assumed.",
    )


def test_an_archive_with_test_data_is_unpacked(read: Read, root: Path) -> None:
    init = "archive: data.zip\ntest_cases:\n- {in: d/a.in, out: 1.out, points: 1}\n"
    problem = read(init, {"data.zip": zipped({"d/a.in": "x\n", "1.out": "from archive"})})
    case = next(problem.tests.cases())
    assert (case.input, case.answer) == ("_archive/d/a.in", "1.out")
    assert not (root / "data.zip").exists()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"no zip", "not a directory and not a known archive"),
        (zipped({"../x": "y"}), "outside of itself"),
        (None, "names 'data.zip', which is not there"),
    ],
)
def test_a_bad_archive_is_refused(read: Read, archive: bytes | None, message: str) -> None:
    files = {} if archive is None else {"data.zip": archive}
    assert message in said(lambda: read("archive: data.zip\n" + CASES, files))


def test_an_archive_is_bounded_like_the_package(root: Path) -> None:
    write_tree(root, {"init.yml": "archive: a.zip\n" + CASES})
    write_tree(root, {"a.zip": zipped({"a": "x" * 100})})
    assert "DEEMSTER_PACKAGE_MB" in said(lambda: prepare(root, Bounds(total_bytes=99)))


def test_reserved_names_are_refused(read: Read) -> None:
    files = {"a.zip": zipped({"a": ""}), "_archive/x": ""}
    assert "is reserved" in said(lambda: read("archive: a.zip\n" + CASES, files))


def test_all_line_endings_become_lf(read: Read, root: Path) -> None:
    read(CASES, {"1.in": b"a\r\nb\rc", "1.out": b"\r\n\r", "2.in": b"", "2.out": b"x\n"})
    found = read_tree(root)
    assert found["1.in"] == b"a\nb\nc\n"
    assert found["1.out"] == b"\n\n"
    assert found["2.in"] == b""
    assert found["2.out"] == b"x\n"


def test_line_endings_of_long_files_are_converted_across_chunks(read: Read, root: Path) -> None:
    text = b"x" * ((1 << 20) - 1) + b"\r\n" + b"y" * 10 + b"\r\n"
    read(CASES, {"1.in": text})
    assert read_tree(root)["1.in"] == text.replace(b"\r\n", b"\n")


def test_binary_data_is_not_changed(read: Read, root: Path) -> None:
    init = "test_cases:\n- {in: 1.in, out: 1.out, binary_data: true}\n- {in: 2.in, out: 2.out}"
    read(init, {"1.in": b"a\r\n", "2.in": b"a\r\n"})
    assert read_tree(root)["1.in"] == b"a\r\n"
    assert read_tree(root)["2.in"] == b"a\n"
    read("binary_data: true\n" + CASES, {"2.out": b"\r\n"})
    assert read_tree(root)["2.out"] == b"\r\n"


def test_problems_may_use_files_instead_of_stdin_and_stdout(read: Read) -> None:
    problem = read(CASES + "file_io: {input: a.inp, output: a.out}")
    assert (problem.input_file, problem.output_file) == ("a.inp", "a.out")
    message = said(lambda: read(CASES + "file_io: {input: /etc/x}"))
    assert "'file_io.input'" in message


def test_a_case_without_files_reads_and_writes_nothing(read: Read, root: Path) -> None:
    case = next(read("test_cases:\n- {points: 100}\n").tests.cases())
    assert case.input == ""
    assert (root / case.answer).read_bytes() == b""


def test_cases_may_have_their_own_limits(read: Read) -> None:
    init = """
points: 1
memory_limit: 65536
test_cases:
- {batched: [{in: 1.in, out: 1.out, time_limit: 0.5}], memory_limit: 1024}
- {in: 2.in, out: 2.out}
"""
    problem = read(init)
    limits = [(case.time_ms, case.memory_bytes) for case in problem.tests.cases()]
    assert limits == [(500, 1 << 20), (None, 64 << 20)]
    assert problem.limits.memory_bytes == 64 << 20


# ---- batches and pretests ----


def test_a_batch_earns_the_lowest_share_of_its_cases(read: Read) -> None:
    problem = read("""
out: 1.out
test_cases:
- {in: 1.in, points: 10}
- batched: [{in: 1.in}, {in: 2.in, out: 2.out}]
  points: 20
- {batched: [{in: 2.in}], points: 30, dependencies: [1]}
""")
    assert items(problem) == [
        ("", Subtask(60.0, Aggregation.SUM, whole_score_only=False)),
        ("batch1", Subtask(20.0, Aggregation.MIN, whole_score_only=False)),
        ("batch2", Subtask(30.0, Aggregation.MIN, ("batch1",), whole_score_only=False)),
    ]
    first, batch, _ = problem.tests.items
    assert isinstance(first, Case)
    assert first.name == "1"
    assert isinstance(batch, Group)
    assert [(case.name, case.answer) for case in batch.cases()] == [
        ("batch1/2", "1.out"),
        ("batch1/3", "2.out"),
    ]


def test_entries_after_a_pretest_require_it(read: Read) -> None:
    problem = read("""
pretest_test_cases:
- {in: 1.in, out: 1.out, points: 7}
test_cases:
- {in: 1.in, out: 1.out, points: 5}
- {batched: [{in: 2.in, out: 2.out}], points: 0}
- {in: 2.in, out: 2.out, points: 5}
- {batched: [{in: 2.in, out: 2.out}], points: 5, dependencies: [1]}
""")
    nothing, some, least = Aggregation.ALL_OR_NOTHING, Aggregation.SUM, Aggregation.MIN
    pretests = ("case1", "batch1")
    assert items(problem)[1:] == [
        ("case1", Subtask(0.0, nothing, whole_score_only=False)),
        ("case2", Subtask(5.0, some, ("case1",), whole_score_only=False)),
        ("batch1", Subtask(0.0, nothing, ("case1",), whole_score_only=False)),
        ("case4", Subtask(5.0, some, pretests, whole_score_only=False)),
        ("batch2", Subtask(5.0, least, pretests, whole_score_only=False)),
    ]


def test_a_case_has_one_point_by_default(read: Read) -> None:
    problem = read("test_cases:\n- {in: 1.in, out: 1.out}\n- {in: 2.in, out: 2.out}")
    assert [case.points for case in problem.tests.cases()] == [1.0, 1.0]


# ---- cases by patterns ----


def test_cases_are_found_by_the_names_in_the_archive(read: Read) -> None:
    names = ["x.1.in", "x.1.out", "x.10.in", "x.10.out", "x.2.in", "x.2.out", "README.md"]
    problem = read("archive: a.zip\n", {"a.zip": zipped(dict.fromkeys(names, ""))})
    assert [case.input for case in problem.tests.cases()] == [
        "_archive/x.1.in",
        "_archive/x.2.in",
        "_archive/x.10.in",
    ]


def test_batches_are_found_by_file_names(read: Read) -> None:
    names = ["1.in", "1.out", "2.1.in", "2.1.out", "2.2.in", "2.2.out", "3.in", "3.out"]
    data = {"a.zip": zipped(dict.fromkeys(names, ""))}
    problem = read("archive: a.zip\ntest_cases: {case_points: [5, 10, 15]}\n", data)
    assert problem.tests.grading == Subtask(30.0, Aggregation.SUM, whole_score_only=False)
    assert [case.name for case in problem.tests.cases()] == ["1", "batch1/2", "batch1/3", "4"]


def test_patterns_can_be_given(read: Read) -> None:
    data = {"a.zip": zipped(dict.fromkeys(["q-a.txt", "a-a.txt", "q-b.txt", "a-b.txt"], ""))}
    init = """
archive: a.zip
points: 3
test_cases:
  input_format: ^q-(?P<case>\\w+)\\.txt$
  output_format: ^a-(?P<case>\\w+)\\.txt$
"""
    problem = read(init, data)
    assert [(case.answer, case.points) for case in problem.tests.cases()] == [
        ("_archive/a-a.txt", 3.0),
        ("_archive/a-b.txt", 3.0),
    ]


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("{input_format: '('}", "'test_cases.input_format' is no pattern"),
        ("{output_format: '.*'}", "without a group called 'case'"),
        ("{case_points: [1]}", "'test_cases.case_points' has fewer numbers"),
        ("{intput_format: x}", "is 'input_format' meant?"),
    ],
)
def test_bad_patterns_are_refused_by_key(read: Read, cases: str, message: str) -> None:
    names = ["1.in", "1.out", "2.in", "2.out"]
    init = f"archive: a.zip\ntest_cases: {cases}\n"
    data = {"a.zip": zipped(dict.fromkeys(names, ""))}
    assert message in said(lambda: read(init, data))


def test_files_that_claim_the_same_case_are_refused(read: Read) -> None:
    data = {"a.zip": zipped(dict.fromkeys(["a1.in", "b1.in"], ""))}
    message = said(lambda: read("archive: a.zip\n", data))
    assert "finds 'a1.in' and 'b1.in' for the same case" in message


def test_a_pattern_that_takes_forever_is_refused(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "TIMEOUT_S", 1)
    init = "archive: a.zip\ntest_cases: {input_format: '(?P<case>(a+)+)$'}\n"
    data = {"a.zip": zipped({"a" * 60 + "b": ""})}
    assert "simplify it" in said(lambda: read(init, data))


def test_without_an_archive_cases_must_be_listed(read: Read) -> None:
    assert "'test_cases' lists no cases" in said(lambda: read("points: 1\n"))


# ---- checkers ----


NEAR_ABSOLUTELY = Comparison(mode=Compare.TOKENS, absolute=1e-3)
NEAR_RELATIVELY = Comparison(mode=Compare.TOKENS, relative=1e-6)


def checker(read: Read, text: str, files: Mapping[str, str] | None = None) -> Checker:
    return read(f"{CASES}checker: {text}\n", files).checker


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("standard", Comparison(mode=Compare.TOKENS)),
        ("identical", Comparison(mode=Compare.EXACT)),
        ("{name: identical, args: {pe_allowed: false}}", Comparison(mode=Compare.EXACT)),
        ("rstripped", Comparison(mode=Compare.LINES)),
        ("sorted", Comparison(mode=Compare.SORTED_LINES)),
        ("{name: sorted, args: {split_on: whitespace}}", Comparison(Compare.SORTED_TOKENS)),
        ("unordered", Comparison(mode=Compare.SORTED_TOKENS)),
        ("floats", Comparison(Compare.TOKENS, absolute=1e-6, relative=1e-6)),
        ("{name: floats, args: {precision: 3, error_mode: absolute}}", NEAR_ABSOLUTELY),
        ("{name: floats, args: {error_mode: relative}}", NEAR_RELATIVELY),
        ("floatsabs", Comparison(Compare.TOKENS, absolute=1e-6)),
        ("{name: floatsrel, args: {precision: 4}}", Comparison(Compare.TOKENS, relative=1e-4)),
    ],
)  # fmt: skip
def test_built_in_checkers_are_comparisons(read: Read, text: str, expected: Comparison) -> None:
    assert checker(read, text) == expected


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        ("", ProtocolName.DMOJ),
        ("type: default", ProtocolName.DMOJ),
        ("type: testlib", ProtocolName.TESTLIB),
        ("type: coci", ProtocolName.DMOJ_COCI),
        ("type: peg", ProtocolName.DMOJ_PEG),
    ],
)
def test_a_bridged_checker_is_a_program(read: Read, kind: str, protocol: ProtocolName) -> None:
    init = f"""{CASES}
checker:
  name: bridged
  args:
    files: [check.cpp, help.h]
    lang: CPP17
    time_limit: 5
    memory_limit: 1024
    flags: [-O2, -std=c++17]
    {kind}
"""
    problem = read(init, {"check.cpp": "", "help.h": ""})
    program = JuryProgram("checker", "check.cpp", "CPP17", ("help.h",))
    assert problem.checker == ProgramCheck((program,), protocol)
    assert problem.limits.validation_ms == 5_000
    assert problem.limits.validation_memory_bytes == 1 << 20


def test_points_of_a_bridged_checker_may_be_percent(read: Read) -> None:
    args = "{files: c.cpp, lang: C, type: testlib, treat_checker_points_as_percentage: true}"
    found = checker(read, f"{{name: bridged, args: {args}}}", {"c.cpp": ""})
    assert isinstance(found, ProgramCheck)
    assert found.points_unit is PointsUnit.PERCENT


def test_our_own_program_calls_a_python_checker(read: Read) -> None:
    found = checker(read, "{name: check.py, args: {b: 1, a: [x]}}", {"check.py": ""})
    program = JuryProgram(
        "checker",
        "_checkers/main.py",
        "python3",
        resources=("check.py",),
        args=("check.py", '{"a": ["x"], "b": 1}'),
    )
    assert found == ProgramCheck((program,), ProtocolName.ICPC)


def test_a_python_checker_can_not_have_a_reserved_name(read: Read) -> None:
    with pytest.raises(Refused, match="which is reserved"):
        checker(read, "main.py", {"main.py": ""})


def test_a_case_may_have_its_own_checker(read: Read) -> None:
    problem = read("""
test_cases:
- {in: 1.in, out: 1.out, checker: identical}
- {batched: [{in: 2.in, out: 2.out}], checker: sorted}
- {in: 2.in, out: 2.out}
""")
    found = [case.checker for case in problem.tests.cases()]
    expected = [Comparison(Compare.EXACT), Comparison(Compare.SORTED_LINES), None]
    assert found == expected


def run_native(root: Path, found: Checker, output: str, tmp_path: Path) -> tuple[int, str]:
    """As our own judge calls it."""
    assert isinstance(found, ProgramCheck)
    assert found.protocol is ProtocolName.ICPC
    program = found.programs[0]
    paths = [str(root / "1.in"), str(root / "1.out")]
    argv = [sys.executable, str(root / program.path), *program.args, *paths]
    feedback = tmp_path / "feedback"
    feedback.mkdir(exist_ok=True)
    share = feedback / "score_multiplier.txt"
    share.unlink(missing_ok=True)
    ended = subprocess.run(
        [*argv, f"{feedback}/"], input=output.encode(), check=False, stderr=subprocess.PIPE
    )
    return ended.returncode, share.read_text() if share.exists() else ""


def test_easy_compares_letters(read: Read, root: Path, tmp_path: Path) -> None:
    found = checker(read, "easy", {"1.out": "Hello World\n"})
    assert run_native(root, found, "dlrow OLLEH", tmp_path) == (42, "")
    assert run_native(root, found, "dlrow OLLE", tmp_path) == (43, "")


def test_linecount_gives_points_for_lines(read: Read, root: Path, tmp_path: Path) -> None:
    found = checker(read, "linecount", {"1.out": "a\nb\n\nc\nd\n"})
    assert run_native(root, found, "a\nb\nc \nd", tmp_path) == (42, "")
    assert run_native(root, found, "a\nx\nc\r\n", tmp_path) == (42, "0.5")
    assert run_native(root, found, "x", tmp_path) == (43, "")
    assert run_native(root, found, "a\nb\nc\nd\ne", tmp_path) == (43, "")


def test_linematches_gives_the_points_of_lines(read: Read, root: Path, tmp_path: Path) -> None:
    text = "{name: linematches, args: {point_distribution: [3, 1]}}"
    found = checker(read, text, {"1.out": "a\nb\n"})
    assert run_native(root, found, "a\nb\n", tmp_path) == (42, "")
    assert run_native(root, found, "a\nx\n", tmp_path) == (42, "0.75")
    assert run_native(root, found, "a\n", tmp_path) == (43, "")
    assert run_native(root, found, "x\ny\n", tmp_path) == (43, "")
    wrong = checker(read, "linematches", {"1.out": "a\nb\n"})
    assert run_native(root, wrong, "a\n", tmp_path)[0] not in {42, 43}


# ---- interactors ----


def test_a_bridged_interactor_decides(read: Read) -> None:
    init = (
        CASES + "unbuffered: true\ninteractive: {files: talk.cpp, type: testlib, lang: CPP17}"
    )
    problem = read(init, {"talk.cpp": ""})
    program = JuryProgram("interactor", "talk.cpp", "CPP17")
    assert problem.interactor == ProgramCheck((program,), ProtocolName.TESTLIB)
    assert any("'unbuffered' is ignored" in warning for warning in problem.warnings)


def test_an_interactor_needs_no_answer(read: Read) -> None:
    init = "interactive: {files: talk.cpp}\nchecker: identical\ntest_cases: [{in: 1.in}]"
    problem = read(init, {"talk.cpp": ""})
    assert next(problem.tests.cases()).answer == ""
    assert any("'checker' is ignored" in warning for warning in problem.warnings)


# ---- found submissions ----


def found(read: Read, text: str) -> Problem:
    head = "language: PY3\ntime: 3\nmemory: 65536\nsource: a.py\n"
    return read(CASES, {"tests/one/test.yml": head + text, "tests/one/a.py": "print(1)"})


def test_submissions_in_tests_have_expected_codes(read: Read) -> None:
    problem = found(read, "expect: WA\n")
    example = problem.submissions[0]
    assert (example.path, example.label, example.language) == ("tests/one/a.py", "WA", "PY3")
    wrong = frozenset({Verdict.WRONG_ANSWER, Verdict.PARTIAL})
    assert example.expectation.rules == (CaseRule(permitted=wrong),)
    assert problem.limits.time_ms == 3_000
    assert problem.limits.memory_bytes == 64 << 20
    assert problem.warnings == ()


def test_without_a_code_all_cases_are_expected_to_pass(read: Read) -> None:
    expectation = found(read, "").submissions[0].expectation
    right = frozenset({Verdict.ACCEPTED, Verdict.PARTIAL})
    assert expectation.verdicts == (Verdict.ACCEPTED, Verdict.PARTIAL)
    assert expectation.rules == (CaseRule(permitted=right),)


def test_cases_may_have_their_own_codes(read: Read) -> None:
    expectation = found(read, "cases: [AC, [TLE, SC]]\n").submissions[0].expectation
    right = frozenset({Verdict.ACCEPTED, Verdict.PARTIAL})
    slow = frozenset({Verdict.TIME_LIMIT})
    assert expectation.rules == (CaseRule("1", right), CaseRule("2", slow))
    expectation = found(read, "expect: RTE\ncases: {2: AC}").submissions[0].expectation
    crashed = frozenset({Verdict.RUNTIME_ERROR})
    assert expectation.rules == (CaseRule("1", crashed), CaseRule("2", right))


def test_a_compile_error_is_expected_of_the_whole_submission(read: Read) -> None:
    expectation = found(read, "expect: CE\n").submissions[0].expectation
    assert expectation.verdicts == (Verdict.COMPILE_ERROR,)
    assert expectation.rules == ()


def test_expected_points_are_ignored(read: Read) -> None:
    [example] = found(read, "expect: AC\npoints: 1\npoints_cases: {1: 1}\n").submissions
    assert example.label == "AC"


def test_later_files_override_and_skipped_tests_are_left_out(read: Read) -> None:
    files = {
        "tests/one/test.yml": "{language: PY3, time: 1, memory: 1, source: a.py, expect: AC}",
        "tests/one/test.linux.yml": "expect: TLE",
        "tests/one/a.py": "",
        "tests/two/test.yml": "{language: C, time: 1, memory: 1, source: a.c, skip: true}",
        "tests/three/notes.txt": "",
    }
    assert [each.label for each in read(CASES, files).submissions] == ["TLE"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expect: GOOD\n", "the code 'GOOD'"),
        ("cases: [AC, XX]\n", "'cases.2' has the code 'XX'"),
        ("expected: AC\n", "is 'expect' meant?"),
        ("source: b.py\n", "appears twice"),
    ],
)
def test_an_invalid_test_file_is_refused_by_file_and_key(
    read: Read, text: str, message: str
) -> None:
    refusal = said(lambda: found(read, text))
    assert "tests/one/test.yml" in refusal
    assert message in refusal


def test_a_source_that_is_missing_is_refused(read: Read) -> None:
    test = {"tests/x/test.yml": "{language: PY3, time: 1, memory: 1, source: no.py}"}
    assert "'source' names 'no.py'" in said(lambda: read(CASES, test))
    test = {"tests/x/test.yml": "{language: PY3, time: 1, memory: 1, source: ../../../x}"}
    assert "outside of itself" in said(lambda: read(CASES, test))


# ---- what is refused ----


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (CASES + "custom_judge: grade.py", "'custom_judge' is a grader in Python"),
        (CASES + "signature_grader: {entry: a.c, header: b.h}", "'signature_grader' changes"),
        (CASES + "symlinks: {a: /dev/stdin}", "'symlinks' puts links"),
        (CASES + "checkr: standard", "is 'checker' meant?"),
        (CASES + "checker: wonderful", "the checker 'wonderful'"),
        (CASES + "checker: {name: floats, args: {precison: 3}}", "'checker.args.precison'"),
        (
            CASES + "checker: {name: floats, args: {precision: many}}",
            "'checker.args.precision'",
        ),
        (CASES + "checker: {name: standard, arg: {}}", "'checker.arg' is not known"),
        (CASES + "checker: {args: {}}", "'checker.name' must name"),
        (CASES + "checker: missing.py", "names 'missing.py'"),
        (CASES + "checker: {name: linecount, args: {match: 'lambda p, j: True'}}", ".match'"),
        (CASES + "checker: {name: bridged, args: {files: 1.in, type: odd}}", "is 'odd'"),
        (CASES + "checker: {name: bridged, args: {files: 1.in, flags: [-DX]}}", "'-DX'"),
        (
            CASES + "checker: {name: bridged, args: {files: 1.in, args_format_string: x}}",
            "args_format_string'",
        ),
        (CASES + "interactive: {files: 1.in, type: peg}", "'interactive.type'"),
        (CASES + "interactive: {files: []}", "'interactive.files'"),
        (CASES + "interactive: {lang: C}", "'interactive.files' is missing"),
        ("test_cases++: |\n  node = []\n", "'test_cases++' is Python code"),
        ("test_cases:\n- {in+: 'f()'}", "'test_cases.0.in+' is Python code"),
        ("test_cases: []", "no test cases"),
        ("test_cases:\n- {in: 9.in}", "'test_cases.0.in' names '9.in'"),
        ("test_cases:\n- {in: ../x}", "'test_cases.0.in' can't be used"),
        ("test_cases:\n- {in: 1.in, output: 1.out}", "'test_cases.0.output' is not known"),
        ("test_cases:\n- {in: 1.in, points: -1}", "'test_cases.0.points'"),
        ("test_cases:\n- {in: 1.in, dependencies: [1]}", "only for batches"),
        ("test_cases:\n- {batched: [{in: 1.in}], dependencies: [1]}", "names batch 1"),
        ("test_cases:\n- {batched: []}", "holds no case"),
        ("test_cases:\n- {batched: [{batched: []}]}", "one level only"),
        ("generator: gen.cpp\ntest_cases:\n- {in: 1.in}", "'test_cases.0.generator' makes"),
        ("test_cases:\n- {generator: gen.cpp, generator_args: [1]}", "run it, and give"),
        ("[]", "must be a map"),
        ("{", "not valid YAML"),
    ],
)
def test_unsupported_features_are_refused_by_key(read: Read, init: str, message: str) -> None:
    refusal = said(lambda: read(init))
    assert "init.yml" in refusal
    assert message in refusal


def test_all_unsupported_keys_are_named_at_once(read: Read) -> None:
    refusal = said(lambda: read(CASES + "custom_judge: a.py\nsymlinks: {a: /dev/stdin}"))
    assert "'custom_judge' is a grader" in refusal
    assert "The same holds for symlinks." in refusal


def test_keys_without_effect_are_named_once_for_the_package(read: Read) -> None:
    cases = "".join(f"- {{in: 1.in, out: 1.out, wall_time_factor: {n}}}\n" for n in (2, 3))
    test = "{language: PY3, time: 1, memory: 1, source: a.py, score: 1, points_cases: [1]}"
    files = {"tests/x/test.yml": test, "tests/x/a.py": "", "tests/y/test.yml": test}
    files["tests/y/a.py"] = ""
    problem = read(f"output_prefix_length: 9\ntest_cases:\n{cases}", files)
    named = [text for text in problem.warnings if "keys" in text]
    assert named == [
        "init.yml: these keys have no effect here: output_prefix_length, wall_time_factor.",
        "tests/*/test.yml: these keys are not compared with the results: points_cases, score.",
    ]


def test_an_unused_generator_is_ignored(read: Read) -> None:
    assert read("generator: gen.cpp\n" + CASES).tests.items
