"""`deemster rejudge`: a new submission for each, the old verdict stays readable (A9)."""

from pathlib import Path

import pytest

from deemster.cli import rejudging
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
    done = operate("rejudge", *options, "--language", "py", "--yes", "--json")
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
    assert "english" in operate("rejudge", "--language", "english").err
    assert "Name submissions, or choose" in operate("rejudge").err


async def test_a9_a_set_is_staged_looked_at_and_applied(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    await ended(pool, tmp_path, Verdict.ACCEPTED, problem="other")
    staged = operate("rejudge", "--problem", "prob_sum", "--stage", "--reason", "why", "--json")
    assert staged.code == 0, staged.err
    made = staged.json["id"]
    assert (staged.json["matched"], staged.json["progress"]["waiting"]) == (1, 1)
    assert operate("rejudge", "list", "--json").json["rejudgings"][0]["reason"] == "why"
    early = operate("rejudge", "apply", made)
    assert early.code == 2
    assert "1 of its trials have not ended" in early.err

    async with connection(pool) as acquired:
        trial = await acquired.fetchval("SELECT id FROM submission WHERE staged_in = $1", made)
    running = await start_submission(pool, trial)
    await settle(pool, make_artifacts(tmp_path), running, judged())
    shown = operate("rejudge", "show", made)
    assert "1  Wrong Answer → Accepted" in shown.out.decode()
    assert f"{old} → {trial}  Wrong Answer → Accepted" in shown.out.decode()
    (change,) = operate("rejudge", "show", made, "--json").json["changes"]
    assert (change["old"], change["new"]) == (old, trial)
    done = operate("rejudge", "apply", made)
    assert done.code == 0, done.err
    assert f"{made} is applied: 1 trials, 1 done, 1 applied" in done.out.decode()
    assert "applied already" in operate("rejudge", "drop", made).err
    async with connection(pool) as acquired:
        assert not await tallies.wrong(acquired)
        actors = await acquired.fetch(
            "SELECT DISTINCT actor FROM audit WHERE target = $1", made
        )
    (actor,) = actors
    assert actor["actor"].endswith("by command")


async def test_a9_no_change_is_kept_back(
    operate: Deemster, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever decides by it must know that there is more than a screen shows."""
    monkeypatch.setattr(rejudging, "MOST", 2)
    for _ in range(3):
        await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    made = operate("rejudge", "--problem", "prob_sum", "--stage", "--json").json["id"]
    async with connection(pool) as acquired:
        trials = await acquired.fetch("SELECT id FROM submission WHERE staged_in = $1", made)
    for trial in trials:
        running = await start_submission(pool, trial["id"])
        await settle(pool, make_artifacts(tmp_path), running, judged())
    shown = operate("rejudge", "show", made).out.decode()
    assert shown.count(" → sub_") == 2
    assert "… and 1 more: --json shows all of them" in shown
    assert len(operate("rejudge", "show", made, "--json").json["changes"]) == 3


async def test_a9_a_named_set_is_dropped(operate: Deemster, pool: Pool, tmp_path: Path) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    made = operate("rejudge", old, "--stage", "--json").json["id"]
    assert operate("rejudge", "drop", made, "--json").json["outcome"] == "dropped"
    assert "dropped" in operate("rejudge", "list").out.decode()
    async with connection(pool) as acquired:
        before = await submissions.view(acquired, old)
    assert before is not None
    assert (before.archived_at, before.superseded_by) == (None, None)


async def test_many_are_chosen_by_time(operate: Deemster, pool: Pool, tmp_path: Path) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    early = operate("rejudge", "--to", "2001-01-01", "--yes", "--json")
    assert early.json["rejudged"] == {}
    both = ("--from", "2001-01-01T10:00+02:00", "--to", "2999-01-01")
    assert set(operate("rejudge", *both, "--yes", "--json").json["rejudged"]) == {old}


def test_what_makes_no_set_is_told(operate: Deemster) -> None:
    assert "There are no sets." in operate("rejudge", "list").out.decode()
    assert "There is no rejudging rej_x" in operate("rejudge", "show", "rej_x").err
    assert "There is no contest con_x" in operate("rejudge", "--contest", "con_x").err
    assert "'soon' is no time" in operate("rejudge", "--from", "soon", "--stage").err
    assert "No submission is like that" in operate("rejudge", "sub_x", "--stage").err
    assert "add --stage" in operate("rejudge", "sub_x", "--reason", "why").err
