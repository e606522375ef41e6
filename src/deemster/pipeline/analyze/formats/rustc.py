"""Reads the JSON lines that the Rust compiler and Clippy print for `--error-format=json`."""

from collections.abc import Iterator

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    Output,
    ToolEdit,
    ToolFinding,
    read_json,
    rule_name,
)

FINDINGS = frozenset({"error", "warning"})
SAFE_FIX = "MachineApplicable"


class Code(Output):
    code: str


class Span(Output):
    file_name: str
    line_start: int
    line_end: int
    column_start: int
    column_end: int
    is_primary: bool
    suggested_replacement: str | None = None
    suggestion_applicability: str | None = None

    def place(self) -> LinePlace:
        return LinePlace(self.line_start, self.column_start, self.line_end, self.column_end)

    def edits(self) -> Iterator[ToolEdit]:
        if self.suggestion_applicability == SAFE_FIX and self.suggested_replacement is not None:
            yield ToolEdit(self.file_name, self.place(), self.suggested_replacement)


class Help(Output):
    message: str
    spans: list[Span]


class Diagnostic(Help):
    code: Code | None
    level: str
    children: tuple[Help, ...] = ()


def read_rustc(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    for line in output.splitlines():
        if not line.startswith(b"{"):
            continue
        each = read_json(Diagnostic, line)
        primary = next((span for span in each.spans if span.is_primary), None)
        if primary is None or each.level not in FINDINGS:
            continue
        fixes = [
            (child.message, edits)
            for child in each.children
            if (edits := tuple(edit for span in child.spans for edit in span.edits()))
        ]
        fix_text, edits = fixes[0] if fixes else ("", ())
        yield ToolFinding(
            rule=rule_name(form, each.code.code if each.code else ""),
            path=primary.file_name,
            place=primary.place(),
            message=each.message,
            edits=edits,
            fix_text=fix_text,
        )
