"""`deemster host` manages judge hosts and their keys (M1, M4)."""

from pathlib import Path
from typing import Any

import pytest

from deemster.domain.judge_host import HostKey, derive_key, parse_key
from deemster.store import host_workers, judge_hosts
from deemster.store.judge_hosts import JudgeHostView
from deemster.store.pool import Pool, connection, transaction
from tests.cli.conftest import Deemster


async def shown(pool: Pool, key: HostKey) -> JudgeHostView:
    async with connection(pool) as acquired:
        found = await judge_hosts.get(acquired, key.host)
    assert found is not None
    return found


async def run_host(pool: Pool, key: HostKey) -> None:
    async with transaction(pool) as acquired:
        await host_workers.register(
            acquired, key.host, slots=2, execution_slots=0, versions={"c": "12"}, speed=1.5
        )


async def audit_entries(pool: Pool) -> list[tuple[str, dict[str, Any]]]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT actor, act, details FROM audit ORDER BY id")
    assert all(row["actor"].endswith("by command") for row in rows)
    return [(row["act"], row["details"]) for row in rows]


async def test_a_host_gets_a_key_that_the_servers_secret_makes(
    operate: Deemster, pool: Pool, tmp_path: Path
) -> None:
    done = operate("host", "add", "lab-1")
    assert done.code == 0, done.err
    key = parse_key(done.out.decode())
    secret = (tmp_path / "data" / "secret.key").read_text().strip().encode()
    assert key == derive_key(secret, key.host, 1)
    rotated = operate("host", "rotate", "lab-1", "--json").json
    assert (rotated["id"], rotated["name"]) == (key.host, "lab-1")
    assert parse_key(rotated["key"]) == derive_key(secret, key.host, 2)
    assert await audit_entries(pool) == [
        ("judge_host.add", {"name": "lab-1"}),
        ("judge_host.rotate", {"name": "lab-1"}),
    ]


async def test_hosts_are_listed_paused_drained_and_revoked(
    operate: Deemster, pool: Pool
) -> None:
    key = parse_key(operate("host", "add", "lab-1", "--json").json["key"])
    assert "lab-1 does not run" in operate("host", "drain", "lab-1").err
    await run_host(pool, key)
    [listed] = operate("host", "list", "--json").json["hosts"]
    assert (listed["name"], listed["state"], listed["worker"]["slots"]) == ("lab-1", "ready", 2)
    table = operate("host", "list").out.decode()
    assert all(text in table for text in ("lab-1", "ready", "0/2", "1.50", key.host))
    assert operate("host", "drain", key.host).code == 0
    assert (await shown(pool, key)).state == "draining"
    assert operate("host", "pause", "lab-1", "--reason", "too hot").code == 0
    assert (await shown(pool, key)).state == "paused"
    assert b"paused: too hot" in operate("host", "list").out
    assert operate("host", "resume", "lab-1").out == b"lab-1 gets tasks again.\n"
    assert (await shown(pool, key)).state == "ready"
    assert operate("host", "revoke", "lab-1").out == b"lab-1 is revoked.\n"
    assert (await shown(pool, key)).state == "revoked"
    assert operate("host", "list", "--json").json == {"hosts": []}
    assert [act for act, _ in await audit_entries(pool)] == [
        f"judge_host.{act}" for act in ("add", "drain", "pause", "resume", "revoke")
    ]


def test_errors_say_what_to_do(operate: Deemster) -> None:
    assert operate("host", "add", "lab-1").code == 0
    done = operate("host", "add", "lab-1")
    assert (done.code, "There is a judge host lab-1 already" in done.err) == (2, True)
    assert "can't be the name of a judge host" in operate("host", "add", "../x").err
    for command in ("pause", "resume", "drain", "revoke", "rotate"):
        done = operate("host", command, "nobody")
        assert done.code == 2
        assert "There is no judge host 'nobody': see `deemster host list`" in done.err


def test_o7_a_machine_with_another_secret_can_not_make_keys(
    operate: Deemster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operate("host", "add", "lab-1").code == 0
    monkeypatch.setenv("DEEMSTER_SECRET_KEY", "another secret key of this test")
    done = operate("host", "add", "lab-2")
    assert (done.code, "This secret key is not the one" in done.err) == (2, True)
    assert len(operate("host", "list", "--json").json["hosts"]) == 1
