"""Finds the statements of an ICPC package and the problem's name in each language."""

import re
from collections.abc import Mapping
from typing import Literal

from deemster.domain.problem import Statement
from deemster.problems.formats.icpc.field_types import LANGUAGE_CODE
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.settings import IcpcSettings
from deemster.problems.formats.tex.convert import plain_tex, tex_argument

Kind = Literal["md", "tex", "pdf", "html", "txt"]
KINDS: tuple[Kind, ...] = ("md", "tex", "html", "txt", "pdf")
NAME = re.compile(r"problem(?:\.(?P<language>[^.]+))?\.(?P<kind>md|tex|pdf|html|txt)")
SEARCHED_BYTES = 256 * 1024
"""The title must be in this first part of a TeX statement."""
PLAIN_NAME = re.compile(r"^%%\s*plainproblemname:(.*)$", re.MULTILINE)


def read_statements(folder: Folder, settings: IcpcSettings) -> tuple[Statement, ...]:
    usual, other = "problem_statement", "statement"
    if not settings.version.is_legacy:
        usual, other = other, usual
    found = statements_in(folder, usual, settings)
    if not found and folder.is_directory(other):
        folder.warn(f"{other}: this version calls it {usual}.")
        found = statements_in(folder, other, settings)
    if not found:
        found = statements_in(folder, "", settings)
    if not found:
        folder.warn(f"{usual}: there is no statement, such as problem.en.tex.")
    return tuple(sorted(found, key=lambda each: (each.language, KINDS.index(each.kind))))


def statements_in(folder: Folder, directory: str, settings: IcpcSettings) -> list[Statement]:
    found: list[Statement] = []
    for name in folder.names(directory):
        match = NAME.fullmatch(name)
        path = below(directory, name)
        if match is None or not folder.is_file(path):
            continue
        language = match["language"] or "en"
        if not LANGUAGE_CODE.fullmatch(language):
            folder.warn(
                f"{path}: ignored, because '{language}' is not a language code such as en."
            )
            continue
        kind = next(each for each in KINDS if each == match["kind"])
        title = title_of(folder, path, kind, language, settings)
        found.append(Statement(language, kind, path, title))
    return found


def title_of(
    folder: Folder, path: str, kind: Kind, language: str, settings: IcpcSettings
) -> str:
    given = settings.names.get(language)
    if given is None and settings.version.is_legacy:
        # There problem.yaml has one name, without its language.
        given = next(iter(settings.names.values()), None)
    written = title_in_tex(folder, path) if kind == "tex" else ""
    if settings.version.is_legacy:
        return written or given or ""
    return given or written


def title_in_tex(folder: Folder, path: str) -> str:
    """The `plainproblemname` of a TeX file, else its `problemname` without formatting."""
    with folder.path(path).open("rb") as stream:
        text = stream.read(SEARCHED_BYTES).decode("utf-8-sig", errors="replace")
    plain = PLAIN_NAME.search(text)
    if plain and plain[1].strip():
        return plain[1].strip()
    return plain_tex(tex_argument(text, "problemname") or "")


def names_of(
    folder: Folder, statements: tuple[Statement, ...], settings: IcpcSettings, slug: str
) -> Mapping[str, str]:
    """Names by language; the slug if there is no other name."""
    written = {each.language: each.title for each in statements if each.title}
    if settings.version.is_legacy:
        names = written or dict(settings.names)
    else:
        names = dict(settings.names)
        languages = {each.language for each in statements}
        for language in sorted(languages ^ names.keys()):
            if languages:
                lacks = "a statement" if language in names else "a name in problem.yaml"
                folder.warn(f"problem.yaml: the language {language} lacks {lacks}.")
    return names or {"en": slug}
