"""`deemster submission show` against the real API."""

import asyncio
from pathlib import Path

import pytest

from deemster.domain.account import Role
from deemster.domain.judgement import GroupScore
from deemster.domain.verdict import Verdict
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.api.judgements import GOOD, HIDDEN, failing, judged_submission, judgement
from tests.builders import make_account, make_artifacts
from tests.cli.conftest import Deemster
from tests.services.api import api_process


async def test_o8_the_command_shows_the_jury_every_case_and_others_their_own(
    tmp_path: Path,
    pool: Pool,
    database_url: str,
    redis_url: str,
    queue_env: str,
    operate: Deemster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    account = await make_account(pool)
    async with connection(pool) as acquired:
        own_token = await accounts.add_token(acquired, account, "own")
        jury = await accounts.add(acquired, "jury", Role.ADMIN)
        jury_token = await accounts.add_token(acquired, jury.id, "jury")
    found = judgement(
        Verdict.JUDGE_ERROR,
        GOOD,
        failing(Verdict.JUDGE_ERROR),
        groups=[GroupScore("secret/low", None, 0.0, 40.0)],
    )
    submission = await judged_submission(pool, make_artifacts(tmp_path / "a"), account, found)
    monkeypatch.setenv("DEEMSTER_TOKEN", jury_token)
    async with api_process(tmp_path, database_url, redis_url, queue_env) as (address, _):
        monkeypatch.setenv("DEEMSTER_URL", address.url)
        shown = await asyncio.to_thread(operate, "submission", "show", submission)
        as_json = await asyncio.to_thread(operate, "submission", "show", submission, "--json")
        monkeypatch.setenv("DEEMSTER_TOKEN", own_token)
        own = await asyncio.to_thread(operate, "submission", "show", submission)
        unknown = await asyncio.to_thread(operate, "submission", "show", "sub_1")
    assert shown.code == as_json.code == own.code == 0, shown.err + as_json.err + own.err
    assert as_json.json["cases"][1]["message"] == HIDDEN
    text = " ".join(shown.out.decode().split())
    for part in (
        "Judge Error",
        f"why the judge failed (checker_or_interactor_failed): {HIDDEN}",
        "secret/low skipped 0 40",
        f"1 secret/{HIDDEN} Accepted 12 0 900",
        f"2 secret/{HIDDEN} Judge Error 34 2,500 1,200",
        f"case 2, message to the jury: {HIDDEN}",
    ):
        assert part in text
    assert b"Judge Error" in own.out
    assert HIDDEN.encode() not in own.out
    assert unknown.code == 2
    assert "There is no such submission" in unknown.err
