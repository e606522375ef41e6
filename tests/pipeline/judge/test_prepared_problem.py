"""Judges submissions to a small problem: verdicts, checkers, passes, files and groups."""

import resource
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.judgement import CaseSoFar, JuryJudgement, for_contestant
from deemster.domain.limits import MIB
from deemster.domain.problem import (
    Aggregation,
    Case,
    CustomGrader,
    Group,
    JuryProgram,
    PointsUnit,
    Problem,
    ProgramCheck,
    ProtocolName,
    StaticCheck,
    Subtask,
)
from deemster.domain.run_status import RunStatus
from deemster.domain.scoring import GivenScore
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.programs import JuryFault
from deemster.pipeline.judge.jury.protocols import with_unit
from tests.pipeline.judge.sum_problem import (
    judge,
    judge_source,
    prepare,
    sum_problem,
    with_validator,
    write_files,
)

RIGHT = "print(sum(map(int, input().split())))"


def verdicts(judgement: JuryJudgement) -> list[Verdict | None]:
    return [case.verdict for case in judgement.cases]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (RIGHT, Verdict.ACCEPTED),
        ("print(1)", Verdict.WRONG_ANSWER),
        ("pass", Verdict.WRONG_ANSWER),
        ("import sys; print(sum(map(int, input().split())), file=sys.stderr)", "Wrong Answer"),
        ("while True: pass", Verdict.TIME_LIMIT),
        ("import time; time.sleep(60)", Verdict.TIME_LIMIT),
        ("x = bytearray(1 << 30); x[::4096] = x[::4096]", Verdict.MEMORY_LIMIT),
        ("while True: print('x' * 4096)", Verdict.OUTPUT_LIMIT),
        (f"{RIGHT}; raise SystemExit(3)", Verdict.RUNTIME_ERROR),
        ("import os; os.kill(os.getpid(), 11)", Verdict.RUNTIME_ERROR),
        ("import socket; socket.socket()", Verdict.RUNTIME_ERROR),
        ("print(", Verdict.COMPILE_ERROR),
    ],
)
async def test_each_way_a_program_ends_has_its_verdict(
    tmp_path: Path, text: str, verdict: Verdict
) -> None:
    """A3, J7."""
    problem = sum_problem(tmp_path / "package")
    problem = replace(problem, limits=replace(problem.limits, time_ms=300))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, text)
    assert judgement.verdict == verdict
    assert judgement.compiled is not None
    assert "CPython" in judgement.compiled.version


async def test_judging_stops_at_the_first_failure(tmp_path: Path) -> None:
    """J3."""
    async with prepare(tmp_path, sum_problem(tmp_path / "package", 9)) as prepared:
        judgement = await judge(
            prepared, "n = sum(map(int, input().split())); print(min(n, 6))"
        )
    assert verdicts(judgement) == [Verdict.ACCEPTED] * 3 + [Verdict.WRONG_ANSWER] + [None] * 5
    assert judgement.failed_case is not None
    assert judgement.failed_case.number == 4


async def test_two_lanes_give_the_same_verdicts_as_one(tmp_path: Path) -> None:
    """J10, A11: while it runs, nothing is told of cases that ran ahead and do not count."""
    told: list[CaseSoFar] = []
    problem = sum_problem(tmp_path / "package", 40)
    text = "n = sum(map(int, input().split())); print(min(n, 60))"
    async with prepare(tmp_path, problem, lanes=2) as prepared:
        one = await judge(prepared, text, width=1)
        two = await judge(prepared, text, width=2, on_case=told.append)
    assert verdicts(one) == verdicts(two)
    counted = [each for each in for_contestant(two).cases if each.verdict is not None]
    assert [(each.number, each.verdict, each.cpu_ms, each.memory_kb) for each in told] == [
        (each.number, each.verdict, each.cpu_ms, each.memory_kb) for each in counted
    ]


