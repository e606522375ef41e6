"""Reads tables of measured functions (CSV), and compares them with the limits of the rules."""

import csv
from collections.abc import Iterable, Iterator, Mapping

from deemster.domain.analysis import OutputForm, Rule
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    ToolFinding,
    UnreadableOutput,
)


def read_table(output: bytes, form: OutputForm, rules: Iterable[Rule]) -> Iterator[ToolFinding]:
    """The table has at least the columns `file` and `start`, the first line of a function."""
    measured = [(rule.id, rule.measure) for rule in rules if rule.measure]
    measured.sort(key=lambda each: each[1].above)
    for row in read_rows(output, form):
        # Of several rules about one column, the one with the highest limit is reported.
        broken = {
            measure.column: (rule, measure)
            for rule, measure in measured
            if number(row, measure.column) > measure.above
        }
        for rule, measure in broken.values():
            yield ToolFinding(
                rule=rule,
                path=row["file"],
                # The code outside of functions starts at line 0.
                place=LinePlace(max(1, number(row, "start"))),
                message=measure.message.format_map(row),
            )


def read_rows(output: bytes, form: OutputForm) -> Iterator[Mapping[str, str]]:
    lines = output.decode(errors="replace").splitlines()
    try:
        for row in csv.reader(lines, strict=True):
            if len(row) != len(form.table):
                raise UnreadableOutput(f"a table with {len(form.table)} columns")
            yield dict(
                zip(form.table, (form.names.get(each, each) for each in row), strict=True)
            )
    except csv.Error as fault:
        raise UnreadableOutput("CSV") from fault


def number(row: Mapping[str, str], column: str) -> int:
    text = row[column]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UnreadableOutput(f"a number in the column {column}")
    return int(text)
