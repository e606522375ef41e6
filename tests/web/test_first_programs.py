"""W1: the programs on the page of languages do what the page says."""

import pytest

from deemster.domain.limits import Limits
from deemster.web.first_programs import BY_LANGUAGE, INPUT, OUTPUT
from tests.programs.conftest import OpenLanguage, open_language

__all__ = ["open_language"]
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000)


@pytest.mark.parametrize("language", BY_LANGUAGE)
async def test_the_first_program_of_a_language_adds_two_numbers(
    language: str,
    open_language: OpenLanguage,
) -> None:
    async with open_language(language) as runner:
        built = await runner.build(BY_LANGUAGE[language])
        report = await runner.run(built, LIMITS, INPUT.encode())
    assert (report.stdout.decode(), report.stderr) == (OUTPUT, b"")