async def test_a_contestant_sees_samples_but_nothing_of_hidden_cases(tmp_path: Path) -> None:
    """A2, A11."""
    async with prepare(tmp_path, sum_problem(tmp_path / "package")) as prepared:
        sample = for_contestant(await judge(prepared, "print(77)"))
        hidden = for_contestant(
            await judge(prepared, "n = int(input()[0]); print(2 if n < 2 else 77)")
        )
        crash = "import sys; print(7); print('why', file=sys.stderr); [][1]"
        crashed = for_contestant(await judge(prepared, crash))
    assert crashed.failed_case is not None
    assert crashed.failed_case.got == "7\n"
    lines = (crashed.failed_case.stderr or "").splitlines()
    assert (lines[0], lines[-1]) == ("why", "IndexError: list index out of range")
    assert sample.failed_case is not None
    assert (sample.failed_case.got, sample.failed_case.expected) == ("77\n", "2\n")
    assert hidden.failed_case is not None
    assert hidden.failed_case.got is hidden.failed_case.stderr is None
    assert "4" not in repr(hidden.failed_case.expected)


CHECK = """
import sys
from pathlib import Path
expected = Path(sys.argv[2]).read_text().split()
got = sys.stdin.read().split()
Path(sys.argv[3], "judgemessage.txt").write_text("looked at " + sys.argv[1])
Path(sys.argv[3], "teammessage.txt").write_text("be kind")
sys.exit(42 if expected == got else 43)
"""


async def test_a_validator_decides_and_writes_messages(tmp_path: Path) -> None:
    """J4: custom checkers run in the sandbox."""
    root = tmp_path / "package"
    async with prepare(tmp_path, with_validator(root, sum_problem(root), CHECK)) as prepared:
        right, wrong = await judge(prepared, RIGHT), await judge(prepared, "print(1)")
    assert right.verdict is Verdict.ACCEPTED
    assert wrong.verdict is Verdict.WRONG_ANSWER
    assert wrong.cases[0].message.reveal() == "looked at /data/data/1.in"
    assert wrong.cases[0].team_message == "be kind"


@pytest.mark.parametrize(
    "text",
    [
        "raise SystemExit(0)",
        "raise SystemExit(1)",
        "import os; os.abort()",
        "while True: pass",
        "x = bytearray(1 << 30); x[::4096] = x[::4096]",
        "while True: print('x' * 9999)",
        "import socket; socket.socket()",
        "open('/work/feedback/judgemessage.txt', 'w').write('x' * 10); raise SystemExit(44)",
        "import os, sys; os.symlink('/etc/passwd', sys.argv[3] + 'score.txt'); sys.exit(42)",
        "import sys; open(sys.argv[3] + 'score.txt', 'w').write('many'); sys.exit(42)",
    ],
)
async def test_a_validator_that_fails_is_a_judge_error(tmp_path: Path, text: str) -> None:
    """J4: a crashing checker is a Judge Error, not a verdict."""
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root), text)
    limits = replace(problem.limits, validation_ms=300, validation_memory_bytes=64 * MIB)
    async with prepare(tmp_path, replace(problem, limits=limits)) as prepared:
        judgement = await judge(prepared, RIGHT)
    assert judgement.verdict is Verdict.JUDGE_ERROR
    assert judgement.fault


async def test_a_validator_that_does_not_compile_is_named(tmp_path: Path) -> None:
    root = tmp_path / "package"
    with pytest.raises(JuryFault, match=r"check\.cpp doesn't compile"):
        async with prepare(
            tmp_path, with_validator(root, sum_problem(root), "int main( {", "check.cpp"), "cpp"
        ):
            pass


async def test_the_output_of_a_failed_program_is_not_checked(tmp_path: Path) -> None:
    root = tmp_path / "package"
    async with prepare(
        tmp_path, with_validator(root, sum_problem(root), "raise SystemExit(0)")
    ) as prepared:
        judgement = await judge(prepared, "raise SystemExit(1)")
    assert judgement.verdict is Verdict.RUNTIME_ERROR


