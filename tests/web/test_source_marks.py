"""Messages of compilers and analysers stand at the lines that they are about (W1)."""

import json
import zlib
from datetime import UTC, datetime

import pytest

from deemster.api.models.submissions import FileOut, SourceOut
from deemster.domain.stored_analysis import StoredAnalysis
from deemster.web.source_marks import Mark, analysis_marks, by_line, compiler_marks

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
    log = zlib.compress(json.dumps({"runs": [run]}).encode())
    stored = StoredAnalysis(log, {}, {}, 1, datetime(2026, 1, 1, tzinfo=UTC))
    marks = by_line(analysis_marks(stored))
    assert marks == {("main.py", 2): [Mark("main.py", 2, "warning", "found", "why")]}


def source(file: str) -> SourceOut:
    return SourceOut(
        id="sub_x", language="x", main=None, files=[FileOut(name=file, content="")]
    )
