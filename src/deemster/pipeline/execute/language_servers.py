"""Runs language servers, each for one person, in boxes that show only what they need (X9)."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.domain.execution import ExecutionDetails, ExecutionResult, Stream
from deemster.domain.language import fill
from deemster.domain.language_server import LanguageServer, ServedLanguage
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import unpack_files
from deemster.pipeline.execute.live_io import InputSource, LiveProgram
from deemster.pipeline.execute.output_log import OutputLog
from deemster.pipeline.execute.program_run import summarise
from deemster.programs.build.installed_tool import InstalledTool
from deemster.programs.workspace import make_directory, workspace, write_files
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, ENVIRONMENT, Command

HEAP_SHARE = 0.75
"""Share of the memory that the heap of a runtime may fill; the rest is the runtime's own."""


@dataclass(frozen=True, slots=True)
class InstalledServer:
    server: LanguageServer
    installed: InstalledTool


@dataclass(frozen=True, slots=True)
class MissingServer:
    server: LanguageServer
    reason: str


@dataclass(slots=True)
class LanguageServers:
    """The language servers of this worker. As many run at once as there are boxes."""

    boxes: Boxes
    servers: Sequence[InstalledServer | MissingServer]
    versions: Mapping[str, str]
    """The versions of the toolchains by language id."""
    work_dir: Path
    idle_s: float
    _running: int = field(default=0, init=False)

    @property
    def has_room(self) -> bool:
        return self._running < self.boxes.slot_count

    async def run(
        self, details: ExecutionDetails, inputs: InputSource, output: OutputLog
    ) -> ExecutionResult:
        """Serves until the client leaves, or sends nothing for a while."""
        found = next((each for each in self.servers if serves(each, details.language)), None)
        if not isinstance(found, InstalledServer):
            reason = found.reason if found is not None else "There is no language server"
            output.add(Stream.STDERR, f"{reason}.".encode())
            return ExecutionResult(RunStatus.INTERNAL_ERROR)
        self._running += 1
        try:
            return await self._serve(found, details, inputs, output)
        finally:
            self._running -= 1

    async def _serve(
        self,
        found: InstalledServer,
        details: ExecutionDetails,
        inputs: InputSource,
        output: OutputLog,
    ) -> ExecutionResult:
        served = found.server.languages[details.language]  # type: ignore[index]
        files = server_files(found.server, served, self.versions.get(details.language, ""))
        try:
            async with workspace(self.work_dir) as directory:
                code = await asyncio.to_thread(make_directory, directory / "code")
                await asyncio.to_thread(write_files, code, files)
                await asyncio.to_thread(write_files, code, unpack_files(details.files))
                live = LiveProgram(details, inputs, output, self.idle_s)
                command = command_of(found, details, code)
                report = await live.run(self.boxes, command, None, None)
        except OSError as fault:
            raise Unavailable(
                f"A language server got no files in {self.work_dir} ({fault.strerror}): "
                "free some space there, or set DEEMSTER_WORK_DIR to another directory."
            ) from fault
        return summarise([report], {})


def serves(found: InstalledServer | MissingServer, language: str) -> bool:
    return language in found.server.languages


def server_files(
    server: LanguageServer, served: ServedLanguage, version: str
) -> dict[str, bytes]:
    """The configuration of the server for one language, with its toolchain's version."""
    match = re.search(served.version_pattern, version) if served.version_pattern else None
    values = {"{flags}": "\n".join(served.flags), "{version}": match[1] if match else ""}
    files = {}
    for name, text in server.files.items():
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)  # noqa: PLW2901
        files[name] = text.lstrip("\n").encode()
    return files


def command_of(found: InstalledServer, details: ExecutionDetails, code: Path) -> Command:
    server, limits = found.server, details.limits.of_run()
    heap_mb = round(limits.memory_bytes / MIB * HEAP_SHARE)
    values: dict[str, str | tuple[str, ...]] = {
        **found.installed.tools,
        "code": CODE_DIR,
        "heap_mb": str(heap_mb),
    }
    return Command(
        argv=fill(server.argv, values),
        limits=limits,
        profile=server.permissions.profile,
        environment={**ENVIRONMENT, **server.environment},
        code=code,
        view=found.installed.view,
    )
