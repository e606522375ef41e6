"""Parses `problem.xml` without entities, and checks the paths in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.problems.archive.names import clean_name

FILE = "problem.xml"
MAX_BYTES = 16 * MIB
PATTERN = re.compile(r"[^%]*%(0\d)?d[^%]*")


@dataclass(frozen=True, slots=True)
class Node:
    """An element, with its location for messages."""

    element: Element
    location: str

    def get(self, attribute: str, default: str = "") -> str:
        return self.element.get(attribute, default).strip()

    def need(self, attribute: str) -> str:
        value = self.get(attribute)
        if not value:
            raise self.refused(f"has no '{attribute}'")
        return value

    def child(self, path: str) -> "Node | None":
        found = self.element.find(path)
        return None if found is None else Node(found, f"{self.location}/{path}")

    def children(self, path: str) -> Iterator["Node"]:
        for number, found in enumerate(self.element.findall(path), start=1):
            yield Node(found, f"{self.location}/{path}[{number}]")

    def text(self, path: str, default: str = "") -> str:
        return (self.element.findtext(path) or default).strip()

    def number(self, path: str) -> int:
        text = self.text(path)
        if not re.fullmatch(r"[1-9]\d{0,14}", text):
            raise self.refused(f"has no sensible <{path}> ({text[:40]!r})")
        return int(text)

    def is_true(self, attribute: str) -> bool:
        return self.get(attribute).lower() == "true"

    def refused(self, what: str) -> Refused:
        return Refused(
            f"{FILE}: {self.location} {what}: correct it in Polygon, and build again."
        )


def read_document(root: Path) -> Node:
    path = root / FILE
    if path.stat().st_size > MAX_BYTES:
        raise Refused(f"{FILE} has more than {MAX_BYTES // MIB} MB: shorten it.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{FILE} is not UTF-8: build the package again in Polygon.") from None
    # Without these there are no entities, which could expand or load files.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Refused(f"{FILE} has a document type or entities, which Polygon never writes.")
    try:
        element = fromstring(text)  # noqa: S314 - see above
    except ParseError as fault:
        raise Refused(f"{FILE} can't be read: {fault}.") from None
    if element.tag != "problem":
        raise Refused(f"{FILE} contains <{element.tag[:40]}> instead of <problem>.")
    return Node(element, "problem")


def path_of(node: Node, attribute: str = "path") -> str:
    """The path in an attribute, checked to be inside of the package."""
    return clean_name(node.need(attribute).replace("\\", "/"))


def existing_file(root: Path, node: Node) -> str:
    path = path_of(node)
    if not (root / path).is_file():
        raise node.refused(f"names {path}, which is not in the package")
    return path


def path_pattern(node: Node, path: str, default: str = "") -> str:
    """A pattern such as `tests/%02d`."""
    pattern = node.text(path, default)
    if not PATTERN.fullmatch(pattern):
        raise node.refused(f"has no sensible <{path}> ({pattern[:60]!r})")
    return clean_name(pattern)
