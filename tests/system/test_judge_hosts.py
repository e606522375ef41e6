"""M1 to M4: the server gives work to judge hosts, and settles what counts of their reports."""

import hashlib
import io
import tarfile
from typing import Any

import httpx

from deemster.domain.account import Role
from deemster.domain.execution import ExecutionResult, OutputChunk, Stream
from deemster.domain.ids import ExecutionId
from deemster.domain.job import Task
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.domain.verdict import Verdict
from deemster.pipeline.remote.messages import ExecuteOutcome, Failure, Finish, Update
from deemster.store import accounts, judge_hosts
from deemster.store.pool import connection
from tests.services.ports import reserved_port
from tests.system.client import Client, client_of
from tests.system.conftest import OpenService
from tests.system.programs import RIGHT
from tests.system.service import Service
from tests.system.signed_host import SECRET, open_host
from tests.system.truth import until_at_rest
from tests.waiting import PATIENCE_S, until

ON_HOSTS = {"judge_on": "hosts", "secret_key": SECRET}
PATIENT = {**ON_HOSTS, "lease_s": PATIENCE_S}
"""A host of a test sends heartbeats only while it waits for a task."""
ROLES = ("api", "relay", "keeper", "dispatcher")


async def refusals(service: Service) -> dict[str, int]:
    async with connection(service.pool) as acquired:
        return await judge_hosts.refusals(acquired)


async def test_m1_submissions_and_executions_run_on_hosts(open_service: OpenService) -> None:
    """M1, M2: with progress and live output; a host gets the test data of its task only."""
    port = reserved_port()
    async with (
        open_service(port=port, **PATIENT) as service,
        client_of(service, port) as client,
        open_host(service, port, "one") as host,
        open_host(service, port, "two") as other,
    ):
        service.start(*ROLES)
        await host.register()
        submission = await client.submit(RIGHT, "one")
        task = await host.task()
        assert task.work == submission
        assert unpack_files(task.files) == {"main.py": RIGHT.source.encode()}
        assert task.data is not None
        data = await host.get(task.data.path)
        assert data.status_code == 200, data.text
        with tarfile.open(fileobj=io.BytesIO(data.content)) as tar:
            assert any(name.endswith("problem.yaml") for name in tar.getnames())
        for thief, path in (
            (other, task.data.path),
            (host, task.data.path.replace(task.data.digest, hashlib.sha256().hexdigest())),
            (host, task.data.path.replace("expires=", "expires=9")),
        ):
            assert (await thief.get(path)).status_code == 403
        assert (await host.finish(task)).status_code == 200
        await service.until_state("COMPLETED", submission)
        assert (await client.look(submission))["verdict"] == "Accepted"

        execution = await client.execute(
            {"language": "python3", "source_code": "print(1)"}, "two"
        )
        task = await host.task()
        assert task.work == execution
        assert task.execute is not None
        chunks = [
            OutputChunk(task.attempt, number, Stream.STDOUT, number, text)
            for number, text in ((1, b"a\n"), (2, b"\xff\n"))
        ]
        answer = await host.post(task.update_path, Update(output=chunks[:1]))
        assert answer.status_code == 200, answer.text
        assert (await client.execution(execution))["stdout"] == "a\n"
        outcome = ExecuteOutcome(
            result=ExecutionResult(RunStatus.NONZERO_EXIT, exit_code=3), output=chunks[1:]
        )
        assert (await host.post(task.finish_path, Finish(execute=outcome))).status_code == 200
        shown = await until(lambda: ended(client, execution))
        assert shown is not None
        assert (shown["status"], shown["exit_code"]) == ("FAILED", 3)
        assert shown["stdout"] == "a\n�\n"
        await until_at_rest(service)
        assert await refusals(service) == {"test_data_refused": 3}


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].rpartition(":")[2]


async def admin_token(service: Service) -> str:
    async with connection(service.pool) as acquired:
        admin = await accounts.add(acquired, "chief", Role.ADMIN)
        return await accounts.add_token(acquired, admin.id, "test")


async def ended(client: Client, execution: ExecutionId) -> dict[str, Any] | None:
    shown = await client.execution(execution)
    return shown if shown["finished_at"] else None


