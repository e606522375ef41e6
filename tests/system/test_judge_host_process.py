"""M1: a real judge host works for a real server, with nothing but its key."""

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from deemster.directory_store import remove_tree
from tests.cli.up.privileges import check_least_privileges, has_runner_and_boxes
from tests.cli.up.service import with_descendants
from tests.judgehost.host_process import HostProcess, new_memory_directory, started_host
from tests.services.ports import reserved_port
from tests.system.client import Client, client_of
from tests.system.conftest import OpenService
from tests.system.programs import RIGHT, WRONG
from tests.system.service import Service
from tests.system.signed_host import SECRET, SignedHost, open_host
from tests.system.truth import until_at_rest
from tests.waiting import until


def found_in_memory(pid: int, wanted: Collection[bytes]) -> set[bytes]:
    """Which of these bytes are in memory that the process can read and write."""
    found: set[bytes] = set()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            first, last = (int(each, 16) for each in place.split("-"))
            with suppress(OSError, ValueError):  # some mappings can't be read
                memory.seek(first)
                content = memory.read(last - first)
                found |= {each for each in wanted if each in content}
    return found


def found_in_files(directory: Path, wanted: Collection[bytes]) -> set[bytes]:
    contents = [path.read_bytes() for path in directory.rglob("*") if path.is_file()]
    return {each for each in wanted if any(each in content for content in contents)}


def check_all_privileges(service: Service, host: int) -> None:
    """X11: single roles and a judge host; only launcher and runner of the host are root."""
    for role in ("api", "relay", "keeper", "dispatcher"):
        [member] = service.fleet.running(role)
        check_least_privileges(with_descendants(member.pid))
    found = check_least_privileges(with_descendants(host))
    assert os.geteuid() != 0 or has_runner_and_boxes(found)


async def test_m1_hosts_judge_and_execute_for_a_server(
    open_service: OpenService, tmp_path: Path
) -> None:
    """One that fetches its tasks, and one to which the server sends them."""
    port, place = reserved_port(), f"127.0.0.1:{reserved_port()}"
    listening = {"judgehost_address": f"http://{place}", "judgehost_listen": place}
    async with (
        open_service(
            port=port, judge_on="hosts", secret_key=SECRET, judge_host_networks="127.0.0.0/8"
        ) as service,
        client_of(service, port) as client,
        open_host(service, port, "fetches") as fetches,
        open_host(service, port, "listens") as listens,
    ):
        service.start("api", "relay", "keeper", "dispatcher")
        for key_of, settings in ((fetches, {}), (listens, listening)):
            directory, memory = tmp_path / key_of.key.host, new_memory_directory()
            url = f"http://127.0.0.1:{port}"
            with started_host(url, key_of.key, directory, memory, **settings) as host:
                try:
                    await check_host(service, client, key_of, host)
                    assert host.end() == 0
                except BaseException:
                    print(host.said[-5000:])
                    raise
                finally:
                    remove_tree(memory)


async def check_host(
    service: Service, client: Client, key_of: SignedHost, host: HostProcess
) -> None:
    for program in (RIGHT, WRONG):
        submission = await client.submit(program, f"{key_of.key.host} {program.verdict}")
        await service.until_state("COMPLETED", submission)
        shown = await client.look(submission)
        assert shown["verdict"] == str(program.verdict)
    execution = await client.execute(
        {"language": "python3", "source_code": "print('here')"}, f"{key_of.key.host} runs"
    )

    async def has_ended() -> bool:
        return bool((await client.execution(execution))["status"] == "COMPLETED")

    await until(has_ended)
    assert (await client.execution(execution))["stdout"] == "here\n"
    await until_at_rest(service)
    for path in (
        f"/v1/submissions/{submission}",
        f"/v1/submissions/{submission}/source",
        "/v1/submissions",
        "/v1/admin/users",
        "/v1/admin/workers",
    ):
        answer = await key_of.get(path)
        assert answer.status_code == 401, "the key of a host is no token"
    check_all_privileges(service, host.process.pid)
    secrets = (SECRET.encode(), service.database_url.encode(), client.token.encode())
    own = key_of.key.secret
    found = found_in_memory(host.process.pid, (*secrets, own))
    assert found == {own}, "a host has no credential but its own key"
    assert found_in_files(host.directory, secrets) == set()
