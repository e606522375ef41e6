"""`deemster problem new` and `verify`."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Deemster


@pytest.fixture
def package(call: Deemster, tmp_path: Path) -> Path:
    done = call("problem", "new", "mine")
    assert done.code == 0, done.err
    return tmp_path / "here" / "mine"


@pytest.fixture
def small_package(package: Path) -> Path:
    """The new package with one submission, which is judged quickly."""
    for path in package.glob("submissions/*/*"):
        if path.relative_to(package) != Path("submissions/accepted/formula.py"):
            path.unlink()
    return package


def test_a_new_package_is_complete_and_passes(deemster: Deemster, package: Path) -> None:
    done = deemster("problem", "verify", "mine", "--json")
    assert done.code == 0, done.out
    [found] = done.json["packages"]
    assert done.json["ok"]
    assert found["ok"]
    assert (found["path"], found["problem"], found["format"]) == ("mine", "mine", "2025-09")
    assert found["findings"] == []
    assert {"accepted", "wrong_answer", "time_limit_exceeded"} <= {
        each["label"] for each in found["submissions"]
    }
    for each in found["submissions"]:
        assert each["matches"]
        assert each["verdict"] in each["expected"]
        assert each["time_ms"] >= 0
        assert each["memory_kb"] > 0


def test_a_submission_with_a_wrong_label_is_reported(
    call: Deemster, small_package: Path
) -> None:
    (small_package / "submissions" / "accepted" / "pretends.py").write_text("print(0)\n")
    done = call("problem", "verify", "mine")
    assert done.code == 1
    assert b"pretends" in done.out
    assert b"The verdict is Wrong Answer, expected Accepted." in done.out


def test_an_invalid_input_is_reported(call: Deemster, small_package: Path) -> None:
    secret = small_package / "data" / "secret"
    answer = next(secret.glob("*.ans"))
    shutil.copy(answer, secret / "odd.ans")
    (secret / "odd.in").write_text("not a number\n")
    done = call("problem", "verify", "mine", "--json")
    assert done.code == 1
    errors = [each["text"] for each in done.json["packages"][0]["findings"]]
    assert any(text.startswith("secret/odd: ") for text in errors)


def test_other_packages_are_verified_when_one_can_not_be_read(
    call: Deemster, small_package: Path
) -> None:
    broken = small_package.parent / "broken"
    shutil.copytree(small_package, broken)
    (broken / "problem.yaml").write_text('problem_format_version: "2025-09"\nnmae: x\n')
    done = call("problem", "verify", "broken", "missing", "mine", "--json")
    assert done.code == 1
    unread, missing, fine = done.json["packages"]
    assert not unread["ok"]
    assert "problem.yaml" in unread["findings"][0]["text"]
    assert "nmae" in unread["findings"][0]["text"]
    assert "missing" in missing["findings"][0]["text"]
    assert fine["ok"]


def test_a_zipped_package_is_verified_too(call: Deemster, small_package: Path) -> None:
    archive = shutil.make_archive(str(small_package), "zip", small_package.parent, "mine")
    done = call("problem", "verify", archive, "--json", "--jobs", "1")
    assert done.code == 0, done.out
    assert done.json["packages"][0]["problem"] == "mine"


@pytest.mark.parametrize("name", ["Mine", "a b", "../x", ""])
def test_an_invalid_package_name_is_refused(call: Deemster, name: str) -> None:
    done = call("problem", "new", name)
    assert done.code == 2
    assert "lower-case letters" in done.err


def test_an_existing_package_is_not_overwritten(call: Deemster, package: Path) -> None:
    done = call("problem", "new", "mine")
    assert done.code == 2
    assert "already exists" in done.err


def test_submissions_are_judged_although_a_validator_has_an_unknown_language(
    call: Deemster, small_package: Path
) -> None:
    (small_package / "input_validators" / "odd.snobol.sno").write_text("END\n")
    done = call("problem", "verify", "mine", "--json")
    assert done.code == 1
    [found] = done.json["packages"]
    [error] = [each["text"] for each in found["findings"] if each["severity"] == "error"]
    assert "odd.snobol.sno" in error
    assert [each["matches"] for each in found["submissions"]] == [True]


def test_j8_only_a_link_that_leaves_a_local_package_is_left_out(
    call: Deemster, small_package: Path
) -> None:
    """J8: several public repositories link the PDF of a statement this way."""
    (small_package / "statement" / "problem.de.pdf").symlink_to("../../../solve/mine.pdf")
    done = call("problem", "verify", "mine", "--json")
    assert done.code == 0, done.out
    [found] = done.json["packages"]
    [finding] = found["findings"]
    assert finding["severity"] == "warning"
    assert "The link 'statement/problem.de.pdf' leads outside" in finding["text"]
    assert [each["matches"] for each in found["submissions"]] == [True]


def test_python_programs_run_with_pypy_on_request(call: Deemster, small_package: Path) -> None:
    """Both outcomes tell which interpreter was asked for."""
    submission = small_package / "submissions" / "accepted" / "formula.py"
    submission.write_text(
        "import sys\nassert sys.implementation.name == 'pypy'\n" + submission.read_text()
    )
    done = call("problem", "verify", "mine", "--pypy", "--json")
    [one] = done.json["packages"][0]["submissions"]
    if shutil.which("pypy3"):
        assert one["matches"], one["reasons"]
    else:
        assert one["reasons"][0].startswith("PyPy 3 needs pypy3, which is not installed")


def write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def dmoj_submission(name: str, text: str, expected: str) -> dict[str, str]:
    test = f"language: PY3\ntime: 2\nmemory: 65536\nsource: a.py\nexpect: {expected}\n"
    return {f"tests/{name}/test.yml": test, f"tests/{name}/a.py": text}


PEG_CASE = "{in: 1.in, checker: {name: bridged, args: {files: peg.py, lang: PY3, type: peg}}}"
CHECKS_INPUT = """
def check(process_output, judge_output, judge_input, **kwargs):
    assert judge_output == b""
    return process_output == judge_input
