"""`deemster up` runs the whole service, from the first start to the last signal."""

import os
import re
import signal
import socket
import stat
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest

from deemster.privileges.service_user import find_service_user
from deemster.store.embedded import APPLICATION, running_url
from tests.cli.up.privileges import check_least_privileges, has_runner_and_boxes
from tests.cli.up.service import WELCOMED, Up, all_gone, as_json
from tests.waiting import PATIENCE_S, until

SAMPLES = 10
LINK = re.compile(r"^  (http://\S+/log-in/\S+)$", re.MULTILINE)
CORRECT = "print(sum(map(int, input().split())))\n"
WRONG = "print(0)\n"


async def test_o7_a_second_start_keeps_the_data_of_the_first(kept_up: Up) -> None:
    """O7, O4, Q14: the token is shown only once; everything ends after one Ctrl-C."""
    up = kept_up
    await up.start()
    link = await until(lambda: LINK.search(up.output), why=lambda: up.output)
    assert link is not None
    first = up.output
    assert first.index(WELCOMED) < link.start(), "the page to open is the last of the welcome"
    async with httpx.AsyncClient(timeout=PATIENCE_S) as browser:
        assert "Log in" in (await browser.get(link[1])).text
    token = (up.data / "admin.token").read_text().strip()
    assert first.count(token) == 1
    for name in ("admin.token", "secret.key"):
        assert stat.S_IMODE((up.data / name).stat().st_mode) == 0o600
    problems = await up.get("/v1/problems?limit=100")
    assert len(problems["items"]) == SAMPLES
    check_privileges(up)
    await check_database_role(up)

    (up.data.parent / "sum.py").write_text(CORRECT)
    arguments = ("submit", str(up.data.parent / "sum.py"), "--problem", "prob_aplusb")
    done = up.command(*arguments, "--wait", "--json")
    assert done.returncode == 0, done.stderr
    accepted = as_json(done)
    assert (accepted["status"], accepted["verdict"]) == ("finished", "Accepted")

    processes = up.processes()
    assert len(processes) > 6
    assert await up.end(signal.SIGINT) == 0, up.output
    assert up.output.rstrip().endswith("Deemster has ended.")
    await all_gone(processes)

    workers = min(2, len(os.sched_getaffinity(0)))
    await up.start(DEEMSTER_SLOTS=str(workers), DEEMSTER_SLOTS_PER_PROCESS="1")
    assert len(up.children("worker")) == workers, "each process of the worker has one slot"
    assert token not in up.output
    assert LINK.search(up.output) is None
    assert "Loaded" not in up.output
    shown = await up.get(f"/v1/submissions/{accepted['id']}")
    assert shown["verdict"] == "Accepted"
    (up.data.parent / "wrong.py").write_text(WRONG)
    wrong = up.command(
        *("submit", str(up.data.parent / "wrong.py"), "--problem", "prob_aplusb", "--wait")
    )
    assert wrong.returncode == 1, wrong.stderr
    assert wrong.stdout.startswith("Wrong Answer")
    assert "failed in case" in wrong.stdout

    waiting = [await up.submit("import time\ntime.sleep(60)\n") for _ in range(workers)]
    for each in waiting:
        await until(partial(is_running, up, each), why=lambda: up.output)
    processes = up.processes()
    up.process.send_signal(signal.SIGTERM)
    assert await up.end(signal.SIGINT) == 0, "a second signal ends it at once, with exit code 0"
    await all_gone(processes)


async def is_running(up: Up, submission: str) -> bool:
    return bool((await up.get(f"/v1/submissions/{submission}"))["status"] == "running")


def check_privileges(up: Up) -> None:
    """X11: /proc/PID/status of every process; only the launcher and the runners are root."""
    assert stat.S_IMODE(up.data.stat().st_mode) == 0o700
    found = check_least_privileges(up.processes().values())
    if os.geteuid() != 0:
        return
    assert up.data.stat().st_uid == find_service_user().uid
    assert has_runner_and_boxes(found)
    for name in (" up ", " api", " relay", " worker", " keeper", "postgres"):
        assert any(name in f"{each.argv.rstrip()} " for each in found if not each.is_root), name


