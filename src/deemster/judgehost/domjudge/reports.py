"""The forms by which a host reports compilations and runs to a DOMjudge server."""

from pathlib import Path
from typing import Final

from deemster.judgehost.domjudge.compilation import CompileResult
from deemster.judgehost.domjudge.result import RunResult
from deemster.judgehost.domjudge.server import encoded
from deemster.judgehost.domjudge.testcase_run import JudgedRun

TRUNCATION: Final = "\n[output storage truncated after {} B]\n"
"""The server recognises a shortened output by this text."""


def compile_form(result: CompileResult, stored_bytes: int) -> dict[str, str]:
    form = {
        "compile_success": str(int(result.is_success)),
        "output_compile": encoded(shortened(result.output, stored_bytes)),
        "compile_metadata": encoded(result.metadata.encode()),
    }
    return form | ({"entry_point": result.entry_point} if result.entry_point else {})


def run_form(
    judged: JudgedRun, host: str, times_s: tuple[float, float], stored_bytes: int
) -> dict[str, str]:
    """`times_s`: when the run began and ended, in seconds since 1970."""
    place = judged.directory

    def stored(name: str) -> str:
        return encoded(shortened_file(place / name, stored_bytes))

    form = {
        "runresult": str(judged.result),
        "start_time": f"{times_s[0]:.6f}",
        "end_time": f"{times_s[1]:.6f}",
        "runtime": f"{judged.run.used_s:.3f}",
        "output_run": stored("program.out"),
        "output_error": stored("program.err"),
        "output_system": stored("system.out"),
        "output_diff": encoded(shortened(judged.jury_message.encode(), stored_bytes)),
        "metadata": encoded((place / "program.meta").read_bytes()),
        "compare_metadata": encoded((place / "compare.meta").read_bytes()),
        "hostname": host,
        "testcasedir": str(place.parent),
    }
    if (place / "feedback/teammessage.txt").is_file():
        form["team_message"] = stored("feedback/teammessage.txt")
    score = place / "feedback/score.txt"
    if judged.result is RunResult.CORRECT and score.is_file():
        form["score"] = encoded(score.read_bytes())
    return form


def shortened(data: bytes, max_bytes: int) -> bytes:
    if max_bytes < 0 or len(data) <= max_bytes:
        return data
    return data[:max_bytes] + TRUNCATION.format(max_bytes).encode()


def shortened_file(path: Path, max_bytes: int) -> bytes:
    with path.open("rb") as file:
        return shortened(file.read() if max_bytes < 0 else file.read(max_bytes + 1), max_bytes)
