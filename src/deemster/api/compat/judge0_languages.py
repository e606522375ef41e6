"""Judge0's language ids, with the languages of this judge that stand for them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from deemster.domain.language import Catalogue, Language, extension_of

MULTI_FILE: Final = 89
"""A zip archive whose script `run`, after an optional script `compile`, is run by Bash."""
BASH: Final = "bash"

NAMES: Final[Mapping[str, str]] = {
    "nasm": "Assembly",
    "cpp17": "C++",
    "python3": "Python",
    "sql": "SQL",
    "text": "Plain Text",
}
"""Judge0's names of languages that have another name here."""

SCRIPTS: Final = frozenset(
    {
        *("bash", "javascript", "lisp", "lua", "perl", "php", "python3"),
        *("r", "ruby", "sql", "typescript"),
    }
)
"""Languages whose source Judge0 calls `script`, with the extension of the language."""
STANDARD: Final[Mapping[int, str]] = {
    43: "text",
    45: "nasm",
    46: "bash",
    48: "c",
    49: "c",
    50: "c",
    51: "csharp",
    52: "cpp17",
    53: "cpp17",
    54: "cpp17",
    55: "lisp",
    56: "d",
    59: "fortran",
    60: "go",
    61: "haskell",
    62: "java",
    63: "javascript",
    64: "lua",
    65: "ocaml",
    67: "pascal",
    68: "php",
    69: "prolog",
    71: "python3",
    72: "ruby",
    73: "rust",
    74: "typescript",
    75: "c",
    76: "cpp17",
    77: "cobol",
    78: "kotlin",
    79: "objectivec",
    80: "r",
    81: "scala",
    82: "sql",
    85: "perl",
    MULTI_FILE: BASH,
}
EXTRA: Final[Mapping[int, str]] = {
    1: "c",
    2: "cpp17",
    4: "java",
    9: "nim",
    10: "python3",
    22: "csharp",
    MULTI_FILE: BASH,
}
"""Ids of Judge0's second edition, Extra CE, which numbers its languages anew."""


@dataclass(frozen=True, slots=True)
class Judge0Language:
    id: int
    name: str
    language: Language

    @property
    def is_multi_file(self) -> bool:
        return self.id == MULTI_FILE

    @property
    def takes_compiler_options(self) -> bool:
        """False if the compiler only checks the source, too."""
        compiler = self.language.compile
        return not self.is_multi_file and compiler is not None and bool(compiler.output)

    @property
    def source_file(self) -> str:
        name = self.language.source.file
        return f"script.{extension_of(name)}" if self.language.id in SCRIPTS else name

    def summary(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name}

    def details(self) -> dict[str, Any]:
        compiler = self.language.compile if self.takes_compiler_options else None
        return {
            **self.summary(),
            "is_archived": False,
            "source_file": None if self.is_multi_file else self.source_file,
            "compile_cmd": " ".join(compiler.argv) if compiler else None,
            "run_cmd": None if self.is_multi_file else " ".join(self.language.run.argv),
        }


def judge0_languages(
    catalogue: Catalogue, installed: Mapping[str, Sequence[str]], *, extra: bool
) -> dict[int, Judge0Language]:
    """The languages that a worker has; all, without versions, while no worker is known."""
    known: dict[str, Language] = {language.id: language for language in catalogue}
    return {
        number: Judge0Language(number, name_of(number, known[name], installed), known[name])
        for number, name in (EXTRA if extra else STANDARD).items()
        if name in known and (name in installed or not installed)
    }


def name_of(number: int, language: Language, installed: Mapping[str, Sequence[str]]) -> str:
    """Judge0's form, such as `Python (3.11.2)` or `C (GCC 12.2.0)`."""
    if number == MULTI_FILE:
        return "Multi-file program"
    name = NAMES.get(language.id, language.name)
    versions = installed.get(language.id)
    if not versions or language.id == "text":
        return name
    version = re.sub(r" \(.*\)$", "", versions[-1])
    version = re.sub(rf"^C?{re.escape(name)} ", "", version)
    return f"{name} ({version})"
