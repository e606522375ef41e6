"""Refuses packages whose jury programs no machine of this judge can run."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language
from deemster.domain.problem import Problem
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.judge.sources import jury_programs, language_of, read_program


@dataclass(frozen=True, slots=True)
class JuryLanguages:
    catalogue: Catalogue
    available: AvailableLanguages

    async def check(self, root: Path, problem: Problem) -> None:
        for path, language in await asyncio.to_thread(list, self._find(root, problem)):
            try:
                await self.available.check(language)
            except Refused as refusal:
                raise type(refusal)(f"{path} can't be run. {refusal}") from None

    def _find(self, root: Path, problem: Problem) -> Iterator[tuple[str, Language]]:
        """The programs with a language; scripts bring what they need."""
        for program in jury_programs(problem):
            if not program.scripted:
                files = read_program(root, program.path, {})
                yield (
                    program.path,
                    language_of(self.catalogue, files, program.language, program.path),
                )
