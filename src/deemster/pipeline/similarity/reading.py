"""Reads programs: their files become symbols, and the symbols fingerprints."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language
from deemster.domain.source import source_files
from deemster.pipeline.similarity.comparison import FEWEST_SYMBOLS, covered
from deemster.pipeline.similarity.fingerprints import (
    Fingerprints,
    fingerprints_of,
    sequence_hashes,
)
from deemster.pipeline.similarity.symbols import Symbol, symbols_of
from deemster.programs.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class ReadProgram:
    files: Sequence[str]
    """Names of the files, in the order of their numbers in the fingerprints."""
    fingerprints: Fingerprints

    @property
    def is_too_short(self) -> bool:
        """Whether too little is left of the program without the template."""
        return covered(self.fingerprints) < FEWEST_SYMBOLS


async def read_program(
    tokenizer: Tokenizer,
    language: Language,
    files: Mapping[str, bytes],
    template: AbstractSet[int] = frozenset(),
) -> ReadProgram:
    names = source_files(language, files) or sorted(files)
    symbols = [await read_symbols(tokenizer, language.lexer, files[name]) for name in names]
    return ReadProgram(names, await asyncio.to_thread(fingerprints_of, symbols, template))


async def read_symbols(tokenizer: Tokenizer, lexer: str, content: bytes) -> list[Symbol]:
    tokens = await tokenizer.tokens(lexer, content.decode(errors="replace"))
    return await asyncio.to_thread(symbols_of, tokens)


async def template_hashes(
    tokenizer: Tokenizer, catalogue: Catalogue, lexer: str, starters: Mapping[str, str]
) -> frozenset[int]:
    """Hashes of all code that a program in this language may begin with: the templates of the
    languages, and the starter files of the problem.
    """
    sources = [each.template for each in catalogue if each.lexer == lexer]
    sources += starters_in(catalogue, lexer, starters)
    found: set[int] = set()
    for source in sources:
        symbols = await read_symbols(tokenizer, lexer, source.encode(errors="replace"))
        found.update(sequence_hashes(symbols))
    return frozenset(found)


def starters_in(catalogue: Catalogue, lexer: str, starters: Mapping[str, str]) -> Iterable[str]:
    for name, text in sorted(starters.items()):
        try:
            language = catalogue.for_file(name, text)
        except Refused:
            continue
        if language.lexer == lexer:
            yield text
