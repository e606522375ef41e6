"""Calls the `check` function of a DMOJ checker with its keywords and the usual files."""

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace


class CheckerResult:
    """As the checker knows it."""

    def __init__(
        self, passed: bool, points: float, feedback: str = "", extended_feedback: str = ""
    ) -> None:
        self.passed = passed
        self.points = points
        self.feedback = feedback


def offer_module() -> None:
    """For `from dmoj.result import CheckerResult`, and the older `from dmoj…`."""
    package, result = ModuleType("dmoj"), ModuleType("dmoj.result")
    vars(result)["CheckerResult"] = CheckerResult
    vars(package)["result"] = result
    sys.modules |= {"dmoj": package, "dmoj.result": result}


def read(path: str) -> bytes:
    return Path(path).read_bytes()


file, keywords, given, answer, feedback, points = sys.argv[1:7]
worth = float(points)
offer_module()
check = runpy.run_path(str(Path(__file__).parent / file))["check"]
said = check(
    sys.stdin.buffer.read(),
    read(answer),
    judge_input=read(given),
    point_value=worth,
    submission_source=b"",
    submission_language="",
    case_position=0,
    batch=0,
    binary_data=False,
    execution_time=0.0,
    problem_id="",
    result=SimpleNamespace(proc_output=b""),
    **json.loads(keywords),
)
passed, earned = bool(said), worth
if isinstance(said, CheckerResult):
    passed, earned = said.passed, said.points
    Path(feedback, "teammessage.txt").write_text(str(said.feedback or ""))
if passed and earned < worth:
    Path(feedback, "score.txt").write_text(str(max(0.0, earned)))
sys.exit(42 if passed else 43)
