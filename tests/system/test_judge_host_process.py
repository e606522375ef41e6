"""M1: a real judge host works for a real server, with nothing but its key."""

import tempfile
from pathlib import Path

import pytest

from deemster.directory_store import remove_tree
from tests.judgehost.host_process import started_host
from tests.services.ports import reserved_port
from tests.system.client import client_of
from tests.system.conftest import OpenService
from tests.system.programs import RIGHT, WRONG
from tests.system.signed_host import SECRET, open_host
from tests.system.truth import until_at_rest
from tests.waiting import until


@pytest.mark.parametrize("is_sent_tasks", [False, True], ids=["fetches", "listens"])
async def test_m1_a_host_judges_and_executes_for_a_server(
    open_service: OpenService, tmp_path: Path, is_sent_tasks: bool
) -> None:
    port, place = reserved_port(), f"127.0.0.1:{reserved_port()}"
    listening = {"judgehost_address": f"http://{place}", "judgehost_listen": place}
    settings = listening if is_sent_tasks else {}
    memory = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="deemster-test-"))
    async with (
        open_service(port=port, judge_on="hosts", secret_key=SECRET) as service,
        client_of(service, port) as client,
        open_host(service, port, "one") as key_of,
    ):
        service.start("api", "relay", "keeper", "dispatcher")
        url = f"http://127.0.0.1:{port}"
        with started_host(url, key_of.key, tmp_path / "host", memory, **settings) as host:
            try:
                for number, program in enumerate((RIGHT, WRONG)):
                    submission = await client.submit(program, f"one{number}")
                    await service.until_state("COMPLETED", submission)
                    shown = await client.look(submission)
                    assert shown["verdict"] == str(program.verdict)
                execution = await client.execute(
                    {"language": "python3", "source_code": "print('here')"}, "two"
                )

                async def has_ended() -> bool:
                    return bool((await client.execution(execution))["status"] == "COMPLETED")

                await until(has_ended)
                assert (await client.execution(execution))["stdout"] == "here\n"
                await until_at_rest(service)
                assert host.end() == 0
            except BaseException:
                print(host.said[-5000:])
                raise
            finally:
                remove_tree(memory)
