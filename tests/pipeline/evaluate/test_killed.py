"""P3: a process that is killed between request and reply loses nothing, and pays once."""

import asyncio
import hashlib
import sys
from asyncio.subprocess import Process
from pathlib import Path

from deemster.domain.evaluation import Method
from deemster.domain.ids import SubmissionId
from deemster.domain.source import pack_files
from deemster.pipeline.verdict.attempt import settle
from deemster.store import evaluations, model_calls
from deemster.store.pool import Pool, connection
from tests.builders import (
    judged,
    make_artifacts,
    make_submission,
    queue_submission,
    start_submission,
)
from tests.pipeline.deliver.receiver import Answering, Request, silence
from tests.pipeline.evaluate.conftest import GOOD, ONE_CALL, SOURCE, OpenService
from tests.services.model_server import Chat, says
from tests.waiting import until


async def judged_submission(pool: Pool, directory: Path) -> SubmissionId:
    submission = await make_submission(pool)
    packed = pack_files({"main.py": SOURCE.encode()})
    digest = hashlib.sha256(packed).hexdigest()
    async with connection(pool) as writing:
        await writing.execute("INSERT INTO artifact VALUES ($1, $2)", digest, packed)
        await writing.execute("UPDATE work SET source = $1", digest)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    await settle(pool, make_artifacts(directory), running, judged())
    return submission


async def test_p3_a_killed_evaluation_pays_nothing_twice(
    open_service: OpenService, pool: Pool, database_url: str, tmp_path: Path
) -> None:
    processes: list[Process] = []

    async def start(submission: SubmissionId) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.pipeline.evaluate.evaluating_process"),
            *(database_url, str(tmp_path), submission),
        )
        processes.append(process)
        return process

    async def plain_is_stored() -> bool:
        async with connection(pool) as reading:
            stored = "SELECT count(*) FROM model_call WHERE state = 'answered'"
            return bool(await reading.fetchval(stored))

    async def kill_it(request: Request, writer: asyncio.StreamWriter) -> None:
        # The request is here in full, and its reply is on no disk.
        await until(plain_is_stored)
        processes[0].kill()
        await silence(request, writer)

    def model(chat: Chat) -> Answering:
        dies = chat.is_neutral and len(processes) == 1
        return kill_it if dies else says(GOOD)(chat)

    async with open_service(a=model) as running:
        submission = await judged_submission(pool, tmp_path)
        assert await (await start(submission)).wait() != 0
        async with connection(pool) as writing:
            assert await evaluations.get(writing, submission) is None
            states = await running.calls("variant", "state")
            assert sorted(states) == [("neutral", "reserved"), ("plain", "answered")]
            await writing.execute(
                "UPDATE model_call SET claimed_until = now() WHERE state = 'reserved'"
            )
        assert await (await start(submission)).wait() == 0
        async with connection(pool) as reading:
            stored = await evaluations.get(reading, submission)
            assert await model_calls.find_mismatches(reading) == []
        charged = await running.charged()
    assert stored is not None
    assert (stored.evaluation.method, stored.evaluation.score) == (Method.MODEL, 100)
    assert charged == stored.evaluation.usage.cost == 2 * ONE_CALL
    variants = [chat.is_neutral for chat in running.server.chats]
    assert (variants.count(False), variants.count(True)) == (1, 2)
    keys = {chat.headers["idempotency-key"] for chat in running.server.chats}
    assert len(keys) == 2, "the repeated request has the key of the first"
