"""`deemster rejudge`: a new submission for each, the old verdict stays readable (A9)."""

from pathlib import Path

from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.settle import settle
from deemster.store import submissions, tallies
from deemster.store.pool import Pool, connection
from tests.cli.conftest import Deemster
from tests.making import (
    judged,
    make_account,
    make_artifacts,
    make_problem,
    make_submission,
    queue_submission,
    start_submission,
)


async def ended(
    pool: Pool, directory: Path, verdict: Verdict, user: str = "ada", problem: str = "sum"
) -> SubmissionId:
    sheet = await make_problem(pool, problem)
    submission = await make_submission(pool, await make_account(pool, user), sheet)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, make_artifacts(directory), running, judged(verdict))
    return submission


async def test_a9_a_named_submission_is_judged_anew(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    done = operate("rejudge", old, "--json")
    assert done.code == 0, done.err
    new = SubmissionId(done.json["rejudged"][old])
    async with connection(pool) as acquired:
        before = await submissions.view(acquired, old)
        after = await submissions.view(acquired, new)
        assert not await tallies.wrong(acquired)
    assert before is not None
    assert (before.verdict, before.superseded_by) == (Verdict.WRONG_ANSWER, new)
    assert after is not None
    assert (after.rejudge_of, after.verdict) == (old, None)


async def test_a9_many_are_chosen_by_problem_verdict_and_user(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    wanted = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    await ended(pool, tmp_path, Verdict.ACCEPTED)
    await ended(pool, tmp_path, Verdict.WRONG_ANSWER, user="grace")
    await ended(pool, tmp_path, Verdict.WRONG_ANSWER, problem="other")
    options = ("--problem", "prob_sum", "--verdict", "wrong answer", "--user", "ada")
    unsure = operate("rejudge", *options)
    assert unsure.code == 2
    assert "1 submissions would be judged again: add --yes" in unsure.err
    done = operate("rejudge", *options, "--language", "python3", "--yes", "--json")
    assert set(done.json["rejudged"]) == {wanted}
    assert operate("rejudge", *options, "--yes", "--json").json["rejudged"] == {}


async def test_one_that_can_not_be_judged_again_keeps_no_other_from_it(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await ended(pool, tmp_path, Verdict.ACCEPTED)
    waiting = await make_submission(pool)
    done = operate("rejudge", waiting, old, "--json")
    assert done.code == 2
    assert f"{waiting} can't be judged again" in done.err
    assert set(done.json["rejudged"]) == {old}


def test_names_that_choose_nothing_are_told(operate: Deemster) -> None:
    assert "There is no account x" in operate("rejudge", "--user", "x").err
    assert "There is no problem sum" in operate("rejudge", "--problem", "sum").err
    assert "No verdict is called 'Fine'" in operate("rejudge", "--verdict", "Fine").err
    assert "Name submissions, or choose" in operate("rejudge").err
