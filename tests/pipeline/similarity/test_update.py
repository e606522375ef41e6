"""P6: the keeper compares new submissions, once, whenever it is interrupted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.ids import RevisionDigest, SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.similarity import update
from deemster.pipeline.similarity.comparison import MIN_COMMON
from deemster.pipeline.similarity.update import SimilarityUpdate
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.programs.tokenizer import Tokenizer
from deemster.store import problems, similarity
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection, transaction
from deemster.store.similarity import SimilarPair
from tests.builders import make_problem, make_submission
from tests.pipeline.similarity.sources import PLANTED, made_source
from tests.pipeline.similarity.submitted import CATALOGUE, compare_all, finish, judge

ORIGINAL = (PLANTED / "original.py").read_text()
SHORT = "a, b = map(int, input().split())\nprint(a + b)\n"


async def pairs_of(pool: Pool, submission: SubmissionId) -> list[SimilarPair]:
    async with connection(pool) as acquired:
        return await similarity.list_of_submission(acquired, submission)


async def count(pool: Pool, table: str) -> int:
    async with connection(pool) as acquired:
        return int(await acquired.fetchval(f"SELECT count(*) FROM {table}"))


async def test_a_copy_is_found_and_the_first_one_is_known(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    other = await finish(pool, artifacts, "bob", made_source(1))
    await compare_all(pool, artifacts, tokenizer)
    assert await pairs_of(pool, first) == []
    copy = await finish(
        pool, artifacts, "eve", Path("disguised.py"), verdict=Verdict.WRONG_ANSWER
    )
    await compare_all(pool, artifacts, tokenizer)
    (pair,) = await pairs_of(pool, first)
    assert (pair.left.id, pair.left.author_name) == (first, "ada")
    assert (pair.right.id, pair.right.author_name) == (copy, "eve")
    assert pair.right.verdict is Verdict.WRONG_ANSWER
    assert pair.match.similarity > 0.7
    assert pair.match.regions
    assert await pairs_of(pool, other) == []
    async with connection(pool) as acquired:
        found = await similarity.progress(acquired, (await make_problem(pool)).id)
    assert (found.submissions, found.compared) == (3, 3)


async def test_languages_with_the_same_lexer_are_compared(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    source = (PLANTED / "original.cpp").read_text()
    first = await finish(pool, artifacts, "ada", source, language="cpp17")
    await finish(pool, artifacts, "bob", source, language="cpp")
    await finish(pool, artifacts, "eve", source, language="java")
    await compare_all(pool, artifacts, tokenizer)
    (pair,) = await pairs_of(pool, first)
    assert (pair.left.language, pair.right.language) == ("cpp17", "cpp")


async def test_other_problems_and_unfinished_submissions_are_not_compared(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    other = await make_problem(pool, "other")
    await finish(pool, artifacts, "bob", ORIGINAL, other)
    await compare_all(pool, artifacts, tokenizer)
    assert await pairs_of(pool, first) == []


async def test_a_rejudge_is_not_a_copy(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    async with transaction(pool) as writing:
        again = await rejudge(writing, first)
    await judge(pool, artifacts, again.id)
    await compare_all(pool, artifacts, tokenizer)
    assert await count(pool, "similarity_program") == 1


async def test_short_and_hostile_programs_are_left_out_and_it_is_said(
    pool: Pool, artifacts: Artifacts
) -> None:
    short = await finish(pool, artifacts, "ada", SHORT)
    hostile = await finish(pool, artifacts, "bob", "/" * 50_000, language="cpp")
    await finish(pool, artifacts, "eve", ORIGINAL)
    async with Tokenizer(cpu_s=0.3) as strict:
        await compare_all(pool, artifacts, strict)
    async with connection(pool) as acquired:
        assert await similarity.status(acquired, short) == similarity.ProgramStatus(
            "too_short", None, compared=False
        )
        failed = await similarity.status(acquired, hostile)
        progress = await similarity.progress(acquired, (await make_problem(pool)).id)
    assert failed is not None
    assert failed.refusal == "failed"
    assert "CPU time" in (failed.reason or "")
    assert (progress.compared, progress.too_short, progress.failed) == (1, 1, 1)


async def test_a_source_that_cannot_be_read_stops_nothing(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    """Sources that are damaged or gone, and a language that was removed."""
    damaged = await make_submission(pool, source=b"no files")
    gone = await finish(pool, artifacts, "bob", made_source(1))
    other = await finish(pool, artifacts, "kim", made_source(2))
    await judge(pool, artifacts, damaged)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE work SET language = 'algol' WHERE id = $1", other)
        await acquired.execute(
            "DELETE FROM artifact USING work WHERE digest = source AND id = $1", gone
        )
    last = await finish(pool, artifacts, "ada", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    async with connection(pool) as acquired:
        for failed in (damaged, gone, other):
            found = await similarity.status(acquired, failed)
            assert found is not None
            assert found.refusal == "failed"
            assert found.reason
        compared = await similarity.status(acquired, last)
    assert compared is not None
    assert compared.compared


async def test_starter_files_of_the_problem_do_not_count(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    summary = await make_problem(pool)
    starters = {"attachments/start.py": ORIGINAL, "attachments/notes.txt": "x"}
    with_starters = replace(
        summary, digest=RevisionDigest(summary.digest[::-1]), details={"starters": starters}
    )
    async with transaction(pool) as writing:
        await problems.publish(writing, with_starters)
    for seed, author in enumerate(("ada", "bob")):
        source = ORIGINAL + made_source(seed, 6)
        await finish(pool, artifacts, author, source, with_starters)
    await compare_all(pool, artifacts, tokenizer)
    assert await count(pool, "similarity_program") == 2
    assert await count(pool, "similarity_pair") == 0


async def test_pairs_end_when_more_authors_share_the_code(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    """When the number of authors has doubled, all are compared again."""
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await finish(pool, artifacts, "bob", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    assert len(await pairs_of(pool, first)) == 1
    for number in range(MIN_COMMON):
        await finish(pool, artifacts, f"u{number}", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    assert await count(pool, "similarity_pair") == 0
    assert await count(pool, "similarity_program") == MIN_COMMON + 2


async def test_comparing_again_changes_nothing(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    """An interrupted comparison is done again, and so is one that two keepers do at once."""
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await finish(pool, artifacts, "bob", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    before = await pairs_of(pool, first)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE similarity_program SET compared_at = NULL")
    await compare_all(pool, artifacts, tokenizer)
    assert await pairs_of(pool, first) == before
    async with connection(pool) as acquired:
        await acquired.execute("DELETE FROM similarity_cursor")
    await compare_all(pool, artifacts, tokenizer)
    assert await pairs_of(pool, first) == before


@pytest.mark.parametrize("step", ["put_program", "move_cursor", "put_comparison"])
async def test_an_interrupted_step_is_done_again(
    pool: Pool,
    artifacts: Artifacts,
    tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await finish(pool, artifacts, "bob", ORIGINAL)

    async def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(similarity, step, fail)
        with pytest.raises(Unavailable):
            await SimilarityUpdate(pool, artifacts, CATALOGUE, tokenizer).run()
    await compare_all(pool, artifacts, tokenizer)
    assert len(await pairs_of(pool, first)) == 1


async def test_a_new_algorithm_reads_all_again(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await finish(pool, artifacts, "bob", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    monkeypatch.setattr(update, "ALGORITHM", 77)
    await compare_all(pool, artifacts, tokenizer)
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT DISTINCT algorithm FROM similarity_program")
    assert [row["algorithm"] for row in rows] == [77]
    assert len(await pairs_of(pool, first)) == 1


async def test_a_deleted_submission_takes_its_pairs_along(
    pool: Pool, artifacts: Artifacts, tokenizer: Tokenizer
) -> None:
    first = await finish(pool, artifacts, "ada", ORIGINAL)
    await finish(pool, artifacts, "bob", ORIGINAL)
    await compare_all(pool, artifacts, tokenizer)
    async with connection(pool) as acquired:
        await acquired.execute("DELETE FROM judgement WHERE submission_id = $1", first)
        await acquired.execute("DELETE FROM work WHERE id = $1", first)
    assert await count(pool, "similarity_pair") == 0
    assert await count(pool, "similarity_program") == 1
