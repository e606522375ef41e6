"""Writes an analysis as a SARIF 2.1.0 log, with one run for each tool."""

import hashlib
from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from deemster.domain import analysis as domain
from deemster.domain.analysis import Analysis, Edit, Finding, Rule, ToolResult, ToolStatus

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

LevelName = Literal["error", "warning", "note"]


class SarifObject(BaseModel):
    """The name of a class is that of the object in the standard, if it is not obvious."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )


class Message(SarifObject):
    text: str


class ArtifactLocation(SarifObject):
    uri: str


class Region(SarifObject):
    start_line: int
    start_column: int
    end_line: int
    end_column: int


class PhysicalLocation(SarifObject):
    artifact_location: ArtifactLocation
    region: Region


class Location(SarifObject):
    physical_location: PhysicalLocation


class Replacement(SarifObject):
    deleted_region: Region
    inserted_content: Message


class ArtifactChange(SarifObject):
    artifact_location: ArtifactLocation
    replacements: list[Replacement]


class Fix(SarifObject):
    description: Message
    artifact_changes: list[ArtifactChange]


class RuleProperties(SarifObject):
    category: str
    tags: list[str]


class ResultProperties(SarifObject):
    category: str


class Result(SarifObject):
    rule_id: str
    rule_index: int
    level: LevelName
    message: Message
    locations: list[Location]
    fixes: list[Fix] | None = None
    properties: ResultProperties


class RuleConfiguration(SarifObject):
    level: LevelName


class ReportingDescriptor(SarifObject):
    id: str
    short_description: Message
    help: Message
    default_configuration: RuleConfiguration
    properties: RuleProperties


class Driver(SarifObject):
    name: str
    version: str | None
    information_uri: str
    rules: list[ReportingDescriptor]
    """Only those that have results."""


class Tool(SarifObject):
    driver: Driver


class Notification(SarifObject):
    level: LevelName
    message: Message


class Invocation(SarifObject):
    execution_successful: bool
    tool_execution_notifications: list[Notification]


class Artifact(SarifObject):
    location: ArtifactLocation
    length: int
    hashes: dict[str, str]


class RunProperties(SarifObject):
    status: str


class Run(SarifObject):
    tool: Tool
    invocations: list[Invocation]
    artifacts: list[Artifact]
    results: list[Result]
    column_kind: Literal["unicodeCodePoints"] = "unicodeCodePoints"
    properties: RunProperties


class LogProperties(SarifObject):
    language: str
    scores: dict[str, int | None]


class SarifLog(SarifObject):
    schema_: str = Field(SCHEMA, alias="$schema")
    version: Literal["2.1.0"] = "2.1.0"
    runs: list[Run]
    properties: LogProperties


Uris = Mapping[str, str]


def sarif_log(analysis: Analysis, uris: Uris | None = None) -> SarifLog:
    """`uris` are those of the files; by default a file's name is its relative URI."""
    names = {name: quote(name) for name in analysis.files} | dict(uris or {})
    scores = {str(category): score for category, score in analysis.scores.items()}
    return SarifLog(
        runs=[make_run(result, analysis.files, names) for result in analysis.results],
        properties=LogProperties(language=analysis.language, scores=scores),
    )


def to_json(log: SarifLog) -> str:
    return log.model_dump_json(by_alias=True, exclude_none=True)


def make_run(result: ToolResult, files: Mapping[str, bytes], uris: Uris) -> Run:
    analyzer = result.analyzer
    broken = {finding.rule for finding in result.findings}
    rules = [rule for rule in analyzer.rules.values() if rule.id in broken]
    indexes = {rule.id: index for index, rule in enumerate(rules)}
    usable = result.status is ToolStatus.OK
    level: LevelName = "note" if usable else "error"
    remarks = [
        Notification(level=level, message=Message(text=remark)) for remark in result.remarks
    ]
    return Run(
        tool=Tool(
            driver=Driver(
                name=analyzer.name,
                version=result.version or None,
                information_uri=analyzer.url,
                rules=[make_rule(rule) for rule in rules],
            )
        ),
        invocations=[
            Invocation(execution_successful=usable, tool_execution_notifications=remarks)
        ],
        artifacts=[make_artifact(uris[name], content) for name, content in files.items()],
        results=[
            make_result(finding, analyzer.rules[finding.rule], indexes[finding.rule], uris)
            for finding in result.findings
        ],
        properties=RunProperties(status=result.status),
    )


def make_rule(rule: Rule) -> ReportingDescriptor:
    return ReportingDescriptor(
        id=rule.id,
        short_description=Message(text=rule.title),
        help=Message(text=rule.explanation),
        default_configuration=RuleConfiguration(level=rule.level.value),
        properties=RuleProperties(category=rule.category, tags=[rule.category]),
    )


def make_artifact(uri: str, content: bytes) -> Artifact:
    return Artifact(
        location=ArtifactLocation(uri=uri),
        length=len(content),
        hashes={"sha-256": hashlib.sha256(content).hexdigest()},
    )


def make_result(finding: Finding, rule: Rule, index: int, uris: Uris) -> Result:
    place = PhysicalLocation(
        artifact_location=ArtifactLocation(uri=uris[finding.file]),
        region=make_region(finding.region),
    )
    return Result(
        rule_id=rule.id,
        rule_index=index,
        level=rule.level.value,
        message=Message(text=finding.message),
        locations=[Location(physical_location=place)],
        fixes=[make_fix(finding, rule, uris)] if finding.fix else None,
        properties=ResultProperties(category=rule.category),
    )


def make_fix(finding: Finding, rule: Rule, uris: Uris) -> Fix:
    by_file: dict[str, list[Edit]] = {}
    for edit in finding.fix:
        by_file.setdefault(edit.file, []).append(edit)
    changes = [
        ArtifactChange(
            artifact_location=ArtifactLocation(uri=uris[file]),
            replacements=[make_replacement(edit) for edit in edits],
        )
        for file, edits in by_file.items()
    ]
    return Fix(
        description=Message(text=finding.fix_text or rule.title), artifact_changes=changes
    )


def make_replacement(edit: Edit) -> Replacement:
    return Replacement(
        deleted_region=make_region(edit.region), inserted_content=Message(text=edit.text)
    )


def make_region(region: domain.Region) -> Region:
    return Region(
        start_line=region.start_line,
        start_column=region.start_column,
        end_line=region.end_line,
        end_column=region.end_column,
    )
