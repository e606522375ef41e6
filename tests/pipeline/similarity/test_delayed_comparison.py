"""P6: the comparison of programs waits for submissions, but not for ever."""

from deemster.pipeline.similarity.delayed_comparison import DelayedComparison
from deemster.pipeline.verdict.cancel import cancel
from deemster.store.pool import Pool
from tests.builders import make_submission


async def test_programs_are_compared_when_no_submission_waits_or_after_a_long_time(
    pool: Pool,
) -> None:
    compared = 0

    async def compare() -> int:
        nonlocal compared
        compared += 1
        return 1

    submission = await make_submission(pool)
    assert await DelayedComparison(pool, compare).run() == 0
    assert compared == 0
    assert await DelayedComparison(pool, compare, longest_s=0.0).run() == 1
    await cancel(pool, submission)
    assert await DelayedComparison(pool, compare).run() == 1
    assert compared == 2
