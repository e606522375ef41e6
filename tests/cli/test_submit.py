"""`deemster submit` against the real API: retries, waiting, errors and exit codes."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deemster.cli.client import RETRIES, admin_token, explain, open_client
from deemster.cli.submit import describe, exit_code, lines_of, source_of, until_ended
from deemster.client import Retries, ServerError, Submission, UnexpectedAnswerError
from deemster.client.models.parsing import parse
from deemster.domain.errors import Refused, Unavailable
from deemster.domain.ids import SubmissionId
from deemster.pipeline.verdict.cancel import cancel
from deemster.settings import Server
from deemster.store.pool import Pool
from deemster.wiring.address import Address
from tests.builders import make_problem
from tests.cli.conftest import Deemster
from tests.client.servers import make_token
from tests.services.api import api_process
from tests.waiting import until

QUICK = Retries(pauses_s=(0.01, 0.01))


@pytest.fixture
async def api(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[Address]:
    async with api_process(tmp_path, database_url, redis_url, queue_env) as (address, _):
        yield address


def submission(**fields: Any) -> Submission:
    known = {
        "id": "sub_1",
        "status": "queued",
        "problem_id": "prob_sum",
        "language": "c",
        "submitted_at": "2026-01-01T00:00:00Z",
    }
    return parse(Submission, {**known, **fields})


async def test_the_command_submits_and_prints_the_answer(
    api: Address, pool: Pool, operate: Deemster, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own words explain a refusal."""
    await make_problem(pool)
    monkeypatch.setenv("DEEMSTER_URL", api.url)
    monkeypatch.setenv("DEEMSTER_TOKEN", await make_token(pool))
    (here / "a.py").write_bytes(b"print('\xff')\n")

    def submit(*arguments: str) -> Any:
        return operate("submit", "a.py", "--language", "python3", *arguments)

    done = await asyncio.to_thread(submit, "--problem", "prob_sum", "--json")
    assert done.code == 0
    # Q15: the API has no worker.
    assert done.err == (
        "deemster: warning: No worker takes jobs: the program waits until one does.\n"
    )
    answer = json.loads(done.out)
    assert sorted(answer) == [
        "id",
        "language",
        "problem_id",
        "status",
        "submitted_at",
    ]
    done = await asyncio.to_thread(submit, "--problem", "prob_sum")
    assert b" is queued" in done.out

    done = await asyncio.to_thread(submit, "--problem", "prob_x")
    assert done.code == 2
    assert "refused the request (404): There is no problem prob_x" in done.err
    monkeypatch.setenv("DEEMSTER_TOKEN", "deem_wrong")
    done = await asyncio.to_thread(submit, "--problem", "prob_sum")
    assert done.code == 2
    assert "refused the token: set DEEMSTER_TOKEN" in done.err


async def test_h1_the_command_waits_until_the_submission_has_ended(
    api: Address, pool: Pool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A4: stderr is no terminal here, so a line tells each new place in the queue."""
    await make_problem(pool)
    server = Server(api.url, await make_token(pool))
    told = ""

    def is_told(text: str) -> bool:
        nonlocal told
        told += capsys.readouterr().err
        return text in told

    async with open_client(server, tmp_path) as client, asyncio.TaskGroup() as group:
        first, second = [
            await client.submissions.submit("prob_sum", "python3", f"print({number})\n")
            for number in (1, 2)
        ]
        waiting = group.create_task(until_ended(client, second))
        await until(lambda: is_told("deemster: waiting at position 2"), why=lambda: told)
        await cancel(pool, SubmissionId(first.id))
        await until(lambda: is_told("deemster: waiting at position 1"), why=lambda: told)
        await cancel(pool, SubmissionId(second.id))
    assert waiting.result().status == "cancelled"
    assert not is_told("cancelled")
    assert len(told.splitlines()) == 2


async def test_a_server_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(Unavailable, match=r"ConnectError.*DEEMSTER_URL"):
        async with open_client(Server(f"http://127.0.0.1:{port}", "x"), tmp_path, QUICK) as it:
            await it.submissions.get("sub_x")
    for url in ("gopher://x", "http://x:port", "127.0.0.1:8000"):
        with pytest.raises(Refused, match=r"is not a valid URL.*: correct DEEMSTER_URL"):
            async with open_client(Server(url, None), tmp_path):
                pass


def test_errors_of_the_server_are_explained() -> None:
    url = "http://127.0.0.1:8000"
    busy = explain(url, ServerError("Too many wait.", status=503))
    assert isinstance(busy, Unavailable)
    assert "does not answer (Too many wait.): check that the service runs" in str(busy)
    assert isinstance(explain(url, ServerError("A fault.", status=500)), Refused)
    other = explain(url, UnexpectedAnswerError("HTML"))
    assert "is not one of Deemster: check DEEMSTER_URL" in str(other)


def test_a_user_who_reached_a_limit_is_told_at_once() -> None:
    assert 429 not in RETRIES.statuses
    assert 503 in RETRIES.statuses


def test_the_admins_token_is_only_used_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "admin.token").write_text("deem_secret\n")
    assert admin_token("http://127.0.0.1:8000", tmp_path) == "deem_secret"
    with pytest.raises(Refused, match="DEEMSTER_TOKEN"):
        admin_token("https://judge.example.org", tmp_path)


def test_a_file_that_is_no_text_is_sent_as_bytes() -> None:
    assert source_of("a.py", b"print(1)") == "print(1)"
    assert source_of("a.py", b"\xff") == {"a.py": b"\xff"}


@pytest.mark.parametrize(
    ("status", "verdict", "code"),
    [
        ("finished", "Accepted", 0),
        ("finished", "Wrong Answer", 1),
        ("finished", "Partial", 1),
        ("failed", None, 2),
        ("cancelled", None, 2),
    ],
)
def test_the_exit_code_depends_on_the_verdict(
    status: str, verdict: str | None, code: int
) -> None:
    assert exit_code(submission(status=status, verdict=verdict)) == code


def test_the_progress_describes_the_status() -> None:
    waiting = submission(queue_position=3, estimated_wait_s=4.2)
    assert describe(waiting) == "waiting at position 3, about 4 s"
    waiting = submission(queue_position=1, estimated_wait_s=None)
    assert describe(waiting) == "waiting at position 1"
    running = submission(status="running", progress={"case": 2, "of": 9})
    assert describe(running) == "case 2 of 9"
    assert describe(submission(status="running")) == "running"


def test_a_verdict_is_printed_in_lines() -> None:
    slow = submission(
        status="finished",
        verdict="Time Limit Exceeded",
        passed_cases=3,
        total_cases=9,
        runtime_ms=2100,
        memory_kb=12345,
        failed_case=4,
        limit_ms=2000,
    )
    assert list(lines_of(slow)) == [
        "Time Limit Exceeded",
        "3 of 9 cases, 2100 ms, 12,345 KB, sub_1",
        "failed in case 4: the time limit is 2000 ms",
    ]
    failed = submission(status="failed", verdict=None, error="It broke.")
    assert list(lines_of(failed)) == ["sub_1 is failed", "It broke."]