async def test_m2_only_the_result_of_the_current_task_counts_and_once(
    open_service: OpenService,
) -> None:
    """M2, M3, M4: each refusal is counted under its reason, and the submission ends once."""
    port = reserved_port()
    async with (
        open_service(port=port, **ON_HOSTS) as service,
        client_of(service, port) as client,
        open_host(service, port, "slow") as slow,
        open_host(service, port, "quick") as quick,
    ):
        service.start(*ROLES)
        await slow.register()
        submission = await client.submit(RIGHT, "one")
        late = await slow.task()
        await quick.register()
        # The first host falls silent, so its work goes to the second.
        task = await quick.task()
        assert (task.work, late.work) == (submission, submission)
        assert task.judge_id != late.judge_id
        answer = await slow.finish(late, Verdict.WRONG_ANSWER)
        assert refusal(answer) == (409, "superseded_judge_id")
        forged = await quick.finish(task, headers={"Deemster-Signature": "0" * 64})
        assert refusal(forged) == (401, "forged")
        old = await quick.finish(task, now_s=0)
        assert refusal(old) == (401, "expired")
        stolen = await slow.finish(task)
        assert refusal(stolen) == (404, "unknown_judge_id")
        assert (await quick.finish(task)).status_code == 200
        again = await quick.finish(task)
        assert refusal(again) == (409, "used_judge_id")
        await service.until_state("COMPLETED", submission)
        assert (await client.look(submission))["verdict"] == "Accepted"
        await until_at_rest(service)
        assert await refusals(service) == {
            "superseded_judge_id": 1,
            "forged": 1,
            "expired": 1,
            "unknown_judge_id": 1,
            "used_judge_id": 1,
        }
        counted = await service.fetch("SELECT count(*) FROM judgement")
        assert counted[0][0] == 1


async def test_m4_a_host_that_fails_is_followed_by_another_try(
    open_service: OpenService,
) -> None:
    port = reserved_port()
    async with (
        open_service(port=port, **PATIENT) as service,
        client_of(service, port) as client,
        open_host(service, port, "one") as host,
    ):
        service.start(*ROLES)
        await host.register()
        submission = await client.submit(RIGHT, "one")
        task = await host.task()
        failure = Finish(failure=Failure(error="the disk is full"))
        assert (await host.post(task.finish_path, failure)).status_code == 200
        host.running.clear()
        second = await host.task()
        assert second.attempt == task.attempt + 1
        assert (await host.finish(second)).status_code == 200
        await service.until_state("COMPLETED", submission)
        events = await service.events(submission)
        assert events == ["submit", "publish", "start", "retry", "start", "complete"]
        tasks = await service.fetch("SELECT DISTINCT task FROM outbox ORDER BY task")
        assert [row["task"] for row in tasks] == [Task.RECEIVE, Task.RUN]


async def test_m5_a_third_host_decides_and_the_wrong_one_is_paused(
    open_service: OpenService,
) -> None:
    """M5: the verdict that two of three found counts, whoever was asked first."""
    port = reserved_port()
    async with (
        open_service(port=port, judge_twice=1.0, **PATIENT) as service,
        client_of(service, port) as client,
        open_host(service, port, "one") as one,
        open_host(service, port, "two") as two,
        open_host(service, port, "three") as three,
    ):
        service.start(*ROLES)
        await one.register()
        agreed, disputed = [await client.submit(RIGHT, key) for key in ("agreed", "disputed")]
        first = {(task := await one.task()).work: task for _ in range(2)}
        await two.register()
        await one.finish(first[agreed])
        await two.finish(await two.task())
        await service.until_state("COMPLETED", agreed)
        # The first host is wrong.
        await one.finish(first[disputed], Verdict.WRONG_ANSWER)
        second = await two.task()
        assert second.work == disputed
        await three.register()
        await two.finish(second)
        third = await three.task()
        assert (third.work, third.attempt) == (disputed, second.attempt)
        assert (await client.look(disputed))["verdict"] is None
        await three.finish(third)
        await service.until_state("COMPLETED", disputed)

        async def is_accepted() -> bool:
            return bool((await client.look(disputed))["verdict"] == "Accepted")

        await until(is_accepted)  # the API learns of it a moment later
        await until_at_rest(service)
        paused = await service.fetch(
            "SELECT name, pause_reason FROM judge_host WHERE paused_at IS NOT NULL"
        )
        assert [row["name"] for row in paused] == ["one"]
        assert disputed in paused[0]["pause_reason"]
        token = await admin_token(service)
        answer = await client.http.get(
            "/v1/admin/judge-hosts/one/verdicts", headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 200, answer.text
        assert {
            (each["submission_id"], each["verdict"]) for each in answer.json()["items"]
        } == {
            (agreed, "Accepted"),
            (disputed, "Wrong Answer"),
        }
        counted = await service.fetch("SELECT count(*) FROM judgement")
        assert counted[0][0] == 2
        assert await refusals(service) == {}
