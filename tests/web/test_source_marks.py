"""Messages of compilers and analysers stand at the lines that they are about (W1)."""

import json
import math
import sys
import zlib
from datetime import UTC, datetime

import pytest

from deemster.api.models.submissions import SourceFileOut, SourceOut
from deemster.domain.stored_analysis import StoredAnalysis
from deemster.web.source_marks import Mark, analysis_marks, by_line, compiler_marks

ENDLESS = {
    "physicalLocation": {
        "artifactLocation": {"uri": "main.py"},
        "region": {"startLine": math.inf},
    }
}
"""JSON has no infinite numbers, but Python reads and writes them."""
OUTPUTS = {
    "gcc": ("main.c:3:5: error: 'x' undeclared", "main.c", 3, "error", "'x' undeclared"),
    "warning": ("main.c:7:1: warning: unused [-Wx]", "main.c", 7, "warning", "unused [-Wx]"),
    "directory": ("/code/main.cpp:2:9: fatal error: no", "main.cpp", 2, "error", "no"),
    "javac": ("Main.java:4: error: ';' expected", "Main.java", 4, "error", "';' expected"),
    "go": ("./main.go:5:2: undefined: y", "main.go", 5, "error", "undefined: y"),
    "rust": (
        "error[E0425]: cannot find value\n --> main.rs:2:3\n  |",
        "main.rs",
        2,
        "error",
        "cannot find value",
    ),
    "python": (
        '  File "/code/main.py", line 6\n    x = (\n        ^\nSyntaxError: never closed\n',
        "main.py",
        6,
        "error",
        "SyntaxError: never closed",
    ),
    "typescript": (
        "main.ts(2,5): error TS2304: Cannot find name",
        "main.ts",
        2,
        "error",
        "Cannot find name",
    ),
}


@pytest.mark.parametrize("compiler", OUTPUTS)
def test_a_message_stands_at_its_line(compiler: str) -> None:
    output, file, line, level, text = OUTPUTS[compiler]
    found = list(compiler_marks(output, source(file)))
    assert found == [Mark(file, line, level, text)]


def test_a_single_file_has_the_messages_whatever_its_name_was() -> None:
    output = "main.c:3:5: error: no\n/usr/include/stdio.h:9: note: here"
    assert list(compiler_marks(output, source("sum.c"))) == [Mark("sum.c", 3, "error", "no")]


def test_a_program_that_prints_a_huge_line_number_still_has_a_page() -> None:
    """W1: compilers show lines of the source, which may look like places."""
    output = '  File "main.py", line 1\n    File "main.py", line ' + "7" * 5000 + "\nError"
    lines = [mark.line for mark in compiler_marks(output, source("main.py"))]
    assert lines == [1, 777_777_777]


def test_findings_have_the_explanation_of_their_rule() -> None:
    place = {"artifactLocation": {"uri": "main.py"}, "region": {"startLine": 2}}
    result = {
        "ruleId": "B1",
        "level": "warning",
        "message": {"text": "found"},
        "locations": [{"physicalLocation": place}],
    }
    rule = {"id": "B1", "help": {"text": "why"}}
    run = {"tool": {"driver": {"rules": [rule]}}, "results": [result, {**result}]}
    marks = by_line(analysis_marks(stored_log(json.dumps({"runs": [run]}))))
    assert marks == {("main.py", 2): [Mark("main.py", 2, "warning", "found", "why")]}


@pytest.mark.parametrize(
    "log",
    [
        {"runs": 1},
        {"runs": [1]},
        {"runs": [{"tool": {"driver": {}}, "results": [{"locations": {"a": 1}}]}]},
        {"runs": [{"tool": {"driver": {"rules": [{"id": {}}]}}}]},
        {"runs": [{"tool": {"driver": {}}, "results": [{"locations": [ENDLESS]}]}]},
    ],
)
def test_m1_a_log_of_another_form_has_no_marks(log: object) -> None:
    """M1: a judge host may send any; the page of the submission is shown without them."""
    assert analysis_marks(stored_log(json.dumps(log))) == []


def test_m1_a_log_that_is_nested_too_deeply_has_no_marks() -> None:
    """M1: the server that received it may have had more of the stack left."""
    depth = sys.getrecursionlimit()
    assert analysis_marks(stored_log('{"runs":' + "[" * depth + "]" * depth + "}")) == []


def stored_log(log: str) -> StoredAnalysis:
    packed = zlib.compress(log.encode())
    return StoredAnalysis(packed, {}, {}, 1, datetime(2026, 1, 1, tzinfo=UTC))


def source(file: str) -> SourceOut:
    return SourceOut(
        id="sub_x", language="x", main=None, files=[SourceFileOut(name=file, content="")]
    )
