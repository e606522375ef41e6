"""`/v1/admin/judge-hosts`: admins add, list, pause, drain, rotate and revoke hosts (M4)."""

from typing import Any

import pytest

from deemster.domain.judge_host import parse_key
from deemster.store import audit
from deemster.store.pool import Pool, connection
from tests.api.conftest import Api
from tests.api.host_client import HostClient, add_host

PATH = "/v1/admin/judge-hosts"
ACTIONS = ("pause", "resume", "drain", "rotate", "revoke")


async def change(admin: Api, host: HostClient, action: str) -> dict[str, Any]:
    body = {"reason": "too hot"} if action == "pause" else None
    answer = await admin.post(f"{PATH}/{host.key.host}/{action}", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def acts(pool: Pool, host: HostClient) -> list[tuple[str, dict[str, Any]]]:
    async with connection(pool) as acquired:
        entries = await audit.page(acquired, before=None, limit=20, target=host.key.host)
    return [(entry.act, dict(entry.details)) for entry in reversed(entries)]


async def test_m1_only_the_response_to_add_and_rotate_shows_a_key(
    admin: Api, pool: Pool
) -> None:
    """O7: neither the list, nor the audit log, nor the database has it."""
    host = await add_host(admin)
    rotated = (await change(admin, host, "rotate"))["key"]
    assert parse_key(rotated).host == host.key.host
    assert parse_key(rotated).secret != host.key.secret
    shown = (await admin.get(PATH)).text + str(await acts(pool, host))
    async with connection(pool) as acquired:
        shown += str(await acquired.fetch("SELECT * FROM judge_host"))
    for key in (host.key.text, rotated):
        assert key not in shown
    assert "dmh_" not in shown
    new = HostClient(admin.client, parse_key(rotated))
    assert (await new.beat(await new.register()))["order"] == "work"


async def test_i1_a_repeated_request_adds_one_host(admin: Api) -> None:
    first, second = [await admin.post(PATH, {"name": "lab-1"}, key="k") for _ in range(2)]
    assert first.json() == second.json()
    assert (await admin.post(PATH, {"name": "lab-1"})).status_code == 409
    assert len((await admin.get(PATH)).json()["items"]) == 1


@pytest.mark.parametrize("name", ["", "-a", "a b", "x" * 64, "hst_x", "a\x00", "ä"])
async def test_a6_a_name_has_simple_characters(admin: Api, name: str) -> None:
    assert (await admin.post(PATH, {"name": name})).status_code == 422


async def test_m4_a_paused_host_may_talk_but_gets_no_tasks_also_after_a_restart(
    admin: Api, pool: Pool
) -> None:
    host = await add_host(admin)
    worker = await host.register()
    paused = await change(admin, host, "pause")
    assert (paused["state"], paused["pause_reason"]) == ("paused", "too hot")
    assert (await host.beat(worker))["order"] == "drain"
    worker = await host.register()
    assert (await admin.post(f"/v1/admin/workers/{worker}/resume")).status_code == 200
    assert (await admin.get("/readyz")).json()["workers"]["ok"] is False
    assert (await host.beat(worker))["order"] == "drain"
    resumed = await change(admin, host, "resume")
    assert (resumed["state"], resumed["pause_reason"]) == ("ready", None)
    assert (await host.beat(worker))["order"] == "work"
    assert await acts(pool, host) == [
        ("judge_host.add", {"name": "lab-1"}),
        ("judge_host.pause", {"name": "lab-1", "reason": "too hot"}),
        ("judge_host.resume", {"name": "lab-1"}),
    ]


async def test_m4_a_drained_host_works_again_after_a_restart(admin: Api) -> None:
    host = await add_host(admin)
    assert (await admin.post(f"{PATH}/lab-1/drain")).status_code == 409
    worker = await host.register()
    assert (await change(admin, host, "drain"))["state"] == "draining"
    assert (await host.beat(worker))["order"] == "drain"
    assert (await host.beat(await host.register()))["order"] == "work"


async def test_m4_the_work_of_a_revoked_host_is_free_and_its_name_too(admin: Api) -> None:
    host = await add_host(admin)
    await host.register()
    revoked = await change(admin, host, "revoke")
    assert (revoked["state"], revoked["worker"]["is_live"]) == ("revoked", False)
    for action in ACTIONS:
        answer = await admin.post(f"{PATH}/{host.key.host}/{action}", {})
        assert answer.status_code == 404
    await add_host(admin)
    assert len((await admin.get(PATH)).json()["items"]) == 1


async def test_m4_rotating_the_key_frees_the_work_of_the_old_process(admin: Api) -> None:
    host = await add_host(admin)
    await host.register()
    assert (await change(admin, host, "rotate"))["state"] == "offline"


@pytest.mark.parametrize("host", ["hst_" + "0" * 26, "nobody", "x%00", "9" * 300])
async def test_an_unknown_host_is_not_found(admin: Api, host: str) -> None:
    """A6"""
    for action in ACTIONS:
        assert (await admin.post(f"{PATH}/{host}/{action}", {})).status_code == 404
