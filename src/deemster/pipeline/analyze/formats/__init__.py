"""One adapter for each output format of analysers; none knows a tool."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from deemster.domain.analysis import Analyzer, OutputForm
from deemster.pipeline.analyze.formats.checkstyle import read_checkstyle
from deemster.pipeline.analyze.formats.clang_fixes import read_clang_fixes
from deemster.pipeline.analyze.formats.go_vet import read_go_vet
from deemster.pipeline.analyze.formats.lines import read_lines
from deemster.pipeline.analyze.formats.rustc import read_rustc
from deemster.pipeline.analyze.formats.sarif_reader import read_sarif
from deemster.pipeline.analyze.formats.shellcheck import read_shellcheck
from deemster.pipeline.analyze.formats.table import read_table
from deemster.pipeline.analyze.formats.tool_finding import ToolFinding

Adapter = Callable[[bytes, OutputForm], Iterable[ToolFinding]]

TABLE: Final = "table"
"""The only format that needs to know the rules: they have the limits."""
ADAPTERS: Final[Mapping[str, Adapter]] = {
    "checkstyle": read_checkstyle,
    "clang-fixes": read_clang_fixes,
    "go-vet": read_go_vet,
    "lines": read_lines,
    "rustc": read_rustc,
    "sarif": read_sarif,
    "shellcheck": read_shellcheck,
}
FORMATS: Final = frozenset({TABLE, *ADAPTERS})


def read_output(analyzer: Analyzer, output: bytes) -> list[ToolFinding]:
    """Raises UnreadableOutput, and nothing else, whatever the output is."""
    adapter = ADAPTERS.get(analyzer.output.format) or partial(
        read_table, rules=analyzer.rules.values()
    )
    return list(adapter(output, analyzer.output))
