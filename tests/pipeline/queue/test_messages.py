"""Job payloads: valid ones are unchanged, and invalid ones do not stop a consumer."""

import json
from typing import Any

import pytest
import redis.asyncio as redis_client

from deemster.domain.errors import Refused
from deemster.domain.job import QueueName, Task
from deemster.pipeline.queue.messages import pack, unpack
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.queue.topology import redis_prefix
from tests.pipeline.queue.stores import Seen, bullmq_queue, make_job, until_counts, working

GOOD = pack(make_job(1))
BAD: dict[str, Any] = {
    "an unknown field": GOOD | {"source": "int main(){}"},
    "a missing field": {name: value for name, value in GOOD.items() if name != "attempt"},
    "a number as text": GOOD | {"attempt": "0"},
    "a negative number": GOOD | {"dispatch": -1},
    "an unknown task": GOOD | {"task": "explode"},
    "an id with a path": GOOD | {"submission": "../../etc/passwd"},
    "an empty id": GOOD | {"problem": ""},
    "an endless id": GOOD | {"revision": "a" * 1000},
    "the wrong queue": GOOD | {"task": "submission:analyze"},
    "a task of an earlier release": GOOD | {"task": "run"},
    "a task for other work": GOOD | {"task": "execution:run"},
    "a submission without a revision": {**GOOD, "revision": None},
    "a list": [GOOD],
    "nothing": None,
}


@pytest.mark.parametrize("task", Task)
def test_a_job_survives_packing_and_unpacking(task: Task) -> None:
    sent = make_job(7, task, priority=9, dispatch=2)
    assert unpack(json.dumps(pack(sent)), sent.queue, 9) == sent


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_payload_is_refused_without_repeating_it(kind: str) -> None:
    """Q10"""
    with pytest.raises(Refused, match=r"^bad payload: ") as refused:
        unpack(json.dumps(BAD[kind]), QueueName.DEFAULT, 1)
    assert "passwd" not in str(refused.value)
    assert "main" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "\ufffd", "[" * 100_000, "1e999"])
def test_data_that_is_not_a_payload_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="bad payload"):
        unpack(text, QueueName.DEFAULT, 1)


async def test_bad_payloads_fail_at_once_and_the_next_job_is_done(
    queue_url: str, queue_env: str
) -> None:
    """Q3"""
    seen = Seen()
    async with (
        Producer.open(queue_url, queue_env) as producer,
        bullmq_queue(queue_url, queue_env, QueueName.DEFAULT) as queue,
    ):
        await producer.send([make_job(2)])
        for payload in BAD.values():
            await queue.add("run", payload)
        async with working(queue_url, queue_env, seen):
            await until_counts(queue_url, queue_env, {"failed": len(BAD), "completed": 1})
        failed = await queue.getFailed()
    assert seen.ids == [make_job(2).job_id]
    assert all(job.failedReason.startswith("bad payload: ") for job in failed)


async def test_a_job_with_a_missing_or_damaged_record_is_dropped(
    redis_url: str, queue_env: str
) -> None:
    """Another program may have written to Redis."""
    seen = Seen()
    prefix = f"{redis_prefix(queue_env)}:{QueueName.DEFAULT}"
    async with (
        Producer.open(redis_url, queue_env) as producer,
        redis_client.from_url(redis_url) as client,
    ):
        await producer.send([make_job(number) for number in range(4)])
        await client.delete(f"{prefix}:{make_job(0).job_id}")
        await client.hset(f"{prefix}:{make_job(1).job_id}", "data", b"\xff\xfe")
        await client.hset(f"{prefix}:{make_job(2).job_id}", "priority", "many")
        async with working(redis_url, queue_env, seen):
            await until_counts(redis_url, queue_env, {"failed": 2, "completed": 2})
    assert seen.ids == [make_job(2).job_id, make_job(3).job_id]
