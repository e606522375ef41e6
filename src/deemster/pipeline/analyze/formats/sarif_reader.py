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


class ParsedMessage(Output):
    text: str = ""


class ParsedRegion(Output):
    start_line: int = Field(alias="startLine")
    start_column: int | None = Field(None, alias="startColumn")
    end_line: int | None = Field(None, alias="endLine")
    end_column: int | None = Field(None, alias="endColumn")

    def place(self) -> LinePlace:
        return LinePlace(self.start_line, self.start_column, self.end_line, self.end_column)


class ParsedArtifact(Output):
    uri: str = ""


class ParsedPhysicalLocation(Output):
    artifact: ParsedArtifact = Field(alias="artifactLocation")
    region: ParsedRegion


class ParsedLocation(Output):
    physical: ParsedPhysicalLocation = Field(alias="physicalLocation")


class ParsedReplacement(Output):
    deleted: ParsedRegion = Field(alias="deletedRegion")
    inserted: ParsedMessage = Field(ParsedMessage(), alias="insertedContent")


class ParsedChange(Output):
    artifact: ParsedArtifact = Field(alias="artifactLocation")
    replacements: tuple[ParsedReplacement, ...] = ()


class ParsedFix(Output):
    description: ParsedMessage = ParsedMessage()
    changes: tuple[ParsedChange, ...] = Field((), alias="artifactChanges")

    def edits(self) -> Iterator[ToolEdit]:
        for change in self.changes:
            for each in change.replacements:
                yield ToolEdit(change.artifact.uri, each.deleted.place(), each.inserted.text)


class ParsedResult(Output):
    rule: str = Field("", alias="ruleId")
    message: ParsedMessage = ParsedMessage()
    locations: tuple[ParsedLocation, ...] = ()
    fixes: tuple[ParsedFix, ...] = ()


class ParsedRun(Output):
    results: tuple[ParsedResult, ...] = ()


class ParsedLog(Output):
    runs: list[ParsedRun]


def read_sarif(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    for run in read_json(ParsedLog, output).runs:
        for result in run.results:
            # Cppcheck lists the way to the mistake; the last place is the mistake itself.
            for location in result.locations[-1:]:
                fix = next(iter(result.fixes), ParsedFix.model_validate({}))
                yield ToolFinding(
                    rule=rule_name(form, result.rule),
                    path=location.physical.artifact.uri,
                    place=location.physical.region.place(),
                    message=result.message.text,
                    edits=tuple(fix.edits()),
                    fix_text=fix.description.text,
                )
