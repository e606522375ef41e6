"""Finished submissions, and the duty of the keeper that compares them."""

from pathlib import Path

from deemster.domain.ids import SubmissionId
from deemster.domain.source import pack_files
from deemster.domain.verdict import Verdict
from deemster.pipeline.similarity.update import SimilarityUpdate
from deemster.pipeline.verdict.attempt import settle
from deemster.programs.build.languages import load_catalogue
from deemster.programs.tokenizer import Tokenizer
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool
from deemster.store.problems import ProblemSummary
from tests.builders import (
    judged,
    make_account,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.pipeline.similarity.sources import PLANTED

CATALOGUE = load_catalogue()


async def finish(
    pool: Pool,
    artifacts: Artifacts,
    author: str,
    source: str | Path,
    summary: ProblemSummary | None = None,
    *,
    language: str = "python3",
    verdict: Verdict = Verdict.ACCEPTED,
) -> SubmissionId:
    """A judged submission of an author: a text, or a file of the planted programs."""
    content = source if isinstance(source, str) else (PLANTED / source).read_text()
    name = CATALOGUE.named(language).source.file
    submission = await make_submission(
        pool,
        await make_account(pool, author),
        summary,
        language=language,
        source=pack_files({name: content.encode()}),
    )
    await judge(pool, artifacts, submission, verdict)
    return submission


async def judge(
    pool: Pool,
    artifacts: Artifacts,
    submission: SubmissionId,
    verdict: Verdict = Verdict.ACCEPTED,
) -> None:
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, artifacts, running, judged(verdict))


async def compare_all(pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer) -> None:
    update = SimilarityUpdate(pool, artifacts, CATALOGUE, tokenizer)
    while await update.run():
        pass