PASSES = """
import sys
from pathlib import Path
feedback = Path(sys.argv[3])
state = feedback / "state"
seen = state.read_text() if state.exists() else ""
given = Path(sys.argv[1]).read_text().strip()
got = sys.stdin.read().strip()
if not seen:
    state.write_text(given)
    (feedback / "nextpass.in").write_text("again " + got)
    sys.exit(42)
sys.exit(42 if given == "again " + got and seen == "1 1" else 43)
"""


async def test_a_second_pass_reads_the_input_that_the_validator_wrote(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root, 1), PASSES)
    problem = replace(problem, limits=replace(problem.limits, passes=2))
    echo = "a = input().split(); print(a[1] if a[0] == 'again' else 'secret')"
    async with prepare(tmp_path, problem) as prepared:
        right = await judge(prepared, echo)
        wrong = await judge(prepared, "print('secret' if 'again' not in input() else 'lost')")
        once = await judge(prepared, "print(input())")
    assert right.verdict is Verdict.ACCEPTED
    assert wrong.verdict is Verdict.WRONG_ANSWER
    assert once.verdict is Verdict.WRONG_ANSWER


@pytest.mark.parametrize(("code", "passes"), [(42, 2), (43, 3)])
async def test_too_many_passes_and_passes_after_a_rejection_are_judge_errors(
    tmp_path: Path, code: int, passes: int
) -> None:
    root = tmp_path / "package"
    text = f"import sys; open(sys.argv[3] + 'nextpass.in', 'w').write('1 1'); sys.exit({code})"
    problem = with_validator(root, sum_problem(root, 1), text)
    problem = replace(problem, limits=replace(problem.limits, passes=passes))
    async with prepare(tmp_path, problem) as prepared:
        assert (await judge(prepared, RIGHT)).verdict is Verdict.JUDGE_ERROR


async def test_a_program_may_read_and_write_named_files(tmp_path: Path) -> None:
    problem = replace(sum_problem(tmp_path / "package"), input_file="a.in", output_file="a.out")
    text = "print(sum(map(int, open('a.in').read().split())), file=open('a.out', 'w'))"
    async with prepare(tmp_path, problem) as prepared:
        right = await judge(prepared, text)
        missing = await judge(prepared, "pass")
        link = await judge(prepared, "import os; os.symlink('a.in', 'a.out')")
    assert right.verdict is Verdict.ACCEPTED
    assert missing.verdict is Verdict.WRONG_ANSWER
    assert link.verdict is Verdict.WRONG_ANSWER


async def test_x12_a_submission_can_not_take_the_place_of_the_input_file(
    tmp_path: Path,
) -> None:
    problem = replace(sum_problem(tmp_path / "package", 1), input_file="a.in")
    text = b"print(sum(map(int, open('a.in').read().split())), open('b/c').read())"
    files = {"main.py": text, "a.in/x": b"", "a.in": b"5 5", "b/c": b""}
    async with prepare(tmp_path, problem) as prepared:
        for name in ("a.in/x", "a.in"):
            chosen = {each: files[each] for each in ("main.py", "b/c", name)}
            judgement = await judge_source(prepared, Source(chosen))
            assert judgement.verdict is Verdict.ACCEPTED, name


async def test_files_and_arguments_of_a_case_reach_the_program(tmp_path: Path) -> None:
    root = tmp_path / "package"
    write_files(root, {"data/extra/words.txt": "hello\n", "data/1.ans": "hello there\n"})
    case = Case(
        "secret/1",
        "",
        "data/1.ans",
        args=("there",),
        files={"in/words.txt": "data/extra/words.txt"},
    )
    problem = replace(sum_problem(root, 0), tests=Group("", (case,)))
    text = "import sys; print(open('in/words.txt').read().strip(), sys.argv[1])"
    write_files(root, {"data/1.ans": "hello there\n"})
    async with prepare(tmp_path, problem) as prepared:
        assert (await judge(prepared, text)).verdict is Verdict.ACCEPTED


