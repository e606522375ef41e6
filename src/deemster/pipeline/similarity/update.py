"""Compares new submissions with the others of their problem; the keeper repeats it (P6).

Each step commits for itself, and a step that is interrupted is done again. Some submissions are
first read and their fingerprints are committed. Then they are compared with all that are
committed: of two submissions that are read at the same time, at least one sees the other.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.ids import ProblemId, SubmissionId
from deemster.domain.language import Catalogue
from deemster.domain.similarity import Match
from deemster.domain.source import unpack_files
from deemster.pipeline.similarity.comparison import (
    MIN_COMMON,
    CandidateSearch,
    CommonCode,
    Program,
    find_matches,
    hashes_of,
)
from deemster.pipeline.similarity.fingerprints import ALGORITHM, Fingerprints
from deemster.pipeline.similarity.reading import read_program, template_hashes
from deemster.programs.tokenizer import Tokenizer
from deemster.store import similarity
from deemster.store.artifacts import Artifacts
from deemster.store.artifacts.backend import ArtifactMissing
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Pool, connection, transaction
from deemster.store.similarity import (
    ProgramGroup,
    ProgramRecord,
    StoredProgram,
    UnreadSubmission,
)

READ_AT_ONCE: Final = 50
READ_BEFORE_COMPARING: Final = 1000
"""To compare costs the same for one submission of a problem as for many."""
COMPARED_AT_ONCE: Final = 500
PAGE: Final = 500

log = structlog.get_logger()

Pair = tuple[SubmissionId, SubmissionId]
Stored = Program[SubmissionId]


@dataclass(frozen=True, slots=True)
class SimilarityUpdate:
    pool: Pool
    artifacts: Artifacts
    catalogue: Catalogue
    tokenizer: Tokenizer

    async def run(self) -> int:
        """Reads some submissions and compares what was read; returns 0 if all were read."""
        read = batch = await self._read_some()
        while batch == READ_AT_ONCE and read < READ_BEFORE_COMPARING:
            batch = await self._read_some()
            read += batch
        while await self._compare_some():
            pass
        return int(batch == READ_AT_ONCE)

    async def _read_some(self) -> int:
        async with connection(self.pool) as acquired:
            unread = await similarity.list_unread(
                acquired, algorithm=ALGORITHM, limit=READ_AT_ONCE
            )
        templates: dict[tuple[ProblemId, str], frozenset[int]] = {}
        records = [await self._read(submission, templates) for submission in unread]
        if records:
            async with transaction(self.pool) as writing:
                for record in records:
                    await similarity.put_program(writing, record, algorithm=ALGORITHM)
                await similarity.move_cursor(
                    writing, algorithm=ALGORITHM, read_to=unread[-1].finished_at
                )
        return len(unread)

    async def _read(
        self,
        submission: UnreadSubmission,
        templates: dict[tuple[ProblemId, str], frozenset[int]],
    ) -> ProgramRecord:
        """A source that cannot be read must not keep the others from being read."""
        failed = ProgramRecord(submission.id, submission.problem, "", (), None, "failed")
        try:
            language = self.catalogue.named(submission.language)
            files = await self._files(submission)
            key = submission.problem, language.lexer
            if key not in templates:
                templates[key] = await self._template(*key)
            program = await read_program(self.tokenizer, language, files, templates[key])
        except (Refused, ArtifactMissing) as fault:
            log.warning("similarity.failed", submissionId=submission.id, error=str(fault))
            return replace(failed, reason=str(fault))
        record = replace(failed, lexer=language.lexer, files=program.files)
        if program.is_too_short:
            return replace(record, refusal="too_short")
        return replace(record, fingerprints=program.fingerprints.to_bytes(), refusal=None)

    async def _files(self, submission: UnreadSubmission) -> dict[str, bytes]:
        async with connection(self.pool) as acquired:
            content = await fetch(acquired, self.artifacts, submission.source)
        try:
            return unpack_files(content)
        except (ValueError, Unavailable) as fault:
            raise Refused("The artifact with the source is damaged.") from fault

    async def _template(self, problem: ProblemId, lexer: str) -> frozenset[int]:
        async with connection(self.pool) as acquired:
            starters = await similarity.starters(acquired, problem)
        return await template_hashes(self.tokenizer, self.catalogue, lexer, starters)

    async def _compare_some(self) -> int:
        """Compares programs of one problem, and returns how many these were."""
        async with connection(self.pool) as acquired:
            group = await similarity.next_group(acquired, algorithm=ALGORITHM)
            if group is None:
                return 0
            authors = await similarity.count_authors(acquired, group, algorithm=ALGORITHM)
            if authors > MIN_COMMON:
                await similarity.compare_again_if_doubled(acquired, group, authors=authors)
            rows = await similarity.list_uncompared(
                acquired, group, algorithm=ALGORITHM, limit=COMPARED_AT_ONCE
            )
        wanted = decoded(rows)
        matches, ended = await self._compare(group, wanted, authors)
        async with transaction(self.pool) as writing:
            await similarity.put_comparison(
                writing,
                group.problem,
                compared=[program.id for program in wanted],
                matches=matches,
                ended=ended,
            )
        log.info("similarity.compared", problem=group.problem, submissions=len(wanted))
        return len(wanted)

    async def _compare(
        self, group: ProgramGroup, wanted: Sequence[Stored], authors: int
    ) -> tuple[list[Match[SubmissionId]], list[Pair]]:
        """Returns the pairs of the wanted programs, and stored pairs that are no more."""
        search = CandidateSearch(wanted, authors=authors)
        async for page in self._pages(group):
            await asyncio.to_thread(add_all, search, page)
        candidates = await asyncio.to_thread(search.candidates)
        ids = {program.id for program in wanted}
        async with connection(self.pool) as acquired:
            stored = set(await similarity.list_partners(acquired, ids))
        needed = {each for others in candidates.values() for each in others}
        needed |= ids | {each for pair in stored for each in pair}
        async with connection(self.pool) as acquired:
            rows = await similarity.get_programs(acquired, needed, algorithm=ALGORITHM)
        programs = {program.id: program for program in decoded(rows)}
        common = CommonCode(hashes_of(programs.values()), authors=authors)
        async for page in self._pages(group):
            await asyncio.to_thread(count_all, common, page)
        return await asyncio.to_thread(
            find_matches, candidates, stored, programs, common.common
        )

    async def _pages(self, group: ProgramGroup) -> AsyncIterator[list[Stored]]:
        after = ""
        while True:
            async with connection(self.pool) as acquired:
                rows = await similarity.list_programs(
                    acquired, group, algorithm=ALGORITHM, after=after, limit=PAGE
                )
            if not rows:
                return
            yield decoded(rows)
            after = rows[-1].id


def decoded(rows: Iterable[StoredProgram]) -> list[Stored]:
    return [
        Program(row.id, row.author, Fingerprints.from_bytes(row.fingerprints)) for row in rows
    ]


def add_all(search: CandidateSearch[SubmissionId], programs: Iterable[Stored]) -> None:
    for program in programs:
        search.add(program)


def count_all(common: CommonCode, programs: Iterable[Stored]) -> None:
    for program in programs:
        common.add(program.author, program.fingerprints)
