"""Reads SARIF 2.1.0, which Ruff, Cppcheck and Oxlint print."""

from collections.abc import Iterator

from pydantic import Field

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    Output,
    ToolEdit,
    ToolFinding,
    read_json,
    rule_name,
)


class Message(Output):
    text: str = ""


class Region(Output):
    start_line: int = Field(alias="startLine")
    start_column: int | None = Field(None, alias="startColumn")
    end_line: int | None = Field(None, alias="endLine")
    end_column: int | None = Field(None, alias="endColumn")

    def place(self) -> LinePlace:
        return LinePlace(self.start_line, self.start_column, self.end_line, self.end_column)


class Artifact(Output):
    uri: str = ""


class PhysicalLocation(Output):
    artifact: Artifact = Field(alias="artifactLocation")
    region: Region


class Location(Output):
    physical: PhysicalLocation = Field(alias="physicalLocation")


class Replacement(Output):
    deleted: Region = Field(alias="deletedRegion")
    inserted: Message = Field(Message(), alias="insertedContent")


class Change(Output):
    artifact: Artifact = Field(alias="artifactLocation")
    replacements: tuple[Replacement, ...] = ()


class Fix(Output):
    description: Message = Message()
    changes: tuple[Change, ...] = Field((), alias="artifactChanges")

    def edits(self) -> Iterator[ToolEdit]:
        for change in self.changes:
            for each in change.replacements:
                yield ToolEdit(change.artifact.uri, each.deleted.place(), each.inserted.text)


class Result(Output):
    rule: str = Field("", alias="ruleId")
    message: Message = Message()
    locations: tuple[Location, ...] = ()
    fixes: tuple[Fix, ...] = ()


class Run(Output):
    results: tuple[Result, ...] = ()


class SarifLog(Output):
    runs: list[Run]


def read_sarif(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    for run in read_json(SarifLog, output).runs:
        for result in run.results:
            # Cppcheck lists the way to the mistake; the last place is the mistake itself.
            for location in result.locations[-1:]:
                fix = next(iter(result.fixes), Fix.model_validate({}))
                yield ToolFinding(
                    rule=rule_name(form, result.rule),
                    path=location.physical.artifact.uri,
                    place=location.physical.region.place(),
                    message=result.message.text,
                    edits=tuple(fix.edits()),
                    fix_text=fix.description.text,
                )
