"""Reads the JSON that ShellCheck prints for `--format=json1`."""

from collections.abc import Iterator

from pydantic import Field

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    Output,
    ToolEdit,
    ToolFinding,
    read_json,
)


class Place(Output):
    line: int
    column: int
    end_line: int = Field(alias="endLine")
    end_column: int = Field(alias="endColumn")

    def place(self) -> LinePlace:
        return LinePlace(self.line, self.column, self.end_line, self.end_column)


class Replacement(Place):
    text: str = Field(alias="replacement")


class Fix(Output):
    replacements: tuple[Replacement, ...] = ()


class Comment(Place):
    file: str
    code: int
    message: str
    fix: Fix | None = None


class Comments(Output):
    comments: list[Comment]


def read_shellcheck(output: bytes, _: OutputForm) -> Iterator[ToolFinding]:
    for each in read_json(Comments, output).comments:
        fix = each.fix or Fix()
        yield ToolFinding(
            rule=f"SC{each.code}",
            path=each.file,
            place=each.place(),
            message=each.message,
            edits=tuple(ToolEdit(each.file, one.place(), one.text) for one in fix.replacements),
        )
