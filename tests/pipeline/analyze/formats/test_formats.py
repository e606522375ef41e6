"""J2: adapters read what tools print, and refuse everything else without another exception."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deemster.domain.analysis import Analyzer, AnalyzerId
from deemster.pipeline.analyze.findings import resolve
from deemster.pipeline.analyze.formats import FORMATS, read_output
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    OffsetPlace,
    ToolEdit,
    ToolFinding,
    UnreadableOutput,
)
from tests.pipeline.analyze.conftest import ANALYZERS

BY_FORMAT = {each.output.format: each for each in ANALYZERS.values()}

CLANG = """---
MainSourceFile:  '/code/main.c'
Diagnostics:
  - DiagnosticName:  modernize-use-nullptr
    DiagnosticMessage:
      Message:         use nullptr
      FilePath:        '/code/main.c'
      FileOffset:      7
      Replacements:
        - FilePath:        '/code/main.c'
          Offset:          7
          Length:          4
          ReplacementText: nullptr
    Level:           Warning
  - DiagnosticName:  clang-diagnostic-parentheses
    DiagnosticMessage:
      Message:         'using the result of an assignment'
      FilePath:        '/code/main.c'
      FileOffset:      2
      Replacements:    []
      Ranges:
        - FilePath:        '/code/main.c'
          FileOffset:      2
          Length:          3
    Notes:
      - Message:         place parentheses
        Replacements:
          - { FilePath: '/code/main.c', Offset: 2, Length: 0, ReplacementText: '(' }
      - Message:         'use =='
        Replacements:
          - { FilePath: '/code/main.c', Offset: 3, Length: 1, ReplacementText: '==' }
...
"""
RUST = {
    "message": "variable does not need to be mutable",
    "code": {"code": "unused_mut"},
    "level": "warning",
    "spans": [
        {
            "file_name": "/code/main.rs",
            "line_start": 2,
            "line_end": 2,
            "column_start": 9,
            "column_end": 14,
            "is_primary": True,
        }
    ],
    "children": [
        {
            "message": "remove this `mut`",
            "spans": [
                {
                    "file_name": "/code/main.rs",
                    "line_start": 2,
                    "line_end": 2,
                    "column_start": 9,
                    "column_end": 13,
                    "is_primary": True,
                    "suggested_replacement": "",
                    "suggestion_applicability": "MachineApplicable",
                }
            ],
        }
    ],
}
GO = """# command-line-arguments
{
	"command-line-arguments": {
		"assign": [
			{
				"posn": "/code/main.go:8:2",
				"message": "self-assignment of x to x"
			}
		],
		"printf": {
			"error": "an analyser of vet failed"
		}
	}
}
vet: ./main.go:4:14: cannot use a string
"""
JAVA = """/code/Main.java:4: warning: [divzero] division by zero
\t  int x = 1 / 0;
\t              ^
/code/Main.java:9: error: ';' expected
1 warning
"""
CHECKSTYLE = """<?xml version="1.0" encoding="UTF-8"?>
<checkstyle version="8.36">
<file name="/code/Main.java">
<error line="3" column="7" severity="warning" message="Should use &apos;L&apos;."
 source="com.puppycrawl.tools.checkstyle.checks.UpperEllCheck"/>
