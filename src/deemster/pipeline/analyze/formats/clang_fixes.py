"""Reads the YAML that clang-tidy writes for `--export-fixes`."""

from collections.abc import Iterator

import yaml
from pydantic import Field, ValidationError

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    OffsetPlace,
    Output,
    ToolEdit,
    ToolFinding,
    UnreadableOutput,
    rule_name,
)

MAX_DEPTH = 16


class Replacement(Output):
    path: str = Field(alias="FilePath")
    offset: int = Field(alias="Offset")
    length: int = Field(0, alias="Length")
    text: str = Field("", alias="ReplacementText")


class Range(Output):
    offset: int = Field(alias="FileOffset")
    length: int = Field(alias="Length")


class Note(Output):
    message: str = Field(alias="Message")
    path: str = Field("", alias="FilePath")
    offset: int = Field(0, alias="FileOffset")
    replacements: tuple[Replacement, ...] = Field((), alias="Replacements")
    ranges: tuple[Range, ...] = Field((), alias="Ranges")

    def place(self) -> OffsetPlace:
        """The range at the place itself, if there is one; others only add context."""
        own = [each.length for each in self.ranges if each.offset == self.offset]
        return OffsetPlace(self.offset, next(iter(own), 0))

    def edits(self) -> tuple[ToolEdit, ...]:
        return tuple(
            ToolEdit(each.path, OffsetPlace(each.offset, each.length), each.text)
            for each in self.replacements
        )


class Diagnostic(Output):
    rule: str = Field(alias="DiagnosticName")
    main: Note = Field(alias="DiagnosticMessage")
    notes: tuple[Note, ...] = Field((), alias="Notes")

    def fix(self) -> Note | None:
        """The tool's own fix. Notes offer alternatives; only one without rival is a fix."""
        if self.main.replacements:
            return self.main
        offered = [note for note in self.notes if note.replacements]
        return offered[0] if len(offered) == 1 else None


class FixesFile(Output):
    diagnostics: tuple[Diagnostic, ...] = Field((), alias="Diagnostics")


def read_clang_fixes(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    """Without findings clang-tidy writes no file."""
    if not output.strip():
        return
    for each in parse(output).diagnostics:
        fix = each.fix()
        yield ToolFinding(
            rule=rule_name(form, each.rule),
            path=each.main.path,
            place=each.main.place(),
            message=each.main.message,
            edits=fix.edits() if fix else (),
            fix_text=fix.message if fix and fix is not each.main else "",
        )


def parse(output: bytes) -> FixesFile:
    """The loader knows no tags: all values are texts, which the model converts."""
    try:
        check_events(output)
        document = yaml.load(output, Loader=yaml.CBaseLoader)  # noqa: S506 - makes only texts
        return FixesFile.model_validate(document)
    except (yaml.YAMLError, ValidationError, ValueError) as fault:
        raise UnreadableOutput("YAML with diagnostics") from fault


def check_events(output: bytes) -> None:
    """Refuses what clang-tidy never writes: deep nesting, and aliases, which multiply."""
    depth = 0
    for event in yaml.parse(output, Loader=yaml.CBaseLoader):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            raise UnreadableOutput("YAML with diagnostics")
