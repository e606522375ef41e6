"""A judgehost of a DOMjudge server finds every result that DOMjudge knows (M7)."""

import base64

import pytest

from tests.judgehost.domjudge.conftest import Site
from tests.judgehost.domjudge.packages import (
    CORPUS,
    ProblemForm,
    corpus_problem,
    submit,
    words,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

ECHO = words(("7\n", "7\n"))
SHORT = words(("7\n", "7\n"), time_limit=0.5)

HOG = b"""#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }
"""
SPY = b"""#include <stdlib.h>
int main(void) {
    system("cat /data/*.out /data/../*/*.out /work/../*/*/testdata.out 2>/dev/null");
    return 0;
}
"""
FLOOD = b"""#include <stdio.h>
int main(void) { for (;;) puts("7"); }
"""
FORK_BOMB = b"""#include <unistd.h>
int main(void) { for (;;) fork(); }
"""
PROGRAMS: dict[str, tuple[str, bytes, ProblemForm, str]] = {
    "correct": ("a.py", b"print(input())\n", ECHO, "correct"),
    "wrong": ("a.py", b"print(8)\n", ECHO, "wrong-answer"),
    "silent": ("a.c", b"int main(void) { return 0; }\n", ECHO, "no-output"),
    "crash": ("a.py", b"print(7)\nraise SystemExit(3)\n", ECHO, "run-error"),
    "memory": ("a.c", HOG, ECHO, "run-error"),
    "loop": ("a.c", b"int main(void) { for (;;); }\n", SHORT, "timelimit"),
    "sleep": ("a.py", b"import time\ntime.sleep(60)\n", SHORT, "timelimit"),
    "flood": ("a.c", FLOOD, ECHO, "output-limit"),
    "fork bomb": ("a.c", FORK_BOMB, ECHO, "run-error"),
    "reads the answer": ("a.c", SPY, ECHO, "no-output"),
    "compile error": ("a.c", b"int main(void) { return x; }\n", ECHO, "compiler-error"),
}


@pytest.mark.parametrize("name", PROGRAMS)
async def test_each_result_is_found(site: Site, name: str) -> None:
    file, source, problem, expected = PROGRAMS[name]
    judging = await site.judged(submit(site.server, problem, {file: source}))
    assert judging.result == expected, (site.server.errors, judging.compile_report)


CORPUS_CASES = [
    ("divisor", "accepted/largest.py", "correct"),
    ("divisor", "run_time_error/right_and_crash.py", "run-error"),
    ("divisor", "wrong_answer/one.py", "wrong-answer"),
    ("divisor", "wrong_answer/silent.c", "no-output"),
    ("guess", "accepted/halves.py", "correct"),
    ("guess", "wrong_answer/always_one.py", "wrong-answer"),
    ("guess", "wrong_answer/wrong_then_loop.c", "wrong-answer"),
    ("guess", "wrong_answer/looks_for_the_input.py", "wrong-answer"),
    ("guess", "run_time_error/crashes_first.c", "run-error"),
    ("guess", "time_limit_exceeded/both_wait.c", "timelimit"),
    ("guess", "time_limit_exceeded/right_then_loop.py", "timelimit"),
    ("javacheck", "accepted/squares.py", "correct"),
    ("passes", "accepted/third.py", "correct"),
    ("passes", "accepted/stop.py", "correct"),
    ("passes", "run_time_error/again_fails.py", "run-error"),
    ("passes", "wrong_answer/third_at_once.py", "wrong-answer"),
]
"""Packages with a validator in C++, an interactor and several passes."""


@pytest.mark.parametrize(("package", "path", "expected"), CORPUS_CASES)
async def test_packages_of_the_corpus_get_their_results(
    site: Site, package: str, path: str, expected: str
) -> None:
    is_slow = path.startswith("time_limit")
    problem = corpus_problem(package, pass_limit=3, time_limit=0.5 if is_slow else 20)
    source = CORPUS / package / "submissions" / path
    judging = await site.judged(submit(site.server, problem, source))
    assert judging.result == expected, [
        (error["description"], base64.b64decode(error["judgehostlog"]).decode())
        for error in site.server.errors
    ]