</file>
</checkstyle>
"""
SHELL = {
    "comments": [
        {
            "file": "/code/main.sh",
            "line": 2,
            "endLine": 2,
            "column": 6,
            "endColumn": 8,
            "level": "info",
            "code": 2086,
            "message": "Double quote",
            "fix": {
                "replacements": [
                    {"line": 2, "endLine": 2, "column": 6, "endColumn": 6, "replacement": '"'}
                ]
            },
        }
    ]
}
TABLE = """92,46,300,8,95,"f@1-95@x","/code/main.py","f","f( a )",1,95
3,1,9,0,3,"","/code/main.py","*global*","*global*",0,3
"""

CASES: dict[str, tuple[bytes, list[ToolFinding]]] = {
    "clang-fixes": (
        CLANG.encode(),
        [
            ToolFinding(
                "modernize-use-nullptr",
                "/code/main.c",
                OffsetPlace(7),
                "use nullptr",
                (ToolEdit("/code/main.c", OffsetPlace(7, 4), "nullptr"),),
            ),
            # Two fixes exclude each other: neither is offered.
            ToolFinding(
                "clang-diagnostic-parentheses",
                "/code/main.c",
                OffsetPlace(2, 3),
                "using the result of an assignment",
            ),
        ],
    ),
    "rustc": (
        json.dumps(RUST).encode() + b"\nnot JSON\n" + b'{"message":"","code":null,'
        b'"level":"warning","spans":[]}\n',
        [
            ToolFinding(
                "unused_mut",
                "/code/main.rs",
                LinePlace(2, 9, 2, 14),
                "variable does not need to be mutable",
                (ToolEdit("/code/main.rs", LinePlace(2, 9, 2, 13), ""),),
                "remove this `mut`",
            )
        ],
    ),
    "go-vet": (
        GO.encode(),
        [
            ToolFinding("error", "./main.go", LinePlace(4, 14), "cannot use a string"),
            ToolFinding(
                "assign", "/code/main.go", LinePlace(8, 2), "self-assignment of x to x"
            ),
        ],
    ),
    "lines": (
        JAVA.encode(),
        [
            ToolFinding("divzero", "/code/Main.java", LinePlace(4, 16), "division by zero"),
            ToolFinding("error", "/code/Main.java", LinePlace(9), "';' expected"),
        ],
    ),
    "checkstyle": (
        CHECKSTYLE.encode(),
        [ToolFinding("UpperEll", "/code/Main.java", LinePlace(3, 7), "Should use 'L'.")],
    ),
    "shellcheck": (
        json.dumps(SHELL).encode(),
        [
            ToolFinding(
                "SC2086",
                "/code/main.sh",
                LinePlace(2, 6, 2, 8),
                "Double quote",
                (ToolEdit("/code/main.sh", LinePlace(2, 6, 2, 6), '"'),),
            )
        ],
    ),
    "table": (
        TABLE.encode(),
        [
            ToolFinding(
                "extreme-complexity",
                "/code/main.py",
                LinePlace(1),
                "f has a cyclomatic complexity of 46: more than 40.",
            ),
            ToolFinding(
                "length",
                "/code/main.py",
                LinePlace(1),
                "f has 92 lines of code: more than 80.",
            ),
            ToolFinding(
                "parameters",
                "/code/main.py",
                LinePlace(1),
                "f has 8 parameters: more than 7.",
            ),
        ],
    ),
    "sarif": (
        json.dumps(
            {
                "runs": [
                    {
                        "results": [
                            {
                                "ruleId": "F401",
                                "message": {"text": "unused"},
                                "locations": [
                                    {
                                        "physicalLocation": {
                                            "artifactLocation": {
                                                "uri": "file:///code/a%20b.py"
                                            },
                                            "region": {"startLine": 3, "startColumn": 4},
                                        }
                                    }
                                ],
                            }
                        ]
                    }
                ]
            }
        ).encode(),
        [ToolFinding("F401", "file:///code/a%20b.py", LinePlace(3, 4), "unused")],
    ),
}


def test_each_format_has_a_case_and_an_analyser() -> None:
    assert CASES.keys() == FORMATS == BY_FORMAT.keys()


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_adapter_reads_what_its_tools_print(name: str) -> None:
    output, expected = CASES[name]
    analyzer = BY_FORMAT[name]
    if name == "sarif":
        analyzer = replace(analyzer, output=replace(analyzer.output, rule_pattern=""))
    found = read_output(analyzer, output)
    assert sorted(found, key=lambda each: each.rule) == sorted(
        expected, key=lambda each: each.rule
    )


def must_not_raise(analyzer: Analyzer, output: bytes) -> None:
    try:
        printed = read_output(analyzer, output)
    except UnreadableOutput:
        return
    files = {"main.py": b"x = 1\n", "a b.py": "é漢\r\n\ud7ff".encode(), "main.c": b"\xff\n\x00"}
    for each in resolve(analyzer, printed, files, files.keys()).findings:
        assert each.file in files
        assert each.message.isprintable()
        each.message.encode()


NUMBERS = st.integers() | st.sampled_from([0, 1, 2**31, 2**64, 10**30])
OTHERS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.text(max_size=5), st.just([])
)


def mutations(value: Any) -> st.SearchStrategy[Any]:
    """The value with any of its parts replaced by something else."""
    inside: st.SearchStrategy[Any]
    if isinstance(value, dict):
        inside = st.fixed_dictionaries({key: mutations(each) for key, each in value.items()})
    elif isinstance(value, list):
        inside = st.tuples(*map(mutations, value)).map(list)
    else:
        inside = st.just(value)
    return st.integers(0, 9).flatmap(lambda chance: OTHERS if chance == 0 else inside)


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_output_makes_an_adapter_raise(name: str) -> None:
    """Random bytes, and the output of the tool with bytes replaced, inserted and cut off."""
    good, _ = CASES[name]
    pieces = st.sampled_from([b"", b"\x00", b"\xff", b"{", b"}", b"[", b"-", b"9" * 40, b'"'])

    @given(st.binary(max_size=50), pieces, st.data())
    @settings(max_examples=40)
    def check(noise: bytes, piece: bytes, data: st.DataObject) -> None:
        must_not_raise(BY_FORMAT[name], noise)
        start = data.draw(st.integers(0, len(good)))
        end = data.draw(st.integers(start, min(len(good), start + 8)))
        must_not_raise(BY_FORMAT[name], good[:start] + piece + noise[:3] + good[end:])
        must_not_raise(BY_FORMAT[name], good[:start])

    check()


@pytest.mark.parametrize("name", ["sarif", "shellcheck", "rustc"])
def test_no_json_makes_an_adapter_raise(name: str) -> None:
    @given(mutations(json.loads(CASES[name][0].splitlines()[0])))
    @settings(max_examples=20)
    def check(value: Any) -> None:
        must_not_raise(BY_FORMAT[name], json.dumps(value).encode())

    check()


BOMBS: dict[str, Callable[[], bytes]] = {
    "clang-fixes": lambda: b"a: &a [x,x]\nb: &b [*a,*a]\nDiagnostics: [*b,*b]\n",
    "checkstyle": lambda: (
        b'<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]><checkstyle>&y;</checkstyle>'
    ),
    "go-vet": lambda: b"{\n" * 500_000,
    "lines": lambda: (
        b"a:" * 1_000_000 + b".java:1: error: x\n" + b"a.java:1: error: x\n" * 10_000
    ),
    "rustc": lambda: b'{"a":' * 100_000,
    "sarif": lambda: b"[" * 1_000_000,
    "shellcheck": lambda: b'{"comments":' * 100_000,
    "table": lambda: b'"' + b"x" * 1_000_000,
}


@pytest.mark.parametrize("name", sorted(BOMBS))
def test_an_output_that_would_grow_or_nest_without_end_is_refused(name: str) -> None:
    assert BOMBS.keys() == FORMATS
    must_not_raise(BY_FORMAT[name], BOMBS[name]())


def test_a_nested_yaml_document_is_refused() -> None:
    with pytest.raises(UnreadableOutput):
        read_output(ANALYZERS[AnalyzerId("clang-tidy")], b"[" * 100_000)
