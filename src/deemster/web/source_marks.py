"""Finds the lines of a program that messages of compilers and analysers are about."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from deemster.api.models.submissions import SourceOut
from deemster.domain.stored_analysis import StoredAnalysis

MAX_MARKS: Final = 200
LEVELS: Final = {"warning": "warning", "note": "note", "help": "note", "info": "note"}
"""All other words of compilers mean an error."""
PLACE_FIRST: Final = re.compile(
    r"(?:[./\w-]*/)?(?P<file>[\w.-]+)[:(](?P<line>\d{1,9})(?:[:,.]\d+)?\)?:? "
    r"?(?:(?P<level>fatal error|error|warning|note|info|help)\b[^:]*:)? ?(?P<text>\S.*)"
)
"""gcc, clang, javac, Go, Free Pascal, TypeScript: `main.c:3:5: error: text`."""
PLACE_LAST: Final = re.compile(r"\s*--> (?:[./\w-]*/)?(?P<file>[\w.-]+):(?P<line>\d{1,9})")
"""Rust: the line above has the text."""
TRACEBACK: Final = re.compile(r'\s*File "(?:[^"]*/)?(?P<file>[^"/]+)", line (?P<line>\d{1,9})')
"""Python: the last line of the output has the text."""


@dataclass(frozen=True, slots=True)
class Mark:
    file: str
    line: int
    level: str
    text: str
    explanation: str = ""


def compiler_marks(output: str, source: SourceOut) -> Iterator[Mark]:
    """Only for files of the program: messages about headers have no line to stand at."""
    files = {each.name for each in source.files}
    for mark in messages(output):
        if mark.file in files:
            yield mark
        elif len(files) == 1 and same_kind(mark.file, next(iter(files))):
            # Compilers see the source under the name that the language gives it.
            yield Mark(next(iter(files)), mark.line, mark.level, mark.text)


def same_kind(name: str, other: str) -> bool:
    return name.rpartition(".")[2] == other.rpartition(".")[2]


def messages(output: str) -> Iterator[Mark]:
    lines = output.splitlines()
    last = next((each.strip() for each in reversed(lines) if each.strip()), "")
    for before, line in pairwise(["", *lines]):
        if found := TRACEBACK.match(line):
            yield Mark(found["file"], int(found["line"]), "error", last)
        elif found := PLACE_LAST.match(line):
            level, _, text = before.partition(":")
            yield Mark(found["file"], int(found["line"]), level_of(level), text.strip())
        elif found := PLACE_FIRST.match(line):
            level = level_of(found["level"] or "")
            yield Mark(found["file"], int(found["line"]), level, found["text"])


def level_of(word: str) -> str:
    return LEVELS.get(word.partition("[")[0].strip(), "error")


def analysis_marks(analysis: StoredAnalysis) -> Sequence[Mark]:
    """Nothing of a log in another form: that of a judge host may have any."""
    try:
        return list(marks_of_log(json.loads(analysis.log())))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        return []


def marks_of_log(log: Mapping[str, Any]) -> Iterator[Mark]:
    for run in log.get("runs", ()):
        rules = {each["id"]: each for each in run["tool"]["driver"].get("rules", ())}
        for result in run.get("results", ()):
            place = (result.get("locations") or [{}])[0].get("physicalLocation", {})
            line = place.get("region", {}).get("startLine")
            if line is None:
                continue
            rule = rules.get(result.get("ruleId", ""), {})
            yield Mark(
                str(place["artifactLocation"]["uri"]),
                int(line),
                str(result.get("level", "warning")),
                str(result["message"]["text"]),
                str(rule.get("help", {}).get("text", "")),
            )


def by_line(marks: Iterable[Mark]) -> Mapping[tuple[str, int], Sequence[Mark]]:
    found: dict[tuple[str, int], list[Mark]] = {}
    for number, mark in enumerate(marks):
        if number == MAX_MARKS:
            break
        at_line = found.setdefault((mark.file, mark.line), [])
        if mark not in at_line:
            at_line.append(mark)
    return found
