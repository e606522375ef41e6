"""`deemster rejudge` judges submissions again, at once or in a set (A9)."""

from pathlib import Path

import pytest

from deemster.cli import rejudge_sets
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import settle
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


async def judged_submission(
    pool: Pool, directory: Path, verdict: Verdict, user: str = "ada", problem: str = "sum"
) -> SubmissionId:
    summary = await make_problem(pool, problem)
    submission = await make_submission(pool, await make_account(pool, user), summary)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, make_artifacts(directory), running, judged(verdict))
    return submission


async def test_a9_a_submission_is_judged_again_by_its_id(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
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


async def test_a9_submissions_are_chosen_by_problem_verdict_and_user(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    chosen = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    await judged_submission(pool, tmp_path, Verdict.ACCEPTED)
    await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER, user="grace")
    await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER, problem="other")
    options = ("--problem", "prob_sum", "--verdict", "wrong answer", "--user", "ada")
    unconfirmed = operate("rejudge", *options)
    assert unconfirmed.code == 2
    assert "This would judge 1 submissions again: add --yes" in unconfirmed.err
    done = operate("rejudge", *options, "--language", "py", "--yes", "--json")
    assert set(done.json["rejudged"]) == {chosen}
    assert operate("rejudge", *options, "--yes", "--json").json["rejudged"] == {}


async def test_the_other_submissions_are_rejudged_when_one_can_not_be(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await judged_submission(pool, tmp_path, Verdict.ACCEPTED)
    waiting = await make_submission(pool)
    done = operate("rejudge", waiting, old, "--json")
    assert done.code == 2
    assert f"{waiting} cannot be rejudged" in done.err
    assert set(done.json["rejudged"]) == {old}


def test_unknown_names_in_options_are_errors(operate: Deemster) -> None:
    assert "There is no account x" in operate("rejudge", "--user", "x").err
    assert "There is no problem sum" in operate("rejudge", "--problem", "sum").err
    assert "There is no verdict 'Fine'" in operate("rejudge", "--verdict", "Fine").err
    assert "english" in operate("rejudge", "--language", "english").err
    assert "Give either ids of submissions or options" in operate("rejudge").err


async def test_a9_a_set_is_staged_shown_and_applied(
    operate: Deemster, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    await judged_submission(pool, tmp_path, Verdict.ACCEPTED, problem="other")
    staged = operate("rejudge", "--problem", "prob_sum", "--trial", "--reason", "why", "--json")
    assert staged.code == 0, staged.err
    made = staged.json["id"]
    assert (staged.json["matched"], staged.json["progress"]["waiting"]) == (1, 1)
    assert operate("rejudge", "list", "--json").json["rejudgings"][0]["reason"] == "why"
    monkeypatch.setenv("COLUMNS", "70")  # narrow, but users copy the ids from here
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
    assert "All submissions of the set have ended: apply it or drop it." in shown.out.decode()
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


async def test_a9_changes_that_do_not_fit_are_counted(
    operate: Deemster, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudge_sets, "MAX_SHOWN", 2)
    for _ in range(3):
        await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    made = operate("rejudge", "--problem", "prob_sum", "--trial", "--json").json["id"]
    async with connection(pool) as acquired:
        trials = await acquired.fetch("SELECT id FROM submission WHERE staged_in = $1", made)
    for trial in trials:
        running = await start_submission(pool, trial["id"])
        await settle(pool, make_artifacts(tmp_path), running, judged())
    shown = operate("rejudge", "show", made).out.decode()
    assert shown.count(" → sub_") == 2
    assert "… and 1 more: --json prints all of them" in shown
    assert len(operate("rejudge", "show", made, "--json").json["changes"]) == 3


async def test_a9_a_set_is_dropped(operate: Deemster, pool: Pool, tmp_path: Path) -> None:
    old = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    made = operate("rejudge", old, "--trial", "--json").json["id"]
    assert operate("rejudge", "drop", made, "--json").json["outcome"] == "dropped"
    assert "dropped" in operate("rejudge", "list").out.decode()
    async with connection(pool) as acquired:
        before = await submissions.get(acquired, old)
    assert before is not None
    assert (before.archived_at, before.superseded_by) == (None, None)


async def test_submissions_are_chosen_by_time(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    old = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    early = operate("rejudge", "--to", "2001-01-01", "--yes", "--json")
    assert early.json["rejudged"] == {}
    both = ("--from", "2001-01-01T10:00+02:00", "--to", "2999-01-01")
    assert set(operate("rejudge", *both, "--yes", "--json").json["rejudged"]) == {old}


async def test_j9_submissions_judged_by_older_test_data_are_chosen(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    """The command also reports submissions that still wait or run."""
    old = await judged_submission(pool, tmp_path, Verdict.WRONG_ANSWER)
    waiting = await make_submission(pool)
    revised = await make_problem(pool, text="second")
    await make_submission(pool, summary=revised)
    options = ("--problem", "prob_sum", "--outdated")
    staged = operate("rejudge", *options, "--trial")
    assert staged.code == 0, staged.err
    unended = "1 more are waiting or running, all of them with outdated test data: when they "
    assert unended in staged.out.decode()
    (line,) = operate("rejudge", "list", "--json").json["rejudgings"]
    assert line["wanted"] == {"problem": "prob_sum", "outdated": True}
    made = line["id"]
    everything = operate("rejudge", "--problem", "prob_sum", "--trial").out.decode()
    assert "2 more are waiting or running, 1 of them with outdated test data" in everything
    assert operate("rejudge", "show", made, "--json").json["under_way"]["outdated"] == 1
    assert unended not in operate("rejudge", "drop", made).out.decode()

    done = operate("rejudge", *options, "--yes", "--json")
    assert (set(done.json["rejudged"]), unended in done.err) == ({old}, True)
    running = await start_submission(pool, waiting)
    await settle(pool, make_artifacts(tmp_path), running, judged())
    last = operate("rejudge", "--outdated", "--yes", "--json")
    assert (set(last.json["rejudged"]), last.err) == ({waiting}, "")
    assert operate("rejudge", *options, "--yes").err == "No submission matches.\n"


async def test_a9_a_set_shows_changed_scores_and_submissions_that_are_left_out(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    partial, other = [
        await judged_submission(pool, tmp_path, Verdict.PARTIAL) for _ in range(2)
    ]
    made = operate("rejudge", "--problem", "prob_sum", "--trial", "--json").json["id"]
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
    by_id = {line.partition(" ")[0]: line for line in lines}
    assert by_id[partial].endswith("  Partial (40) → Partial (70.5)  ada, prob_sum")
    assert by_id[other].endswith("ada, prob_sum  left out: rejudged outside this set")


def test_wrong_arguments_for_sets_are_errors(operate: Deemster) -> None:
    assert "There are no sets." in operate("rejudge", "list").out.decode()
    assert "There is no rejudging rej_x" in operate("rejudge", "show", "rej_x").err
    assert "There is no contest con_x" in operate("rejudge", "--contest", "con_x").err
    assert "'soon' is not a time" in operate("rejudge", "--from", "soon", "--trial").err
    assert "No submission matches" in operate("rejudge", "sub_x", "--trial").err
    assert "No submission matches" in operate("rejudge", "sub_x", "--stage").err, "its old name"
    assert "add --trial" in operate("rejudge", "sub_x", "--reason", "why").err
