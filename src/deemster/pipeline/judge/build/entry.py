"""Finds what a compiled program starts with, where its language starts classes."""

import os
from pathlib import Path

from deemster.domain.language import EntryRule, Language
from deemster.domain.source import Source, stem_of

MAX_SHOWN = 5


def find_entry(
    language: Language, source: Source, main: str | None, directory: Path
) -> tuple[str, str]:
    """What the run step starts, or else why it can't start anything."""
    rule = language.run.entry
    if rule is None:
        return main or language.source.file, ""
    found = sorted(startable(directory, rule), key=lambda name: rank(name, main, rule))
    if source.main is not None and main is None:
        if source.main in map(class_name, found):
            return source.main, ""
        return "", f"The entry point '{source.main}' has no main method. {having(found)}"
    if not found:
        return "", "There is no main method to start."
    if main is None and len(found) > 1 and not is_inner(found[1]):
        return "", f"It isn't clear which class starts: name one of them. {having(found)}"
    return class_name(found[0]), ""


def startable(directory: Path, rule: EntryRule) -> list[str]:
    """The paths of the compiled classes that hold what the rule demands, without suffix."""
    return [
        in_the_box(path.relative_to(directory)).removesuffix(rule.suffix)
        for path in directory.rglob(f"*{rule.suffix}")
        # A name like an option would be taken for one.
        if path.is_file() and not path.name.startswith("-") and holds(path, rule)
    ]


def in_the_box(path: Path) -> str:
    """Names are UTF-8 there, whatever the host's locale."""
    return os.fsencode(path).decode(errors="surrogateescape")


def holds(path: Path, rule: EntryRule) -> bool:
    content = path.read_bytes()
    return all(needle in content for needle in rule.contains)


def rank(name: str, main: str | None, rule: EntryRule) -> tuple[bool, bool, bool, str]:
    """The main source's own class comes first, and nested classes last."""
    above, _, own = name.rpartition("/")
    wanted = [fill_stem(pattern, stem_of(main or "")) for pattern in rule.names]
    beside = above == (main or "").rpartition("/")[0]
    return not (own in wanted and beside), own not in wanted, is_inner(name), name


def fill_stem(pattern: str, stem: str) -> str:
    return pattern.replace("{stem}", stem).replace("{Stem}", stem[:1].upper() + stem[1:])


def is_inner(name: str) -> bool:
    return "$" in name


def class_name(name: str) -> str:
    return name.replace("/", ".")


def having(found: list[str]) -> str:
    if not found:
        return "No class has one."
    shown = ", ".join(map(class_name, found[:MAX_SHOWN]))
    return f"These have one: {shown}{', …' if len(found) > MAX_SHOWN else ''}."