async def check_database_role(up: Up) -> None:
    """X11: the service's role reads and writes rows, and can change nothing else."""
    url = running_url(up.data, APPLICATION)
    assert url is not None
    connection = await asyncpg.connect(url)
    try:
        role = await connection.fetchrow("SELECT * FROM pg_roles WHERE rolname = current_user")
        assert role is not None
        powers = ("super", "createrole", "createdb", "bypassrls", "replication")
        assert not any(role[f"rol{name}"] for name in powers)
        owned = "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tableowner = $2"
        assert not await connection.fetch(owned, "public", APPLICATION)
        for statement in (
            "ALTER TABLE account ADD COLUMN x int",
            "CREATE TABLE public.x ()",
            "DROP TABLE work",
            "DELETE FROM migration",
            "CREATE ROLE x",
            "COPY account TO PROGRAM 'id'",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(statement)
    finally:
        await connection.close()
    hba = (up.data / "postgres" / "cluster" / "pg_hba.conf").read_text()
    assert "trust" not in hba
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await asyncpg.connect(url.replace(APPLICATION, "postgres"))


async def test_a_killed_process_is_restarted(kept_up: Up) -> None:
    """O4, O9: each role and the database; when the supervisor is killed, nothing is left."""
    up = kept_up
    await up.start()
    (up.data.parent / "sum.py").write_text(CORRECT)
    for name in ("api", "relay", "worker", "keeper"):
        await up.kill(name)
        assert f"{name} ended (SIGKILL) and is restarted" in up.output
    await up.kill("postgres")
    assert "Postgres ended" in up.output
    done = up.command(
        *("submit", str(up.data.parent / "sum.py"), "--problem", "prob_aplusb", "--wait")
    )
    assert done.returncode == 0, done.stderr + up.output

    second = up.command("up", "--port", "0")
    assert second.returncode == 2
    assert f"Deemster uses {up.data} already (`deemster up`, process" in second.stderr

    backup = up.data.parent / "backup.tar"
    done = up.command("backup", str(backup), "--verify")
    assert done.returncode == 0, done.stderr
    assert backup.stat().st_size > 1 << 20
    assert f"Verified {backup}: it can be restored" in done.stdout
    check_verification(up, backup)
    refused = up.command("restore", str(backup), "--force")
    assert refused.returncode == 2
    assert "stop that one first" in refused.stderr

    processes = up.processes()
    up.process.send_signal(signal.SIGKILL)
    up.process.wait()
    await all_gone(processes)


def check_verification(up: Up, backup: Path) -> None:
    """O9: a backup that exists is verified again, and not written again."""
    damaged = backup.with_name("damaged.tar")
    damaged.write_bytes(backup.read_bytes()[: backup.stat().st_size // 2])
    for file, code in ((backup, 0), (damaged, 2)):
        before = file.read_bytes()
        done = up.command("backup", str(file), "--verify")
        assert done.returncode == code, done.stderr
        assert ("Wrote" in done.stdout, file.read_bytes() == before) == (False, True)


async def test_a_port_in_use_is_an_error_before_anything_starts(up: Up) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up.begin(port, DEEMSTER_DATADIR="/x")
        assert await up.ended() == 2
    assert up.output.count("DEEMSTER_DATADIR is not a setting") == 1
    assert f"Another program uses port {port} of 127.0.0.1" in up.output
    assert "--port" in up.output
    assert {path.name for path in up.data.iterdir()} == {"up.lock"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_during_the_start_ends_everything(
    up: Up, number: signal.Signals
) -> None:
    up.begin()
    await until((up.data / "postgres").exists, why=lambda: up.output)
    processes = up.processes()
    assert await up.end(number) == 0, up.output
    await all_gone(processes)


async def test_a_role_that_can_not_start_ends_everything(
    up: Up, tmp_path: Path, database_url: str
) -> None:
    """With the operator's own database, no embedded one is created."""
    up.begin(DEEMSTER_RUNNER=str(tmp_path / "none"), DEEMSTER_DATABASE_URL=database_url)
    assert await up.ended() == 2
    assert "The worker can't start" in up.output
    assert "can't be executed. Reinstall Deemster, or set DEEMSTER_RUNNER" in up.output
    assert not (up.data / "postgres").exists()
