"""Programs for the problem `samples/aplusb`, each with the verdict that it has to get."""

from dataclasses import dataclass
from pathlib import Path

from deemster.domain.verdict import Verdict

PACKAGE = Path(__file__).parents[2] / "samples" / "aplusb"


@dataclass(frozen=True, slots=True)
class Program:
    language: str
    source: str
    verdict: Verdict


def sample(path: str, language: str, verdict: Verdict) -> Program:
    return Program(language, (PACKAGE / "submissions" / path).read_text(), verdict)


def sleepy(seconds: float, *, right: bool = True) -> Program:
    """Takes so long for each case, at no cost. A wrong one ends with the first of eleven: tests
    that need many submissions, and not many cases, use that.
    """
    source = f"""
    #include <stdio.h>
    #include <unistd.h>
    int main(void) {{
        int a, b;
        if (scanf("%d %d", &a, &b) != 2) return 1;
        usleep({round(seconds * 1e6)});
        printf("%d\\n", {"a + b" if right else "a - b - 1"});
    }}"""
    return Program("c", source, Verdict.ACCEPTED if right else Verdict.WRONG_ANSWER)


RIGHT = sample("accepted/sum.py", "python3", Verdict.ACCEPTED)
RIGHT_IN_C = sample("accepted/sum.c", "c", Verdict.ACCEPTED)
WRONG = sample("wrong_answer/ignores_signs.py", "python3", Verdict.WRONG_ANSWER)
CRASHING = sample("run_time_error/two_lines.py", "python3", Verdict.RUNTIME_ERROR)
BROKEN = Program("c", "int main(void) { return }", Verdict.COMPILE_ERROR)
SLOWER = sleepy(0.05)

MIXED = (RIGHT, RIGHT_IN_C, WRONG, CRASHING, BROKEN, SLOWER)
