"""H1: a client that resumes with its last id gets every event once, in order."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress

import pytest

from deemster.api.feed import replay, stream
from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import Event
from deemster.pipeline.verdict.cancel import cancel
from deemster.store.artifacts import Artifacts
from deemster.store.lifecycle import advance
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.feed.event_client import Block, block_of, finish, open_stream
from tests.builders import make_problem, make_submission
from tests.waiting import PATIENCE_S


async def hear_until_cut(
    api: Api, path: str, last: str | None, at_byte: int
) -> tuple[list[Block], bool]:
    """Returns the complete blocks before the disconnect, and whether the stream had ended."""
    headers = {**api.user.headers, **({"Last-Event-ID": last} if last is not None else {})}
    got = bytearray()
    is_over = True
    async with api.client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                async for piece in answer.aiter_bytes():
                    got += piece
                    if len(got) >= at_byte:
                        is_over = False
                        break
    blocks = bytes(got[:at_byte]).decode().split("\n\n")[:-1]
    return [block_of(each.split("\n")) for each in blocks], is_over


async def publish_out_of_order(pool: Pool, pairs: Sequence[Sequence[SubmissionId]]) -> None:
    """The transaction with the smaller ids commits last."""
    async with connection(pool) as one, connection(pool) as other:
        for first, second in pairs:
            async with one.transaction():
                await advance(one, Event.PUBLISH, first, 0)
                async with other.transaction():
                    await advance(other, Event.PUBLISH, second, 0)


@pytest.mark.parametrize("seed", range(4))
async def test_a_stream_that_is_cut_off_often_loses_and_repeats_nothing(
    ada: Api, bob: Api, pool: Pool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: while transactions commit in another order than that of their ids."""
    monkeypatch.setattr(replay, "BATCH", 3)
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)  # so that every cut comes
    chance = random.Random(seed)
    summary = await make_problem(pool)
    made = [await make_submission(pool, ada.user.id, summary) for _ in range(30)]
    others = await make_submission(pool, bob.user.id, summary)
    pairs = [made[place : place + 2] for place in range(0, len(made), 2)]
    pairs[3:3] = [[others, await make_submission(pool, ada.user.id, summary)]]

    async with open_stream(ada, "/v1/events") as stream_client:
        opening = await stream_client.block()
    assert opening is not None
    assert opening.id, "who is cut off before the first event has a mark too"
    last = opening.id
    seen: list[Block] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(publish_out_of_order(pool, pairs))
        while sum(each.content["state"] == "queued" for each in seen) < 31:
            # From the middle of the first line to some events later.
            blocks, _ = await hear_until_cut(ada, "/v1/events", last, chance.randint(1, 1500))
            seen += [each for each in blocks if each.event is not None]
            last = ([last] + [each.id for each in blocks if each.id is not None])[-1]

    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            """SELECT xact, id FROM told_event WHERE account_id = $1 AND (xact, id) > ($2, $3)
                ORDER BY xact, id""",
            ada.user.id,
            *map(int, opening.id.split("-")),
        )
    assert [each.id for each in seen] == [f"{row['xact']}-{row['id']}" for row in rows]
    assert {each.content["submission_id"] for each in seen} >= set(made)


@pytest.mark.parametrize("seed", range(3))
async def test_a_submissions_stream_resumes_too(
    ada: Api, pool: Pool, artifacts: Artifacts, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_S", 0.02)
    chance = random.Random(seed)
    submission = await make_submission(pool, ada.user.id)
    path = f"/v1/submissions/{submission}/events"
    seen: list[Block] = []
    last: str | None = None
    async with asyncio.TaskGroup() as group:
        group.create_task(finish(pool, artifacts, submission))
        is_over = False
        while not is_over:
            blocks, is_over = await hear_until_cut(ada, path, last, chance.randint(1, 900))
            seen += [each for each in blocks if each.event is not None]
            last = ([last] + [each.id for each in blocks if each.id is not None])[-1]
            if seen and seen[-1].event == "submission.finished":
                break
    states = [each.content["state"] for each in seen]
    assert states == ["pending", "queued", "running", "completed"]


async def test_an_event_of_an_older_transaction_is_delivered_in_order(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """Events of one submission are ordered by their ids, not by transactions."""
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, f"/v1/submissions/{submission}/events") as stream_client:
        await stream_client.event()
        async with connection(pool) as old, connection(pool) as new, old.transaction():
            await old.execute("SELECT pg_current_xact_id()")
            await advance(new, Event.PUBLISH, submission, 0)
            await advance(old, Event.START, submission, 0)
        queued, running = await stream_client.event(), await stream_client.event()
    assert [queued.content["state"], running.content["state"]] == ["queued", "running"]
    marks = [tuple(map(int, (each.id or "").split("-"))) for each in (queued, running)]
    assert marks[0][0] > marks[1][0], "the transaction that came first wrote last"
    async with open_stream(
        ada, f"/v1/submissions/{submission}/events", queued.id
    ) as stream_client:
        assert await stream_client.event() == running


async def test_an_event_id_from_before_a_restore_still_works(ada: Api, pool: Pool) -> None:
    """Its transaction number is larger than any on this server."""
    submission = await make_submission(pool, ada.user.id)
    async with open_stream(ada, "/v1/events", f"{2**62}-0") as stream_client:
        assert (await stream_client.event()).content["submission_id"] == submission


async def test_an_event_id_of_another_stream_still_works(
    ada: Api, pool: Pool, artifacts: Artifacts
) -> None:
    """From another stream, or from before a restore: the client gets all events."""
    over, open_ = [await make_submission(pool, ada.user.id) for _ in range(2)]
    await finish(pool, artifacts, over)
    async with open_stream(ada, "/v1/events") as stream_client:
        opening = await stream_client.block()
    assert opening is not None
    for mark in (f"{2**62}-{2**62}", opening.id):
        async with open_stream(ada, f"/v1/submissions/{over}/events", mark) as stream_client:
            states = [each.content["state"] for each in await stream_client.rest()]
        assert states == ["pending", "queued", "running", "completed"]
    async with open_stream(
        ada, f"/v1/submissions/{open_}/events", f"{2**62}-{2**62}"
    ) as stream_client:
        assert (await stream_client.event()).content["state"] == "pending"
        await cancel(pool, open_)
        assert [each.content["state"] for each in await stream_client.rest()] == ["cancelled"]
