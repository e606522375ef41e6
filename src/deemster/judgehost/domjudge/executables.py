"""Fetches the executables of a DOMjudge server, checks their hashes and builds them.

An executable is a directory with a program `run`. It comes with `run` ready, or with a script
`build` that creates it, or with one source file in C, C++, Java or Python.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.domain.source import check_name
from deemster.judgehost.domjudge.file_cache import FileCache
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError
from deemster.judgehost.domjudge.limits import script_limits
from deemster.judgehost.domjudge.server import DomServer, LoginRefused, decoded
from deemster.judgehost.domjudge.tasks import ServedFile, ServedLanguage, ServerConfig
from deemster.programs.scratch import OutputCollector, StagedFiles
from deemster.programs.workspace import make_directory, write_files
from deemster.sandbox.command import WORK_DIR, Command
from deemster.sandbox.lanes import Lanes

BUILD, RUN = "build", "run"
SCRIPT_PROFILE: Final = "compiler"
"""Scripts start other programs, as compilers do."""
BUILD_DIR: Final = "executable"
"""The directory of the scratch in which `build` runs."""
LOG_BYTES: Final = 4096

MAIN: Final = b"void main("
"""In the class in Java that can be started."""
BUILD_SCRIPTS: Final[Mapping[str, str]] = {
    "c": "exec gcc -Wall -O2 -std=gnu11 {source} -o run -lm\n",
    "cpp": "exec g++ -Wall -O2 -std=gnu++20 {source} -o run\n",
    "java": "javac -cp . -d . {source} && cat > run <<'END' && chmod +x run\n"
    '#!/bin/sh\nexec java -cp "${{0%/*}}" {stem} "$@"\nEND\n',
    "py": "cat > run <<'END' && chmod +x run\n"
    '#!/bin/sh\nexec python3 "${{0%/*}}"/{source} "$@"\nEND\n',
}
"""Scripts for executables that are one source file, by the server's language id."""
EXTENSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "c": ("c",),
    "cpp": ("cpp", "C", "cc"),
    "java": ("java",),
    "py": ("py",),
}


@dataclass(frozen=True, slots=True)
class ExecutableId:
    kind: str
    """compile, run, compare or debug."""
    script: str
    hash: str | None

    @property
    def disabled(self) -> Disabled:
        return Disabled.script("run" if self.kind == "debug" else self.kind, self.script)

    def fault(self, reason: str, details: str = "") -> InternalError:
        description = f"{self.script}: fetch, compile, or deploy of {self.kind} script failed."
        return InternalError(description, self.disabled, f"{reason}\n{details}".strip())


