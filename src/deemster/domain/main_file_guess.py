"""Guesses the main file of a program: the source file to which no other file refers."""

import re
from collections.abc import Mapping

from deemster.domain.language import Language

REFERENCE = re.compile(
    rb"""(?ix)
    \buses\b[^;]{0,4000}  # Pascal
    | \b(?:import|from|include|include_once|require\w*|mod|use
        |source|consult|ensure_loaded|use_module|load_files|dofile)\b[^\n]{0,500}
    """
)
"""Statements by which the languages that start a file refer to others."""
NAME = re.compile(rb"[\w-]+")
BEGINNING_BYTES = 65_536


def files_that_start(language: Language, files: Mapping[str, bytes]) -> list[str]:
    """In the given order; empty if each file is a module or refers to another one."""
    referred = {name: names_in_references(content) for name, content in files.items()}
    return [
        name
        for name, content in files.items()
        if not is_module(language, content)
        and not any(stem(name) in names for other, names in referred.items() if other != name)
    ]


def names_in_references(content: bytes) -> frozenset[bytes]:
    found = (NAME.findall(reference) for reference in REFERENCE.findall(content))
    return frozenset(name.lower() for names in found for name in names)


def is_module(language: Language, content: bytes) -> bool:
    pattern = language.source.module
    text = content[:BEGINNING_BYTES].decode(errors="replace")
    return bool(pattern and re.match(pattern, text))


def stem(name: str) -> bytes:
    return name.rpartition("/")[2].rpartition(".")[0].lower().encode()
