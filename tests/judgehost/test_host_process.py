"""Tests for a judge host to which tasks are sent, and how such a process ends (M1, M2, Q14)."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judgehost.conftest import new_memory, new_stub
from tests.judgehost.host_process import HostProcess, execution, result_of, running_host
from tests.judgehost.stub_server import StubServer, send_signed
from tests.services.ports import reserved_port
from tests.waiting import wait_until

SLEEPS = "import time\nprint('asleep', flush=True)\ntime.sleep({})"


@pytest.fixture(scope="module")
def address() -> str:
    return f"http://127.0.0.1:{reserved_port()}"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


@pytest.fixture(scope="module")
def host(
    stub: StubServer, address: str, directory: Path, memory: Path
) -> Iterator[HostProcess]:
    settings = {
        "judgehost_address": address,
        "judgehost_listen": address.removeprefix("http://"),
    }
    with running_host(stub, directory, memory, **settings) as started:
        wait_until(lambda: stub.heartbeats)
        yield started


def test_m2_a_task_that_is_sent_runs_once(
    stub: StubServer, host: HostProcess, address: str
) -> None:
    assert stub.announcements[-1].address == address
    task = execution("python3", "print(1)")
    first = stub.signed(address, task)
    assert send_signed(first) == 202
    assert send_signed(first) == 401, "the nonce was used"
    assert stub.push(address, task) == 202, "the host has it, or had it"
    assert result_of(stub, task).execute is not None
    assert stub.push(address, task) == 202
    wait_until(lambda: not stub.running)
    assert stub.finish_tries[task.judge_id] == 1
    assert not stub.requests, "this host fetches no tasks"


def test_m1_only_the_server_can_send_tasks(
    stub: StubServer, host: HostProcess, address: str
) -> None:
    task = execution("python3", "print(1)")
    unsigned = stub.signed(address, task)
    del unsigned.headers["deemster-signature"]
    assert send_signed(unsigned) == 401
    assert stub.push(address, task, secret=b"stolen") == 401
    assert stub.push(address, task, now_s=time.time() - 61) == 401
    assert stub.push(address, task, now_s=time.time() + 70) == 401
    assert stub.push(f"{address}/other", task) == 202, "a proxy may change the path"
    result_of(stub, task)


def test_q14_a_full_host_says_so_and_sigterm_drains(
    stub: StubServer, host: HostProcess, address: str
) -> None:
    """The last test with this process."""
    tasks = [execution("python3", SLEEPS.format(2)) for _ in range(2)]
    assert [stub.push(address, each) for each in tasks] == [202, 202]
    third = execution("python3", "print(1)")
    assert stub.push(address, third) == 503
    wait_until(lambda: all(stub.updates[each.judge_id] for each in tasks))
    host.process.send_signal(signal.SIGTERM)
    wait_until(lambda: stub.heartbeats[-1].ending)
    assert host.process.wait(60) == 0, host.said[-3000:]
    assert all(stub.finishes[each.judge_id] for each in tasks)
    assert stub.left == [stub.worker]
    assert not leftovers(host)


def test_q14_a_second_sigterm_stops_at_once(tmp_path: Path) -> None:
    with (
        new_stub() as stub,
        new_memory() as memory,
        running_host(stub, tmp_path, memory) as host,
    ):
        task = execution("python3", SLEEPS.format(60))
        stub.tasks.append(task)
        wait_until(lambda: stub.updates[task.judge_id])
        host.process.send_signal(signal.SIGTERM)
        wait_until(lambda: stub.heartbeats[-1].ending)
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(60) == 0, host.said[-3000:]
        assert not stub.finish_tries[task.judge_id]
        assert not leftovers(host)


def test_a_killed_host_leaves_nothing_for_long(tmp_path: Path) -> None:
    """What it leaves is useless, and the next start removes it."""
    with new_stub() as stub, new_memory() as memory:
        with running_host(stub, tmp_path, memory) as killed:
            task = execution("python3", SLEEPS.format(60))
            stub.tasks.append(task)
            wait_until(lambda: stub.updates[task.judge_id])
            killed.process.kill()
            killed.process.wait()
            before = leftovers(killed)
            assert before
        with running_host(stub, tmp_path, memory) as host:
            task = execution("python3", "print(1)")
            stub.tasks.append(task)
            assert result_of(stub, task).execute is not None
            assert not set(before) & set(leftovers(host))


def leftovers(host: HostProcess) -> list[Path]:
    """Directories of processes in memory, on disk, and for programs."""
    roots = [*host.memory.iterdir(), host.data / "judgehost-cache", host.directory / "work"]
    return [each for root in roots if root.is_dir() for each in root.iterdir()]
