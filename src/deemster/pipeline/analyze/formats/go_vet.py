"""Reads the output of `go vet -json`: JSON for each package, between lines of plain text."""

import re
from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    OffsetPlace,
    Output,
    ToolEdit,
    ToolFinding,
    UnreadableOutput,
)

POSITION = re.compile(r"(.{1,1000}):(\d{1,9}):(\d{1,9})")
FAILURE = re.compile(r"vet: (.{1,1000}?):(\d{1,9}):(\d{1,9}): (.*)")


class Edit(Output):
    filename: str
    start: int
    end: int
    new: str


class SuggestedFix(Output):
    message: str = ""
    edits: tuple[Edit, ...] = ()


class Diagnostic(Output):
    posn: str
    message: str
    suggested_fixes: tuple[SuggestedFix, ...] = ()


class Failure(Output):
    error: str


Packages = TypeAdapter(dict[str, dict[str, list[Diagnostic] | Failure]])


def read_go_vet(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    text = output.decode(errors="replace")
    for line in text.splitlines():
        if match := FAILURE.match(line):
            yield finding(form.default_rule, match, match[4])
    for packages in read_objects(text):
        for rules in packages.values():
            for rule, found in rules.items():
                for each in found if isinstance(found, list) else ():
                    if position := POSITION.fullmatch(each.posn):
                        fixes = each.suggested_fixes[:1]
                        yield finding(rule, position, each.message, fixes)


def finding(
    rule: str, position: re.Match[str], message: str, fixes: tuple[SuggestedFix, ...] = ()
) -> ToolFinding:
    fix = next(iter(fixes), SuggestedFix())
    return ToolFinding(
        rule=rule,
        path=position[1],
        place=LinePlace(int(position[2]), int(position[3])),
        message=message,
        edits=tuple(
            ToolEdit(each.filename, OffsetPlace(each.start, each.end - each.start), each.new)
            for each in fix.edits
        ),
        fix_text=fix.message,
    )


def read_objects(text: str) -> Iterator[dict[str, dict[str, list[Diagnostic] | Failure]]]:
    """An object starts with a line that is only a brace, and ends with one."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines or line == "{":
            lines.append(line)
        if lines and line == "}":
            try:
                yield Packages.validate_json("\n".join(lines))
            except ValidationError as fault:
                raise UnreadableOutput("JSON of go vet") from fault
            lines = []
    if lines:
        raise UnreadableOutput("JSON of go vet")