"""
PEG_CHECKS_INPUT = """
import sys
answer, output, given = [open(path).read() for path in sys.argv[1:]]
assert answer == ""
sys.exit(output != given)
"""


def test_j4_a_program_can_check_a_dmoj_case_without_an_answer(
    call: Deemster, tmp_path: Path
) -> None:
    """J4: Python and bridged checkers read an empty answer."""
    files = {
        "init.yml": f"checker: check.py\ntest_cases:\n- {{in: 1.in}}\n- {PEG_CASE}\n",
        "1.in": "5\n",
        "check.py": CHECKS_INPUT,
        "peg.py": PEG_CHECKS_INPUT,
        **dmoj_submission("right", "print(input())\n", "AC"),
        **dmoj_submission("wrong", "print(1)\n", "WA"),
    }
    write_files(tmp_path / "here" / "echo", files)
    done = call("problem", "verify", "echo", "--json")
    assert done.code == 0, done.out
    seen = [each["verdict"] for each in done.json["packages"][0]["submissions"]]
    assert seen == ["Accepted", "Wrong Answer"]


def test_a_judge_error_can_be_the_expected_verdict(call: Deemster, tmp_path: Path) -> None:
    checker = "{name: bridged, args: {files: check.py, lang: PY3}}"
    files = {
        "init.yml": f"checker: {checker}\ntest_cases:\n- {{points: 1}}\n",
        "check.py": "raise SystemExit(9)\n",
        **dmoj_submission("one", "print(1)\n", "IE"),
    }
    write_files(tmp_path / "here" / "broken", files)
    done = call("problem", "verify", "broken", "--json")
    [one] = done.json["packages"][0]["submissions"]
    assert (one["verdict"], one["matches"], one["reasons"]) == ("Judge Error", True, [])
