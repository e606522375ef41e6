"""`deemster up`: the whole service by one command, from the first start to the last signal."""

import signal
import socket
import stat
from pathlib import Path

import pytest

from tests.cli.up.service import Up, all_gone, as_json
from tests.waiting import until

SAMPLES = 10
RIGHT = "print(sum(map(int, input().split())))\n"
WRONG = "print(0)\n"


async def test_o7_a_first_start_serves_and_a_second_one_knows_it_all(up: Up) -> None:
    """O7, O4, Q14: secrets are made once, shown once; everything ends at one Ctrl-C."""
    await up.start()
    first = up.output
    token = (up.data / "admin.token").read_text().strip()
    assert first.count(token) == 1
    for name in ("admin.token", "secret.key"):
        assert stat.S_IMODE((up.data / name).stat().st_mode) == 0o600
    problems = await up.get("/v1/problems?limit=100")
    assert len(problems["items"]) == SAMPLES

    (up.data.parent / "sum.py").write_text(RIGHT)
    arguments = ("submit", str(up.data.parent / "sum.py"), "--problem", "prob_aplusb")
    done = up.command(*arguments, "--wait", "--json")
    assert done.returncode == 0, done.stderr
    accepted = as_json(done)
    assert (accepted["status"], accepted["verdict"]) == ("finished", "Accepted")

    family = up.family()
    assert len(family) > 6
    assert await up.end(signal.SIGINT) == 0, up.output
    assert up.output.rstrip().endswith("Deemster has ended.")
    await all_gone(family)

    await up.start()
    assert token not in up.output
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

    (up.data.parent / "loop.py").write_text("while True: pass\n")
    loop = up.command("submit", str(up.data.parent / "loop.py"), "--problem", "prob_aplusb")
    assert loop.returncode == 0, loop.stderr
    family = up.family()
    up.process.send_signal(signal.SIGTERM)
    assert await up.end(signal.SIGINT) == 0, "a second signal ends it at once, and well"
    await all_gone(family)


async def test_whatever_is_killed_lives_again(up: Up) -> None:
    """O4: by `kill -9`: each role, the database; then the supervisor, and nothing is left."""
    await up.start()
    (up.data.parent / "sum.py").write_text(RIGHT)
    for name in ("api", "relay", "worker", "keeper"):
        await up.kill(name)
        assert f"{name} ended (SIGKILL) and starts again" in up.output
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
    done = up.command("backup", str(backup))
    assert done.returncode == 0, done.stderr
    assert backup.stat().st_size > 1 << 20
    refused = up.command("restore", str(backup), "--force")
    assert refused.returncode == 2
    assert "stop that one first" in refused.stderr

    family = up.family()
    up.process.send_signal(signal.SIGKILL)
    up.process.wait()
    await all_gone(family)


async def test_a_taken_port_is_told_before_anything_starts(up: Up) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up.begin(port)
        assert await up.ended() == 2
    assert f"Another program uses port {port} of 127.0.0.1" in up.output
    assert "--port" in up.output
    assert {path.name for path in up.data.iterdir()} == {"up.lock"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_while_it_starts_ends_it_too(up: Up, number: signal.Signals) -> None:
    up.begin()
    await until((up.data / "postgres").exists, why=lambda: up.output)
    family = up.family()
    assert await up.end(number) == 0, up.output
    await all_gone(family)


async def test_a_role_that_can_not_start_ends_the_whole(
    up: Up, tmp_path: Path, database_url: str
) -> None:
    """On a database of the operator's own, which it leaves alone."""
    up.begin(DEEMSTER_RUNNER=str(tmp_path / "none"), DEEMSTER_DATABASE_URL=database_url)
    assert await up.ended() == 2
    assert "The worker can't start" in up.output
    assert "DEEMSTER_RUNNER" in up.output
    assert not (up.data / "postgres").exists()