class Executables:
    def __init__(self, server: DomServer, lanes: Lanes, cache: FileCache) -> None:
        self._server = server
        self._lanes = lanes
        self._cache = cache
        self._extensions = dict(EXTENSIONS)

    def use_extensions(self, languages: Sequence[ServedLanguage]) -> None:
        """Takes the file extensions over that the server has for its languages."""
        for language in languages:
            if language.id in self._extensions and language.extensions:
                self._extensions[language.id] = language.extensions

    @asynccontextmanager
    async def opened(
        self, executable: ExecutableId, config: ServerConfig
    ) -> AsyncIterator[Path]:
        """A directory with the built executable; raises InternalError if it can't be used."""
        files = None
        if executable.hash is None:
            files = await self._fetch(executable)
        digest = executable.hash or hash_of(files or [])

        async def fill(directory: Path) -> None:
            found = files if files is not None else await self._fetch(executable)
            if hash_of(found) != digest:
                raise executable.fault(
                    f"The files have the hash {hash_of(found)}, but the task says {digest}."
                )
            await self._build(executable, found, config, directory)

        async with self._cache.opened(f"executable-{file_name(digest)}", fill) as directory:
            yield directory

    async def _fetch(self, executable: ExecutableId) -> list[ServedFile]:
        try:
            files = await self._server.files(executable.kind, executable.script)
            for file in files:
                check_name(file.filename)
        except LoginRefused:
            raise
        except Refused as fault:
            raise executable.fault(str(fault)) from fault
        return files

    async def _build(
        self,
        executable: ExecutableId,
        files: Sequence[ServedFile],
        config: ServerConfig,
        target: Path,
    ) -> None:
        names = {file.filename: bool(file.is_executable) for file in files}
        if BUILD in names and not names[BUILD]:
            raise executable.fault("The file `build` is not executable.")
        content = decoded(files)
        if BUILD not in names and RUN not in names:
            content[BUILD] = self._build_script(executable, content).encode()
            names[BUILD] = True
        if BUILD in names:
            await self._run_build(executable, content, names, config, target)
        else:
            await asyncio.to_thread(write_executables, target, content, names)
        run = target / RUN
        if not run.is_file() or not run.stat().st_mode & 0o100:
            raise executable.fault("The build left no executable file `run`.")

    def _build_script(self, executable: ExecutableId, content: Mapping[str, bytes]) -> str:
        # Of several classes in Java, only one can be started.
        main_first = sorted(content, key=lambda name: (MAIN not in content[name], name))
        for language, extensions in self._extensions.items():
            for name in main_first:
                stem, _, extension = name.rpartition(".")
                if stem and extension in extensions:
                    text = BUILD_SCRIPTS[language]
                    return "#!/bin/sh\n" + text.format(source=quote(name), stem=quote(stem))
        raise executable.fault(
            "There is neither `build` nor `run`, nor a file in C, C++, Java or Python."
        )

    async def _run_build(
        self,
        executable: ExecutableId,
        content: Mapping[str, bytes],
        names: Mapping[str, bool],
        config: ServerConfig,
        target: Path,
    ) -> None:
        sources = make_directory(target.parent / "sources")
        await asyncio.to_thread(write_executables, sources, content, names)
        limits = script_limits(config)
        collector = OutputCollector(BUILD_DIR, target, max_bytes=limits.scratch_bytes)
        argv = in_directory(BUILD_DIR, (f"./{BUILD}",))
        command = Command(argv, limits=limits, profile=SCRIPT_PROFILE)
        staged = StagedFiles({f"{BUILD_DIR}/{name}": sources / name for name in names})
        async with self._lanes.acquire() as boxes:
            report = await boxes.run(command, stage=staged, collect=collector)
        output = (report.stdout + report.stderr)[-LOG_BYTES:].decode(errors="replace")
        if report.status is not RunStatus.OK:
            raise executable.fault(f"The build ended with {report.status}.", output)
        if collector.problem:
            raise executable.fault(collector.problem, output)
        run = target / RUN
        if run.is_file():
            run.chmod(0o755)


def in_directory(name: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Runs a command in a directory of the scratch.

    The scratch itself is also the directory for temporary files and the home directory, in
    which compilers leave their caches.
    """
    return ("/bin/sh", "-c", f'cd {WORK_DIR}/{name} && exec "$@"', "sh", *argv)


def write_executables(
    directory: Path, content: Mapping[str, bytes], executable: Mapping[str, bool]
) -> None:
    write_files(directory, content)
    for name, is_executable in executable.items():
        if is_executable:
            (directory / name).chmod(0o755)


def hash_of(files: Sequence[ServedFile]) -> str:
    """The hash that DOMjudge gives to an executable: MD5 of names, modes and contents."""
    content = decoded(files)
    text = "".join(
        f"{md5(content[file.filename])}{file.filename}{1 if file.is_executable else ''}"
        for file in sorted(files, key=lambda file: file.filename.encode())
    )
    return md5(text.encode())


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def file_name(digest: str) -> str:
    """A name for the cache, also if the server sent something else than a hash."""
    is_plain = digest.replace("_", "").isalnum() and digest.isascii() and len(digest) <= 128
    return digest if is_plain else hashlib.sha256(digest.encode()).hexdigest()
