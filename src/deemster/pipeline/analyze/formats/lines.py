"""Reads messages of compilers: one line each, with the place marked in the lines below."""

import re
from collections.abc import Iterator

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import LinePlace, ToolFinding, rule_name

MARKED_WITHIN = 3
"""Lines below a message in which the mark is looked for."""
LONGEST_LINE = 4_000
MARK = re.compile(r"(\s*)\^\s*")


def read_lines(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    """The pattern names the groups `file`, `line` and `message`, and may name `rule`."""
    lines = output.decode(errors="replace").splitlines()
    pattern = re.compile(form.line_pattern)
    for number, line in enumerate(lines):
        match = pattern.match(line[:LONGEST_LINE])
        if match is None:
            continue
        below = lines[number + 1 : number + 1 + MARKED_WITHIN]
        groups = match.groupdict()
        yield ToolFinding(
            rule=rule_name(form, groups.get("rule") or ""),
            path=groups["file"],
            place=LinePlace(int(groups["line"]), marked_column(below)),
            message=groups["message"],
        )


def marked_column(below: list[str]) -> int | None:
    for line in below:
        if match := MARK.fullmatch(line):
            return len(match[1]) + 1
    return None
