"""Creates precompiled headers in the sandbox, from the language file's own text only."""

import asyncio
import logging
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from deemster.cache.single_flight import SingleFlight
from deemster.directory_store import sweep
from deemster.domain.errors import Unavailable
from deemster.domain.language import CompileStep, PrecompileStep, fill
from deemster.domain.limits import MIB
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.locks import acquire
from deemster.programs.build.cache import CachedDirectory, DirectoryCache, release
from deemster.programs.build.cache_key import (
    cache_key,
    file_facts,
    step_facts,
    toolchain_facts,
)
from deemster.programs.build.toolchain import Toolchain
from deemster.programs.scratch import OutputCollector
from deemster.programs.workspace import (
    make_directory,
    workspace,
    write_files,
)
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import CODE_DIR, DATA_DIR, ENVIRONMENT, WORK_DIR, Command
from deemster.sandbox.wire import Report

log = logging.getLogger(__name__)

MAX_BYTES = 1 << 30
"""The most disk space for the precompiled headers of all toolchains."""
WORTH_USES = 4
"""Creating a header takes about as long as it saves in this many compilations
(docs/benchmarks.md)."""


@dataclass(frozen=True, slots=True)
class Precompiled:
    directory: Path
    """Mounted at /data in the sandbox."""
    use: tuple[str, ...]
    """The compiler arguments that use it."""


class Precompiler:
    """Headers that it has returned stay on disk until it is closed."""

    def __init__(self, root: Path, *, on_demand: bool) -> None:
        """With `on_demand`, a program that needs a header may wait until it is created."""
        self._cache = DirectoryCache(root, MAX_BYTES, durable=True)
        self._work_dir = root / "work"
        self._on_demand = on_demand
        self._held: dict[str, CachedDirectory] = {}
        self._failed: set[str] = set()
        self._uses: Counter[str] = Counter()
        self._loads: SingleFlight[str, CachedDirectory | None] = SingleFlight()
        self._gets: SingleFlight[str, CachedDirectory | None] = SingleFlight()

    def open(self) -> None:
        self._cache.open()
        sweep(self._work_dir)

    def close(self) -> None:
        for entry in self._held.values():
            entry.release()
        self._held.clear()

    async def find(
        self, boxes: Boxes, toolchain: Toolchain, source: Source
    ) -> Precompiled | None:
        """Returns the header if the program uses it; None also while it does not exist."""
        step, compiler = toolchain.language.precompile, toolchain.language.compile
        if step is None or compiler is None or not mentions(source, step.when):
            return None
        if self._on_demand:
            return await self.get(boxes, toolchain, uses=1)
        key = await asyncio.to_thread(key_of, toolchain, step, compiler)
        return usable(await self._load(key), step)

    async def lacks(self, toolchain: Toolchain) -> bool:
        """Whether `get` would create the header, as far as is known."""
        step, compiler = toolchain.language.precompile, toolchain.language.compile
        if step is None or compiler is None:
            return False
        key = await asyncio.to_thread(key_of, toolchain, step, compiler)
        return key not in self._failed and await self._load(key) is None

    async def get(
        self, boxes: Boxes, toolchain: Toolchain, *, uses: int = WORTH_USES
    ) -> Precompiled | None:
        """None while creating the header is not worth its time."""
        step, compiler = toolchain.language.precompile, toolchain.language.compile
        if step is None or compiler is None:
            return None
        key = await asyncio.to_thread(key_of, toolchain, step, compiler)
        self._uses[key] += uses
        entry = await self._gets.run(
            key, lambda: self._load_or_create(key, boxes, toolchain, step, compiler)
        )
        return usable(entry, step)

    async def _load_or_create(
        self,
        key: str,
        boxes: Boxes,
        toolchain: Toolchain,
        step: PrecompileStep,
        compiler: CompileStep,
    ) -> CachedDirectory | None:
        entry = await self._load(key)
        if entry is None and self._is_worth_it(key):
            problem = await self._make(key, boxes, toolchain, step, compiler)
            entry = await self._load(key)
            if entry is None:
                self._failed.add(key)
                log.warning(
                    "%s has no precompiled header: %s", toolchain.language.name, problem
                )
        return entry

    def _is_worth_it(self, key: str) -> bool:
        return self._uses[key] >= WORTH_USES and key not in self._failed

    async def _load(self, key: str) -> CachedDirectory | None:
        return await self._loads.run(key, lambda: self._hold(key))

    async def _hold(self, key: str) -> CachedDirectory | None:
        held = self._held.get(key)
        if held is not None:
            if held.directory is not None and held.directory.is_dir():
                return held
            self._held.pop(key).release()
        entry = await acquire(lambda: self._cache.take(key), release)
        if entry is not None:
            self._held[key] = entry
        return entry

    async def _make(
        self,
        key: str,
        boxes: Boxes,
        toolchain: Toolchain,
        step: PrecompileStep,
        compiler: CompileStep,
    ) -> str:
        """Creates and stores the header; the result says why that failed."""
        output = PurePosixPath(step.output)
        abandoned = threading.Event()
        try:
            async with workspace(self._work_dir) as work:
                sources, header = (
                    make_directory(work / "source"),
                    make_directory(work / "header"),
                )
                for directory in (sources, header):
                    await asyncio.to_thread(write_files, directory, step.files)
                target = header / output.parent
                target.mkdir(parents=True, exist_ok=True)
                collector = OutputCollector(
                    output.name, target, max_bytes=step.limits.scratch_bytes
                )
                command = Command(
                    argv=argv_of(toolchain, step),
                    limits=step.limits,
                    profile=compiler.permissions.profile,
                    environment={**ENVIRONMENT, **compiler.environment},
                    code=sources,
                    view=toolchain.views.compile,
                )
                report = await boxes.run(command, collect=collector)
                if report.status is not RunStatus.OK:
                    return failure_reason(report)
                if collector.problem:
                    return collector.problem
                await asyncio.to_thread(self._cache.keep, key, {}, header, abandoned)
        except OSError as fault:
            return f"{fault.filename or self._work_dir}: {fault.strerror}."
        except Unavailable as fault:
            return str(fault)
        finally:
            abandoned.set()
        return "The header was removed at once."


def usable(entry: CachedDirectory | None, step: PrecompileStep) -> Precompiled | None:
    if entry is None or entry.directory is None:
        return None
    return Precompiled(entry.directory, fill(step.use, {"data": DATA_DIR}))


def argv_of(toolchain: Toolchain, step: PrecompileStep) -> tuple[str, ...]:
    values = {
        **toolchain.tools,
        "code": CODE_DIR,
        "output": f"{WORK_DIR}/{PurePosixPath(step.output).name}",
        "memory_mb": str(step.limits.memory_bytes // MIB),
    }
    return fill(step.argv, values)


def key_of(toolchain: Toolchain, step: PrecompileStep, compiler: CompileStep) -> str:
    return cache_key(
        toolchain=toolchain_facts(toolchain),
        files=file_facts(step.files),
        argv=argv_of(toolchain, step),
        output=step.output,
        sandbox=step_facts(compiler.permissions, step.limits, compiler.environment),
    )


def mentions(source: Source, text: str) -> bool:
    needle = text.encode()
    return any(needle in content for content in source.files.values())


def failure_reason(report: Report) -> str:
    message = report.stderr.decode(errors="replace").strip().partition("\n")[0]
    return f"Precompiling ended with {report.status}: {message[:200]}"