async def test_submitted_answers_are_judged_without_running_a_program(
    tmp_path: Path,
) -> None:
    problem = replace(sum_problem(tmp_path / "package"), submit_answer=True)
    answers = {f"secret/{n}.out": f"{2 * n}\n".encode() for n in (2, 3)} | {"1.ans": b"2"}
    async with prepare(tmp_path, problem) as prepared:
        right = await judge_source(prepared, Source(answers), "text")
        incomplete = await judge_source(prepared, Source({"1.ans": b"2"}), "text")
    assert right.verdict is Verdict.ACCEPTED
    assert verdicts(incomplete) == [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, None]


def subtasks(problem: Problem) -> Problem:
    sample, *secret = problem.tests.cases()
    half = len(secret) // 2
    low = Group("secret/low", tuple(secret[:half]), Subtask(40))
    high = Group("secret/high", tuple(secret[half:]), Subtask(60, requires=("secret/low",)))
    groups = (
        Group("sample", (sample,), Subtask(0)),
        Group("secret", (low, high), Subtask(100, Aggregation.SUM)),
    )
    return replace(
        problem, scoring=True, tests=Group("", groups, Subtask(100, Aggregation.SUM))
    )


@pytest.mark.parametrize(
    ("text", "verdict", "score", "skipped"),
    [
        (RIGHT, Verdict.ACCEPTED, 100, []),
        ("print(min(8, sum(map(int, input().split()))))", Verdict.PARTIAL, 40, []),
        (
            "n = sum(map(int, input().split())); print(n if n > 6 else 0)",
            Verdict.WRONG_ANSWER,
            0,
            ["secret/high"],
        ),
    ],
)
async def test_subtasks_give_points_and_may_require_other_subtasks(
    tmp_path: Path, text: str, verdict: Verdict, score: float, skipped: list[str]
) -> None:
    """A skipped subtask is shown as skipped, not as a wrong answer."""
    async with prepare(tmp_path, subtasks(sum_problem(tmp_path / "package", 7))) as prepared:
        judgement = await judge(prepared, text)
    assert (judgement.verdict, judgement.score) == (verdict, score)
    assert judgement.max_score == 100
    names = [group.name for group in judgement.groups]
    assert names == ["sample", "secret/low", "secret/high", "secret", ""]
    assert [group.name for group in judgement.groups if group.verdict is None] == skipped


async def test_a_custom_grader_computes_the_score(tmp_path: Path) -> None:
    root = tmp_path / "package"
    text = "import sys; n = sum('AC' in line for line in sys.stdin); print('AC', n * 10)"
    write_files(root, {"graders/g.py": text})
    problem = sum_problem(root, 4)
    tests = replace(
        problem.tests, grading=CustomGrader(), stop_at_reject=False, lowest=0, highest=40
    )
    problem = replace(
        problem, tests=tests, scoring=True, grader=JuryProgram("g", "graders/g.py")
    )
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, "print(min(4, sum(map(int, input().split()))))")
    assert (judgement.verdict, judgement.score) == (Verdict.PARTIAL, 20)


async def test_a_grader_without_output_is_a_judge_error(tmp_path: Path) -> None:
    root = tmp_path / "package"
    write_files(root, {"graders/g.py": "pass"})
    problem = sum_problem(root, 1)
    problem = replace(
        problem,
        tests=replace(problem.tests, grading=CustomGrader()),
        grader=JuryProgram("g", "graders/g.py"),
    )
    async with prepare(tmp_path, problem) as prepared:
        assert (await judge(prepared, RIGHT)).verdict is Verdict.JUDGE_ERROR


STATIC = """
import os, sys
# X6: a .local of the submission must not be taken for the validator's own.
at_home = os.path.exists(os.path.join(os.environ["HOME"], sys.argv[2]))
sys.exit(42 if "sum(" in open(sys.argv[2]).read() and not at_home else 43)
"""


