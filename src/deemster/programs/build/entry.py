"""Finds the entry point of a compiled program: a file, or a class with a main method."""

import os
import stat
from pathlib import Path

from deemster.domain.language import EntryRule, Language
from deemster.domain.source import Source, stem_of

MAX_SHOWN = 5
OUTPUT_PREFIX = "{code}/"
"""Begins the first argument of a run step that starts the compiler's output itself."""
EXECUTABLE = (b"\x7fELF", b"#!")
"""The first bytes of files that the kernel executes."""


def find_entry(
    language: Language, source: Source, main: str | None, directory: Path
) -> tuple[str, str]:
    """The entry point, or an empty string and the reason."""
    rule = language.run.entry
    if rule is None:
        return main or language.source.file, ""
    found = sorted(startable_classes(directory, rule), key=lambda name: rank(name, main, rule))
    if source.main is not None and main is None:
        if source.main in map(class_name, found):
            return source.main, ""
        return "", f"The entry point '{source.main}' has no main method. {list_classes(found)}"
    if not found:
        return "", "No class has a main method."
    if main is None and len(found) > 1 and not is_inner(found[1]):
        message = "Several classes have a main method: name one as the entry point."
        return "", f"{message} {list_classes(found)}"
    return class_name(found[0]), ""


def is_program_missing(language: Language, directory: Path) -> bool:
    """Some compilers succeed with a library, an object file or nothing at all."""
    started = language.run.argv[0]
    if not started.startswith(OUTPUT_PREFIX):
        return False
    program = directory / started.removeprefix(OUTPUT_PREFIX)
    if not program.is_file() or not program.stat().st_mode & stat.S_IXUSR:
        return True
    with program.open("rb") as opened:
        return not opened.read(4).startswith(EXECUTABLE)


def startable_classes(directory: Path, rule: EntryRule) -> list[str]:
    """The paths, without suffix, of the compiled classes that match the rule."""
    found = [path for path in directory.rglob(f"*{rule.suffix}") if path.is_file()]
    return [
        sandbox_name(path.relative_to(directory)).removesuffix(rule.suffix)
        for path in found
        if can_be_named(path.relative_to(directory)) and matches(path, rule)
    ]


def can_be_named(path: Path) -> bool:
    """A name that starts with a dash is taken for an option; the others can't be stored."""
    return not path.name.startswith("-") and sandbox_name(path).isprintable()


def sandbox_name(path: Path) -> str:
    """Names are UTF-8 in the sandbox, whatever the host's locale."""
    return os.fsencode(path).decode(errors="surrogateescape")


def matches(path: Path, rule: EntryRule) -> bool:
    content = path.read_bytes()
    return all(needle in content for needle in rule.contains)


def rank(name: str, main: str | None, rule: EntryRule) -> tuple[bool, bool, bool, str]:
    """The class of the main source file comes first, and nested classes last."""
    directory, _, stem = name.rpartition("/")
    expected = [fill_stem(pattern, stem_of(main or "")) for pattern in rule.names]
    same_directory = directory == (main or "").rpartition("/")[0]
    return not (stem in expected and same_directory), stem not in expected, is_inner(name), name


def fill_stem(pattern: str, stem: str) -> str:
    return pattern.replace("{stem}", stem).replace("{Stem}", stem[:1].upper() + stem[1:])


def is_inner(name: str) -> bool:
    return "$" in name


def class_name(name: str) -> str:
    return name.replace("/", ".")


def list_classes(found: list[str]) -> str:
    if not found:
        return "No class has one."
    shown = ", ".join(map(class_name, found[:MAX_SHOWN]))
    return f"These have one: {shown}{', …' if len(found) > MAX_SHOWN else ''}."
