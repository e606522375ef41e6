"""`deemster rejudge`: a new submission for each, the old verdict stays readable (A9)."""

from pathlib import Path

import pytest

from deemster.cli import rejudging
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.settle import settle
from deemster.store import counters, submissions
from deemster.store.pool import Pool, connection
from tests.builders import (
    judged,
    make_account,
    make_artifacts,
    make_problem,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.cli.conftest import Deemster


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
        before = await submissions.get(acquired, old)
        after = await submissions.get(acquired, new)
        assert not await counters.find_mismatches(acquired)
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
    operate: Deemster, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    await ended(pool, tmp_path, Verdict.ACCEPTED, problem="other")
    staged = operate("rejudge", "--problem", "prob_sum", "--stage", "--reason", "why", "--json")
    assert staged.code == 0, staged.err
    made = staged.json["id"]
    assert (staged.json["matched"], staged.json["progress"]["waiting"]) == (1, 1)
    assert operate("rejudge", "list", "--json").json["rejudgings"][0]["reason"] == "why"
    monkeypatch.setenv("COLUMNS", "70")  # too few, but it is the ids that are copied from here
    assert made in operate("rejudge", "list").out.decode()
    early = operate("rejudge", "apply", made)
    assert early.code == 2
    assert "1 of its trials have not ended" in early.err

    async with connection(pool) as acquired:
        trial = await acquired.fetchval("SELECT id FROM submission WHERE staged_in = $1", made)
    running = await start_submission(pool, trial)
    await settle(pool, make_artifacts(tmp_path), running, judged())
    shown = operate("rejudge", "show", made)
    assert "1  Wrong Answer → Accepted" in shown.out.decode()
    line = f"{old} → {trial}  Wrong Answer → Accepted  ada, prob_sum\n"
    assert line in shown.out.decode()
    assert "All of it has ended: apply it, or drop it." in shown.out.decode()
    (change,) = operate("rejudge", "show", made, "--json").json["changes"]
    assert (change["old"], change["new"]) == (old, trial)
    done = operate("rejudge", "apply", made)
    assert done.code == 0, done.err
    assert f"{made} is applied: 1 trials, 1 done, 1 applied" in done.out.decode()
    assert "already applied" in operate("rejudge", "drop", made).err
    async with connection(pool) as acquired:
        assert not await counters.find_mismatches(acquired)
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
        before = await submissions.get(acquired, old)
    assert before is not None
    assert (before.archived_at, before.superseded_by) == (None, None)


async def test_many_are_chosen_by_time(operate: Deemster, pool: Pool, tmp_path: Path) -> None:
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    early = operate("rejudge", "--to", "2001-01-01", "--yes", "--json")
    assert early.json["rejudged"] == {}
    both = ("--from", "2001-01-01T10:00+02:00", "--to", "2999-01-01")
    assert set(operate("rejudge", *both, "--yes", "--json").json["rejudged"]) == {old}


async def test_j9_what_older_test_data_judged_is_chosen_until_nothing_is(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    """And what is under way is told of, on trial and at once."""
    old = await ended(pool, tmp_path, Verdict.WRONG_ANSWER)
    waiting = await make_submission(pool)
    revised = await make_problem(pool, text="second")
    await make_submission(pool, sheet=revised)
    options = ("--problem", "prob_sum", "--outdated")
    staged = operate("rejudge", *options, "--stage")
    assert staged.code == 0, staged.err
    told = "1 more wait or run, judged by other test data than is in force: when they have "
    assert told in staged.out.decode()
    (line,) = operate("rejudge", "list", "--json").json["rejudgings"]
    assert line["wanted"] == {"problem": "prob_sum", "outdated": True}
    made = line["id"]
    everything = operate("rejudge", "--problem", "prob_sum", "--stage").out.decode()
    assert "2 more wait or run, 1 of them by other test data" in everything
    assert operate("rejudge", "show", made, "--json").json["under_way"]["outdated"] == 1
    assert told not in operate("rejudge", "drop", made).out.decode()

    done = operate("rejudge", *options, "--yes", "--json")
    assert (set(done.json["rejudged"]), told in done.err) == ({old}, True)
    running = await start_submission(pool, waiting)
    await settle(pool, make_artifacts(tmp_path), running, judged())
    last = operate("rejudge", "--outdated", "--yes", "--json")
    assert (set(last.json["rejudged"]), last.err) == ({waiting}, "")
    assert operate("rejudge", *options, "--yes").err == "No submission matches.\n"


async def test_a9_points_that_changed_are_told_and_what_is_left_out(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    """A verdict that stays Partial may be worth more now."""
    partial, other = [await ended(pool, tmp_path, Verdict.PARTIAL) for _ in range(2)]
    made = operate("rejudge", "--problem", "prob_sum", "--stage", "--json").json["id"]
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT id FROM submission WHERE staged_in = $1", made)
    for row in rows:
        running = await start_submission(pool, row["id"])
        await settle(pool, make_artifacts(tmp_path), running, judged(Verdict.PARTIAL))
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE submission SET score = 40")
        await acquired.execute("UPDATE submission SET score = 70.5 WHERE staged_in = $1", made)
    operate("rejudge", other)
    lines = operate("rejudge", "show", made).out.decode().splitlines()
    told = {line.partition(" ")[0]: line for line in lines}
    assert told[partial].endswith("  Partial (40) → Partial (70.5)  ada, prob_sum")
    assert told[other].endswith("ada, prob_sum  left out: judged again by other means")


def test_what_makes_no_set_is_told(operate: Deemster) -> None:
    assert "There are no sets." in operate("rejudge", "list").out.decode()
    assert "There is no rejudging rej_x" in operate("rejudge", "show", "rej_x").err
    assert "There is no contest con_x" in operate("rejudge", "--contest", "con_x").err
    assert "'soon' is no time" in operate("rejudge", "--from", "soon", "--stage").err
    assert "No submission matches" in operate("rejudge", "sub_x", "--stage").err
    assert "add --stage" in operate("rejudge", "sub_x", "--reason", "why").err
