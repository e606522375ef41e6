"""Refuses languages that no machine of this judge has, before a program waits in vain."""

from collections.abc import Iterable
from typing import ClassVar, Final

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.errors import Refused
from deemster.domain.execution import ProgramIo
from deemster.domain.judge_host import JudgeOn
from deemster.domain.language import Language
from deemster.store import workers
from deemster.store.pool import Pool, connection
from deemster.store.workers import MachineLanguages

KEPT_S: Final = 1.0
"""The languages are read at most once in this time."""


class LanguageNotAvailable(Refused):
    code: ClassVar[str] = "language_not_available"


class AvailableLanguages:
    def __init__(self, pool: Pool, judge_on: JudgeOn = JudgeOn.WORKERS) -> None:
        self._pool = pool
        self._judge_on = judge_on
        self._machines: SingleFlightCache[None, list[MachineLanguages]] = SingleFlightCache(
            self._read, keep_s=KEPT_S
        )

    async def check(self, language: Language, io: ProgramIo = ProgramIo.BATCH) -> None:
        """Without any machine, the setting `without_workers` decides, not this check."""
        machines = [
            machine
            for machine in await self._machines.get(None)
            if self._runs_on(io, is_judge_host=machine.is_judge_host)
        ]
        available = {each for machine in machines for each in machine.languages}
        if machines and language.id not in available:
            raise not_available(language.name, available)

    def _runs_on(self, io: ProgramIo, *, is_judge_host: bool) -> bool:
        """Programs whose input is typed run on local workers only."""
        if is_judge_host:
            return self._judge_on is not JudgeOn.WORKERS and io is ProgramIo.BATCH
        return self._judge_on is not JudgeOn.HOSTS or io is not ProgramIo.BATCH

    async def _read(self, _: None) -> list[MachineLanguages]:
        async with connection(self._pool) as acquired:
            return await workers.list_languages(acquired)


def not_available(name: str, available: Iterable[str]) -> LanguageNotAvailable:
    known = ", ".join(sorted(available))
    return LanguageNotAvailable(
        f"No machine of this judge has {name}: "
        + (f"use one of {known}." if known else "none has any language installed.")
    )
