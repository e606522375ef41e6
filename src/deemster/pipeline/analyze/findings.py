"""Turns what a tool printed into findings: checks rules, files and places, and cleans texts."""

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from urllib.parse import unquote

from deemster.domain.analysis import Analyzer, Edit, Finding, Region, RuleId
from deemster.pipeline.analyze.formats.tool_finding import ToolEdit, ToolFinding
from deemster.pipeline.analyze.places import SourceText
from deemster.sandbox.command import CODE_DIR, WORK_DIR

MAX_FINDINGS = 200
"""Findings that are kept of one tool; a program with more has other problems."""
MESSAGE_CHARACTERS = 1_000
FIX_CHARACTERS = 10_000
MAX_EDITS = 100


@dataclass(frozen=True, slots=True)
class Resolved:
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...]
    """How many findings were left out, and which."""


def resolve(
    analyzer: Analyzer,
    printed: Iterable[ToolFinding],
    files: Mapping[str, bytes],
    reported: AbstractSet[str],
) -> Resolved:
    """Findings of rules that are on, each once, in order of place.

    The tool read `files`; findings in other files than `reported` are left out.
    """
    unit = analyzer.output.columns
    texts = {name: SourceText(content, unit) for name, content in files.items()}
    found: dict[tuple[str, Region, RuleId], Finding] = {}
    elsewhere = others = 0
    for each in printed:
        rule = RuleId(each.rule)
        if rule not in analyzer.rules:
            others += 1
            continue
        name = source_name(each.path, texts)
        region = texts[name].region(each.place) if name in texts else None
        if region is None or name not in reported:
            elsewhere += region is None
            continue
        edits = tuple(resolve_edits(each.edits, texts))
        complete = len(edits) == len(each.edits)
        found.setdefault(
            (name, region, rule),
            Finding(
                rule=rule,
                file=name,
                region=region,
                message=clean(each.message) or analyzer.rules[rule].title,
                fix=edits if complete else (),
                fix_text=clean(each.fix_text) if edits and complete else "",
            ),
        )
    ordered = [found[key] for key in sorted(found)]
    left_out = {
        "of rules that are not on": others,
        "in places that the program does not have": elsewhere,
        f"after the first {MAX_FINDINGS}": max(0, len(ordered) - MAX_FINDINGS),
    }
    remarks = [f"Left out: {count} {which}." for which, count in left_out.items() if count]
    return Resolved(tuple(ordered[:MAX_FINDINGS]), tuple(remarks))


def resolve_edits(
    edits: tuple[ToolEdit, ...], texts: Mapping[str, SourceText]
) -> Iterator[Edit]:
    for edit in edits[:MAX_EDITS]:
        name = source_name(edit.path, texts)
        region = texts[name].edit_region(edit.place) if name in texts else None
        if region is not None and len(edit.text) <= FIX_CHARACTERS:
            yield Edit(name, region, edit.text.encode(errors="replace").decode())


def source_name(path: str, known: Container[str]) -> str:
    """The name of a source file, from the path or URI by which a tool calls it."""
    path = path.removeprefix("file://")
    for each in (path, unquote(path)):
        name = posixpath.normpath(posixpath.join(WORK_DIR, each)).removeprefix(f"{CODE_DIR}/")
        if name in known:
            return name
    return ""


def clean(text: str) -> str:
    """One line without control characters, which could deceive a terminal or a reader."""
    line = " ".join(text.replace(f"{CODE_DIR}/", "").split())
    shown = "".join(char if char.isprintable() else "�" for char in line)
    return shown[:MESSAGE_CHARACTERS] + ("…" if len(shown) > MESSAGE_CHARACTERS else "")