async def test_a_static_validator_reads_the_source(tmp_path: Path) -> None:
    root = tmp_path / "package"
    write_files(root, {"static_validator/v.py": STATIC})
    problem = sum_problem(root, 2)
    problem = replace(
        problem,
        tests=replace(problem.tests, static=StaticCheck(None)),
        static_validator=JuryProgram("v", "static_validator/v.py"),
    )
    async with prepare(tmp_path, problem) as prepared:
        right = await judge(prepared, RIGHT)
        wrong = await judge(prepared, "a, b = map(int, input().split()); print(a + b)")
        for name in ("feedback", "feedback/score.txt"):  # X12, and not its own judge
            planted = Source({"main.py": RIGHT.encode(), name: b"1000"})
            assert (await judge_source(prepared, planted)).verdict is Verdict.ACCEPTED, name
    assert right.verdict is Verdict.ACCEPTED
    assert wrong.verdict is Verdict.WRONG_ANSWER


async def test_a_program_just_over_its_time_limit_is_run_again_alone(tmp_path: Path) -> None:
    """The limit is small, so that a busy machine doesn't end the program at its wall limit."""
    text = (
        "import os, time\n"
        "while time.process_time() < {}: pass\n"
        "print(2, flush=True); os._exit(0)"
    )
    problem = sum_problem(tmp_path / "package", 1)
    problem = replace(problem, limits=replace(problem.limits, time_ms=300))
    async with prepare(tmp_path, problem, lanes=2) as prepared:
        near = await judge(prepared, text.format(0.306))
        far = await judge(prepared, text.format(0.9))
    assert near.verdict is far.verdict is Verdict.TIME_LIMIT
    assert (near.cases[0].runs, far.cases[0].runs) == (2, 1)
    assert near.cases[0].program_exit is not None
    assert near.cases[0].program_exit.status is RunStatus.OK


FLOOD = "import sys\nfor _ in range(500): sys.stdout.write('0 ' * (1 << 19))"


@pytest.mark.parametrize("with_program", [False, True])
async def test_half_a_gigabyte_of_output_needs_little_memory(
    tmp_path: Path, with_program: bool
) -> None:
    """J2: an output is never in memory as a whole."""
    root = tmp_path / "package"
    problem = sum_problem(root, 1)
    if with_program:
        problem = with_validator(root, problem, "import sys; sys.exit(43)")
    limits = replace(problem.limits, output_bytes=600 * MIB, time_ms=20_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with prepare(tmp_path, replace(problem, limits=limits)) as prepared:
        judgement = await judge(prepared, FLOOD)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert judgement.verdict is Verdict.WRONG_ANSWER
    assert sys.platform != "linux" or grown_kb < 64 * 1024


PROTOCOL_CHECKS = [
    (ProtocolName.TESTLIB, 0, "ok", "Accepted", 10),
    (ProtocolName.TESTLIB, 1, "wrong answer", "Wrong Answer", 0),
    (ProtocolName.TESTLIB, 7, "points 4", "Partial", 4),
    (ProtocolName.TESTLIB, 66, "partially correct (50) half", "Partial", 5),
    (ProtocolName.TESTLIB, 3, "FAIL", "Judge Error", 0),
    (ProtocolName.DMOJ, 0, "", "Accepted", 10),
    (ProtocolName.DMOJ, 1, "", "Wrong Answer", 0),
    (ProtocolName.DMOJ, 7, "", "Judge Error", 0),
    (ProtocolName.DMOJ_COCI, 7, "partial 1/4", "Partial", 2.5),
    (ProtocolName.DMOJ_PEG, 0, "", "Accepted", 10),
    (ProtocolName.QDUOJ, 1, "", "Wrong Answer", 0),
    (ProtocolName.HUSTOJ, 9, "", "Wrong Answer", 0),
]


@pytest.mark.parametrize(("protocol", "code", "message", "verdict", "score"), PROTOCOL_CHECKS)
async def test_each_protocol_reads_its_own_output(
    tmp_path: Path, protocol: ProtocolName, code: int, message: str, verdict: str, score: float
) -> None:
    """J4"""
    root = tmp_path / "package"
    text = f"import sys; print({message!r}, file=sys.stderr); sys.exit({code})"
    write_files(root, {"check.py": text})
    [case] = sum_problem(root, 1).tests.cases()
    grading = Subtask(10, Aggregation.SUM, whole_score_only=False)
    hidden = replace(case, name="secret/1", is_sample=False)
    problem = replace(
        sum_problem(root, 1),
        tests=Group("", (hidden,), grading),
        checker=ProgramCheck((JuryProgram("check", "check.py"),), protocol),
        scoring=True,
    )
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, RIGHT)
    assert (str(judgement.verdict), judgement.score) == (verdict, score)


