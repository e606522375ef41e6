"""Real language servers in boxes complete and check programs, and see nothing else (X9, W1)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from deemster.api.message_frames import FrameReader, frame
from deemster.domain.execution import (
    ExecutionDetails,
    ExecutionOptions,
    ExecutionResult,
    ProgramIo,
    Stream,
    TypedInput,
)
from deemster.domain.ids import EXECUTION, AccountId, ExecutionId, new_id
from deemster.domain.lifecycle import State
from deemster.domain.run_status import RunStatus
from deemster.domain.source import pack_files
from deemster.pipeline.execute.language_servers import (
    LanguageServers,
    MissingServer,
    server_files,
)
from deemster.pipeline.execute.output_log import OutputLog
from deemster.programs.build.languages import load_catalogue
from deemster.programs.language_servers import document_of, shipped_language_servers
from deemster.settings import Settings
from deemster.settings.ceilings import language_server_limits
from deemster.wiring.language_servers import open_language_servers
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.asyncio(loop_scope="module")
CATALOGUE = load_catalogue()
SERVERS = {each.id: each for each in shipped_language_servers()}
VERSIONS = {"python3": "CPython 3.11.2", "cpp": "GCC 12"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[LanguageServers]:
    directory = tmp_path_factory.mktemp("servers")
    async with open_language_servers(
        settings_in(directory), CATALOGUE, VERSIONS, directory / "cores", [0]
    ) as opened:
        assert opened is not None
        yield opened


def settings_in(directory: Path) -> Settings:
    return Settings(
        data_dir=directory / "data",
        work_dir=directory / "work",
        language_servers=1,
        language_servers_yield=False,
        execution_cores=1,
    )


class Client:
    """A client of a language server, which opens one document."""

    def __init__(self, language: str, limits: Settings) -> None:
        document = document_of(CATALOGUE.named(language))
        assert document is not None
        self.document = document
        self.details = ExecutionDetails(
            id=ExecutionId(new_id(EXECUTION)),
            state=State.RUNNING,
            attempt=1,
            account=AccountId("acc_1"),
            language=language,
            main=None,
            files=pack_files({CATALOGUE.named(language).source.file: b""}),
            stdin=b"",
            args=(),
            io=ProgramIo.LANGUAGE_SERVER,
            limits=language_server_limits(limits),
            options=ExecutionOptions(),
        )
        self.output = OutputLog(self.details.id, 1, self._read)
        self.messages: list[dict[str, Any]] = []
        self.has_left = asyncio.Event()
        self._frames = FrameReader()
        self._sent: asyncio.Queue[TypedInput] = asyncio.Queue()
        self._number = 0

    def _read(self) -> None:
        for chunk in self.output.take():
            assert chunk.stream is Stream.STDOUT, chunk.content
            self.messages += map(json.loads, self._frames.feed(chunk.content))

    async def follow(self, execution: ExecutionId) -> AsyncIterator[TypedInput]:
        assert execution == self.details.id
        while True:
            yield await self._sent.get()

    def send(self, method: str, params: object, **fields: object) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params, **fields}
        self.send_raw(frame(json.dumps(message).encode()))

    def send_raw(self, data: bytes) -> None:
        self._sent.put_nowait(TypedInput(0, "data", data))

    async def ask(self, method: str, params: object) -> Any:
        self._number += 1
        number = self._number
        self.send(method, params, id=number)
        answer = await self.message(
            lambda each: each.get("id") == number and "method" not in each
        )
        assert "error" not in answer, answer
        return answer["result"]

    async def message(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The first message, of all, for which the condition holds."""

        def look() -> dict[str, Any] | None:
            return next(filter(condition, self.messages), None)

        found = await until(look, why=lambda: self.messages)
        assert found is not None
        return found

    async def open(self, text: str) -> None:
        folders = [{"uri": "file:///code", "name": "code"}]
        asked = {"processId": None, "rootUri": None, "workspaceFolders": folders}
        await self.ask("initialize", {**asked, "capabilities": {}})
        self.send("initialized", {})
        opened = {
            "uri": self.document.uri,
            "languageId": self.document.language_id,
            "version": 1,
            "text": text,
        }
        self.send("textDocument/didOpen", {"textDocument": opened})

    async def errors(self) -> list[str]:
        """The messages of the first diagnostics that are not empty."""
        found = await self.message(
            lambda each: (
                each.get("method") == "textDocument/publishDiagnostics"
                and each["params"]["diagnostics"]
            )
        )
        return [each["message"] for each in found["params"]["diagnostics"]]

    async def completions(self, line: int, character: int) -> set[str]:
        position = {"line": line, "character": character}
        place = {"textDocument": {"uri": self.document.uri}, "position": position}
        found = await self.ask("textDocument/completion", place)
        return {each["label"].strip(" •") for each in found["items"]}


@asynccontextmanager
async def serving(servers: LanguageServers, language: str) -> AsyncIterator[Client]:
    found = next(each for each in servers.servers if language in each.server.languages)
    if isinstance(found, MissingServer):
        pytest.skip(found.reason)
    client = Client(language, settings_in(servers.work_dir.parent))
    async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
        running = group.create_task(servers.run(client.details, client, client.output))
        yield client
        running.cancel()


async def test_clangd_completes_and_checks_in_its_box(servers: LanguageServers) -> None:
    """X9: of the host's files the box shows those of the compiler; no message gets others."""
    async with serving(servers, "cpp") as client:
        await client.open(
            f'#include <vector>\n#include "{__file__}"\n'
            "int main() {\n    std::vector<int> v;\n    v.pu\n    return nothing;\n}\n"
        )
        errors = await client.errors()
        assert any("nothing" in each for each in errors), errors
        assert any(f"'{__file__}' file not found" in each for each in errors), errors
        assert "push_back(value_type &&x)" in await client.completions(4, 8)
        assert not servers.has_room


async def test_basedpyright_completes_and_checks_in_its_box(servers: LanguageServers) -> None:
    async with serving(servers, "python3") as client:
        await client.open("import math\nmath.sq\nprint(nothing)\nx: int = 'text'\n")
        errors = await client.errors()
        assert any('"nothing" is not defined' in each for each in errors), errors
        assert any("not assignable to declared type" in each for each in errors), errors
        assert not any("is unknown" in each for each in errors), "not so strict"
        assert "sqrt" in await client.completions(1, 7)


async def test_x6_what_is_no_message_ends_only_the_server_that_got_it(
    servers: LanguageServers,
) -> None:
    client = Client("cpp", settings_in(servers.work_dir.parent))
    client.send_raw(b"Content-Length: 99999999999\r\n\r\n" + b"\0" * 1000)
    client._sent.put_nowait(TypedInput(0, "end", b""))
    async with asyncio.timeout(PATIENCE_S):
        result = await servers.run(client.details, client, client.output)
    assert isinstance(result, ExecutionResult)
    assert result.status in {RunStatus.NONZERO_EXIT, RunStatus.OK}, result
    assert servers.has_room


async def test_the_files_of_a_server_name_dialect_and_version() -> None:
    clangd, basedpyright = SERVERS["clangd"], SERVERS["basedpyright"]
    flags = server_files(clangd, clangd.languages[CATALOGUE.named("cpp23").id], "GCC 12")
    assert flags["compile_flags.txt"].splitlines()[:2] == [b"-xc++", b"-std=gnu++23"]
    python = server_files(
        basedpyright,
        basedpyright.languages[CATALOGUE.named("pypy3").id],
        "PyPy 7 (Python 3.9.2)",
    )
    assert json.loads(python["pyrightconfig.json"])["pythonVersion"] == "3.9"
