"""Compares programs in files and directories, without a server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language
from deemster.domain.similarity import Match
from deemster.domain.source import SOURCE_BYTES
from deemster.pipeline.similarity.comparison import Program, compare_all
from deemster.pipeline.similarity.reading import read_program, template_hashes
from deemster.programs.tokenizer import TokenizeFailed, Tokenizer

TOO_SHORT: Final = "too short to compare"
UNKNOWN: Final = "no file in a known language"


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A file, or a directory with all files of one program."""

    name: str
    language: Language
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class OfflineReport:
    compared: Mapping[str, Sequence[str]]
    """Names of the files of each compared program."""
    left_out: Mapping[str, str]
    """Programs that were not compared, with the reason."""
    matches: Sequence[Match[str]]


async def compare_files(
    tokenizer: Tokenizer, catalogue: Catalogue, paths: Sequence[Path], templates: Sequence[Path]
) -> OfflineReport:
    starters = {str(file): read_text(file) for file in templates}
    left_out: dict[str, str] = {}
    compared: dict[str, Sequence[str]] = {}
    by_lexer: dict[str, list[Program[str]]] = {}
    template_of: dict[str, frozenset[int]] = {}
    for name, files in programs_in(paths):
        program = find_language(catalogue, name, files)
        if program is None:
            left_out[name] = UNKNOWN
            continue
        lexer = program.language.lexer
        if lexer not in template_of:
            template_of[lexer] = await template_hashes(tokenizer, catalogue, lexer, starters)
        try:
            read = await read_program(
                tokenizer, program.language, program.files, template_of[lexer]
            )
        except TokenizeFailed as fault:
            left_out[name] = str(fault)
            continue
        if read.is_too_short:
            left_out[name] = TOO_SHORT
            continue
        compared[name] = read.files
        by_lexer.setdefault(lexer, []).append(Program(name, name, read.fingerprints))
    matches = [match for programs in by_lexer.values() for match in compare_all(programs)]
    matches.sort(key=lambda match: -match.similarity)
    return OfflineReport(compared, left_out, matches)


def programs_in(paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Each file is a program. In a directory each file, and each directory, is a program."""
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise Refused(f"There is no file or directory {path}: check its name.")
        entries = sorted(path.iterdir()) if path.is_dir() else [path]
        for entry in entries:
            if entry.name.startswith(".") or entry.resolve() in seen:
                continue
            seen.add(entry.resolve())
            inner = sorted(entry.rglob("*")) if entry.is_dir() else [entry]
            files = {
                file.relative_to(entry if entry.is_dir() else entry.parent).as_posix(): file
                for file in inner
                if file.is_file() and not file.is_symlink()
            }
            yield str(entry), {name: read_bytes(file) for name, file in files.items()}


def find_language(
    catalogue: Catalogue, name: str, files: Mapping[str, bytes]
) -> FoundProgram | None:
    """The language of the first file that has a known one, with all files of that language."""
    for file, content in files.items():
        try:
            language = catalogue.for_file(file, content.decode(errors="replace"))
        except Refused:
            continue
        alike = {each: files[each] for each in files if language.is_source(each)}
        return FoundProgram(name, language, alike)
    return None


def read_bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(SOURCE_BYTES)
    except OSError as fault:
        raise Refused(
            f"Can't read {file} ({fault.strerror}): check its permissions."
        ) from fault


def read_text(file: Path) -> str:
    if not file.is_file():
        raise Refused(f"There is no template {file}: check its name.")
    return read_bytes(file).decode(errors="replace")