@pytest.mark.parametrize(
    ("unit", "points", "score"),
    [
        (PointsUnit.POINTS, 4, 4),
        (PointsUnit.PERCENT, 40, 4),
        (PointsUnit.SHARE_OR_PERCENT, 0.4, 4),
        (PointsUnit.SHARE_OR_PERCENT, 40, 4),
    ],
)
def test_the_format_defines_the_unit_of_points(
    unit: PointsUnit, points: float, score: float
) -> None:
    given = with_unit(GivenScore(points=points), unit)
    assert score == (given.points if given.share is None else given.share * 10)


async def test_a_checker_can_open_the_output_as_a_file(tmp_path: Path) -> None:
    root = tmp_path / "package"
    text = (
        "import sys; a, b = (open(f).read().split() for f in sys.argv[2:4]); sys.exit(a != b)"
    )
    write_files(root, {"check.py": text})
    check = ProgramCheck((JuryProgram("check", "check.py"),), ProtocolName.TESTLIB)
    async with prepare(tmp_path, replace(sum_problem(root), checker=check)) as prepared:
        assert (await judge(prepared, RIGHT)).verdict is Verdict.ACCEPTED
        assert (await judge(prepared, "print(5)")).verdict is Verdict.WRONG_ANSWER


async def test_the_judgement_records_compiler_version_and_commands(tmp_path: Path) -> None:
    """J6: also when the build comes from the cache."""
    async with prepare(tmp_path, sum_problem(tmp_path / "package")) as prepared:
        first, again = await judge(prepared, RIGHT), await judge(prepared, RIGHT)
    assert first.compiled is not None
    assert again.compiled is not None
    assert (first.compiled.cached, again.compiled.cached) == (False, True)
    assert first.compiled.run_argv == again.compiled.run_argv
    assert first.compiled.run_argv[-1] == "/code/main.py"
    assert not any("{" in part for part in first.compiled.run_argv)


async def test_a_memory_limit_too_small_for_a_sandbox_is_a_memory_limit(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = sum_problem(root, 1)
    problem = replace(problem, limits=replace(problem.limits, memory_bytes=1024))
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, f"kept = b'1' * {2 * MIB}\n{RIGHT}")
    assert judgement.verdict is Verdict.MEMORY_LIMIT


async def test_j4_a_peg_checker_gets_answer_output_and_input(tmp_path: Path) -> None:
    root = tmp_path / "package"
    text = (
        "import sys; given = [open(path).read() for path in sys.argv[1:]]; print(*given)\n"
        "print(3 if given == ['2\\n', 'x\\n', '1 1\\n'] else 0, 10, sep='\\n')"
    )
    write_files(root, {"check.py": text})
    [case] = sum_problem(root, 1).tests.cases()
    hidden = replace(case, name="secret/1", is_sample=False)
    problem = replace(
        sum_problem(root, 1),
        tests=Group("", (hidden,), Subtask(10, Aggregation.SUM, whole_score_only=False)),
        checker=ProgramCheck((JuryProgram("check", "check.py"),), ProtocolName.DMOJ_PEG),
        scoring=True,
    )
    async with prepare(tmp_path, problem) as prepared:
        judgement = await judge(prepared, "print('x')")
    assert (str(judgement.verdict), judgement.score) == ("Partial", 3)
