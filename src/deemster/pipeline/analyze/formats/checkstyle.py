"""Reads the XML of Checkstyle, which other tools print too."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, fromstring

from deemster.domain.analysis import OutputForm
from deemster.pipeline.analyze.formats.tool_finding import (
    LinePlace,
    ToolFinding,
    UnreadableOutput,
    rule_name,
)


def read_checkstyle(output: bytes, form: OutputForm) -> Iterator[ToolFinding]:
    for file in parse(output).iterfind("file"):
        for error in file.iterfind("error"):
            yield ToolFinding(
                rule=rule_name(form, error.get("source", "")),
                path=file.get("name", ""),
                place=LinePlace(number(error, "line") or 0, number(error, "column")),
                message=error.get("message", ""),
            )


def parse(output: bytes) -> Element:
    try:
        text = output.decode()
        # Without these there are no entities, which could expand or load files.
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise UnreadableOutput("XML without a document type")
        return fromstring(text)  # noqa: S314 - see above
    except (ParseError, ValueError) as fault:
        raise UnreadableOutput("XML of Checkstyle") from fault


def number(error: Element, name: str) -> int | None:
    text = error.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
