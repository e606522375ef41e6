"""Loads the descriptions of the analysers from their TOML files."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from deemster.domain.analysis import (
    Analyzer,
    Category,
    Level,
    Measure,
    OutputForm,
    Rule,
    RuleId,
)
from deemster.domain.errors import Refused
from deemster.domain.language import LanguageId
from deemster.domain.limits import MIB
from deemster.pattern_messages import text_form
from deemster.pipeline.analyze.formats import FORMATS
from deemster.programs.build.boxed_tool_file import BoxedToolFile, RunTable, Text
from deemster.programs.build.languages import (
    Extension,
    Name,
    Pattern,
    Table,
    compiler_limits,
    read_toml,
    refuse_unknown_placeholders,
    shipped_directory,
)

OUTPUT_BYTES = 4 * MIB
"""The most that an analyser may print; more is a failure of the tool."""
PLACEHOLDERS = frozenset(
    {"code", "data", "language", "output", "rule_options", "rules", "source", "sources"}
)


def load_analyzers(directory: Path | None = None) -> tuple[Analyzer, ...]:
    """The analysers in a directory; by default those that come with Deemster."""
    directory = directory or shipped_directory("analyzers")
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise Refused(f"There is no analyser file in {directory}: reinstall Deemster.")
    return tuple(load_analyzer(file) for file in files)


def load_analyzer(file: Path) -> Analyzer:
    read = read_toml(file, AnalyzerFile)
    if read.output.format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise Refused(
            f"{file}: there is no output format {read.output.format!r}: use one of {known}."
        )
    refuse_unknown_placeholders(
        file,
        {
            "version.argv": (read.version.argv, frozenset()),
            "run.argv": (read.run.argv, PLACEHOLDERS),
            "run.rule_option": ([read.run.rule_option], frozenset({"rule"})),
        },
        read.tools.keys(),
    )
    measures = {
        f"rules.{name}.message": ([f"{{{rule.column}}}", rule.message], set(read.output.table))
        for name, rule in read.rules.items()
        if rule.column
    }
    refuse_unknown_placeholders(file, measures, frozenset())
    return read.to_domain()


class RuleTable(Table):
    title: Text
    category: Category
    level: Level
    explanation: Text
    column: str = ""
    above: int = 0
    message: str = ""
    always: bool = False

    def to_domain(self, name: str) -> Rule:
        return Rule(
            id=RuleId(name),
            title=self.title,
            category=self.category,
            level=self.level,
            explanation=" ".join(self.explanation.split()),
            measure=Measure(self.column, self.above, self.message) if self.column else None,
            always=self.always,
        )


class CommandTable(RunTable):
    rule_option: str = ""
    exit_codes: frozenset[int] = frozenset({0, 1})
    cpu_s: PositiveInt
    memory_mb: PositiveInt
    processes: PositiveInt = 64
    file_mb: PositiveInt = 64


class OutputTable(Table):
    format: str
    stream: Annotated[
        str, text_form(r"^[a-z][a-z.]*$", "use stdout, stderr or the name of a file")
    ] = "stdout"
    columns: Literal["characters", "bytes", "utf16"] = "characters"
    rule_pattern: Pattern = ""
    line_pattern: Pattern = ""
    table: tuple[str, ...] = ()
    names: dict[str, str] = Field(default_factory=dict)
    default_rule: str = ""


class AnalyzerFile(BoxedToolFile):
    """One file of `analyzers/`."""

    also_reads: frozenset[Extension] = frozenset()
    packages: tuple[Name, ...] = ()
    suppressions: tuple[Annotated[str, text_form(r"[A-Za-z]", "use a letter")], ...] = ()
    languages: Annotated[dict[Name, tuple[str, ...]], Field(min_length=1)]
    run: CommandTable
    output: OutputTable
    rules: Annotated[dict[str, RuleTable], Field(min_length=1)]

    def to_domain(self) -> Analyzer:
        run = self.run
        limits = compiler_limits(run.cpu_s, run.memory_mb, run.processes, run.file_mb)
        return Analyzer(
            **self.tool_fields(run, "analyze"),
            languages={LanguageId(name): args for name, args in self.languages.items()},
            also_reads=self.also_reads,
            packages=self.packages,
            rule_option=run.rule_option,
            exit_codes=run.exit_codes,
            limits=replace(limits, output_bytes=OUTPUT_BYTES),
            output=OutputForm(**self.output.model_dump()),
            suppressions=self.suppressions,
            files={name: text.encode() for name, text in self.files.items()},
            rules={RuleId(name): rule.to_domain(name) for name, rule in self.rules.items()},
        )


def for_language(
    analyzers: Iterable[Analyzer], languages: Iterable[LanguageId]
) -> list[Analyzer]:
    """Those that analyse one of the languages."""
    wanted = set(languages)
    return [each for each in analyzers if not wanted.isdisjoint(each.languages)]
