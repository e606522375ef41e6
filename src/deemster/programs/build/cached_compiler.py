"""Builds programs and caches the results on disk, so that each is compiled once."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from deemster.cache.single_flight import SingleFlight
from deemster.directory_store import create, remove
from deemster.domain.language import Catalogue, CompileStep
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.domain.source import Source
from deemster.locks import acquire
from deemster.programs.build.cache import CachedDirectory, DirectoryCache
from deemster.programs.build.compile import (
    Build,
    Compilation,
    CompiledProgram,
    CompileRequest,
    add_bytecode,
    key_of,
    make_request,
    run_request,
    with_precompiled,
    write_sources,
)
from deemster.programs.build.precompile import Precompiler
from deemster.programs.build.recent_builds import RecentBuilds
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.programs.workspace import no_work_directory, workspace
from deemster.sandbox.boxes import Boxes

log = logging.getLogger(__name__)

REPEATABLE = frozenset({RunStatus.OK, RunStatus.NONZERO_EXIT})
"""Statuses that another compilation would repeat; a limit may be due to a busy machine."""
SMALL_SOURCE_BYTES = 64 * 1024
"""The key of a smaller source is computed at once, because a thread takes longer to wake up."""
ERROR_LIFETIME_S = 3600.0
"""Errors expire, because a compiler that was killed from outside looks like one."""


class BuildRecord(BaseModel):
    """What the cache stores of a build besides its files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    argv: tuple[str, ...]
    output: str
    ms: int
    status: RunStatus
    entry: str | None
    """None after a compile error."""


class CachedCompiler:
    def __init__(
        self,
        work_dir: Path,
        cache: DirectoryCache | None,
        precompiler: Precompiler | None,
        cache_bytes: int,
    ) -> None:
        self._work_dir = work_dir
        self._cache = cache
        self._precompiler = precompiler
        self._builds: SingleFlight[str, Build] = SingleFlight()
        self._recent = RecentBuilds(cache_bytes)
        self._warned = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        work_dir: Path,
        data_dir: Path,
        cache_bytes: int,
        precompile_on_demand: bool = True,
    ) -> AsyncIterator["CachedCompiler"]:
        """Caches builds below `data_dir`, up to `cache_bytes`; 0 turns the cache off.

        With `precompile_on_demand`, the fourth program that could use a precompiled header
        waits until it is created. Otherwise only `prepare` creates headers.
        """
        cache = DirectoryCache(data_dir / "compiled", cache_bytes) if cache_bytes else None
        precompiler = Precompiler(data_dir / "precompiled", on_demand=precompile_on_demand)
        try:
            if cache is not None:
                await asyncio.to_thread(cache.open)
            await asyncio.to_thread(precompiler.open)
        except OSError as fault:
            log.warning("Builds can't be cached in %s: %s.", data_dir, fault.strerror)
            yield cls(work_dir, None, None, 0)
            return
        compiler = cls(work_dir, cache, precompiler, cache_bytes)
        try:
            yield compiler
        finally:
            compiler._recent.close()
            precompiler.close()

    async def prepare(self, boxes: Boxes, toolchains: Iterable[Toolchain]) -> None:
        """Creates the precompiled headers, so that no submission waits for them."""
        for toolchain in toolchains:
            if self._precompiler is not None:
                await self._precompiler.get(boxes, toolchain)

    async def unprepared(self, toolchains: Iterable[Toolchain]) -> list[Toolchain]:
        """Returns those whose precompiled headers can be created, and do not exist."""
        precompiler = self._precompiler
        if precompiler is None:
            return []
        return [each for each in toolchains if await precompiler.lacks(each)]

    @asynccontextmanager
    async def built(
        self,
        boxes: Boxes,
        toolchain: Toolchain,
        source: Source,
        *,
        limits: Limits | None = None,
        args: tuple[str, ...] = (),
    ) -> AsyncIterator[Build]:
        """The built program, usable within the block; `limits`, `args`: the compiler's."""
        request = make_request(toolchain, source, limits, args=args)
        async with AsyncExitStack() as stack:
            if isinstance(request, Build):
                yield request
            else:
                yield await self._build_once(stack, boxes, request)

    @asynccontextmanager
    async def cached(self, toolchain: Toolchain, source: Source) -> AsyncIterator[Build | None]:
        """The build if no compiler has to run for it, usable within the block."""
        request = make_request(toolchain, source)
        async with AsyncExitStack() as stack:
            if isinstance(request, Build):
                yield request
            elif self._cache is None or request.step is None:
                yield None
            else:
                _, found = await self._find(stack, self._cache, request, request.step)
                yield found

    async def _build_once(
        self, stack: AsyncExitStack, boxes: Boxes, request: CompileRequest
    ) -> Build:
        cache, step = self._cache, request.step
        if step is None or cache is None:
            return await self._build(stack, boxes, request)
        key, found = await self._find(stack, cache, request, step)
        own: list[Build] = []

        async def build() -> Build:
            own.append(await self._build(stack, boxes, request))
            await self._store(cache, key, step, own[0])
            return own[0]

        while found is None:
            built = await self._builds.run(key, build)
            # Another caller's program is in its own work directory. A failure can be shared,
            # but not that of a compiler which waited for its core.
            if own or (built.program is None and not is_late(built)):
                return built
            _, found = await self._find(stack, cache, request, step)
        return found

    async def _build(
        self, stack: AsyncExitStack, boxes: Boxes, request: CompileRequest
    ) -> Build:
        if request.step is not None and self._precompiler is not None:
            found = await self._precompiler.find(boxes, request.toolchain, request.source)
            request = with_precompiled(request, found)
        return await run_request(boxes, request, await self._workspace(stack))

    async def _workspace(self, stack: AsyncExitStack) -> Path:
        return await stack.enter_async_context(workspace(self._work_dir))

    async def _find(
        self,
        stack: AsyncExitStack,
        cache: DirectoryCache,
        request: CompileRequest,
        step: CompileStep,
    ) -> tuple[str, Build | None]:
        """Returns the key of the build, and the build if it is in the cache.

        What is not kept already is searched by one call in a thread, because each takes time
        to wake up.
        """
        known_key = key_of(request, step) if is_small(request.source) else None
        recent = self._recent.take(known_key) if known_key is not None else None
        if known_key is not None and recent is not None:
            stack.callback(recent.release)
            return known_key, recent.build

        def find() -> tuple[str, CachedBuild | None]:
            key = known_key or key_of(request, step)
            return key, take_build(cache, key, self._work_dir, request)

        try:
            key, found = await acquire(find, lambda done: release(done[1]))
        except OSError as fault:
            raise no_work_directory(self._work_dir, fault) from fault
        if found is None:
            return key, None
        # Sources, which interpreted programs are, stay on the disk for no longer than needed.
        release_found = (
            found.release if found.sources else self._recent.add(key, found.build, found.entry)
        )
        stack.callback(release_found)
        return key, found.build

    async def _store(
        self, cache: DirectoryCache, key: str, step: CompileStep, build: Build
    ) -> None:
        program, compilation = build.program, build.compilation
        if compilation is None or compilation.status not in REPEATABLE:
            return
        record = BuildRecord(
            argv=compilation.argv,
            output=compilation.output,
            ms=compilation.ms,
            status=compilation.status,
            entry=program.entry if program else None,
        )
        directory = stored_files(program, step) if program else None
        abandoned = threading.Event()
        try:
            await asyncio.to_thread(
                cache.keep, key, record.model_dump(mode="json"), directory, abandoned
            )
        except OSError as fault:
            self._warn(fault)
        finally:
            abandoned.set()

    def _warn(self, fault: OSError) -> None:
        """Warns once, because a full disk would repeat this for every build."""
        if not self._warned:
            self._warned = True
            log.warning("Builds can't be cached: %s.", fault.strerror)


@dataclass(frozen=True, slots=True)
class BuildTools:
    """Everything needed to build contestants' and jury programs."""

    catalogue: Catalogue
    toolchains: Toolchains
    compiler: CachedCompiler
    work_dir: Path


@dataclass(frozen=True, slots=True)
class CachedBuild:
    """A build that is usable until it is released."""

    build: Build
    entry: CachedDirectory
    sources: tuple[Path, int] | None
    """The work directory with the sources and its lock, if they are run themselves."""

    def release(self) -> None:
        if self.sources is not None:
            remove(*self.sources)
        self.entry.release()


def stored_files(program: CompiledProgram, step: CompileStep) -> Path | None:
    """Sources are not stored: only what a compiler has made of them."""
    return program.directory if step.output else program.bytecode


def is_small(source: Source) -> bool:
    return sum(map(len, source.files.values())) <= SMALL_SOURCE_BYTES


def release(found: CachedBuild | None) -> None:
    if found is not None:
        found.release()


def take_build(
    cache: DirectoryCache, key: str, work_dir: Path, request: CompileRequest
) -> CachedBuild | None:
    entry = take_fresh(cache, key)
    if entry is None:
        return None
    record = BuildRecord.model_validate(entry.record)
    compilation = Compilation(record.argv, record.output, record.ms, record.status)
    if record.entry is None:
        return CachedBuild(Build(None, compilation, from_cache=True), entry, None)
    assert request.step is not None
    if request.step.output and entry.directory is not None:
        program, sources = (
            CompiledProgram(request.toolchain, entry.directory, record.entry),
            None,
        )
    else:
        program, sources = take_sources(entry, record.entry, work_dir, request)
    return CachedBuild(Build(program, compilation, from_cache=True), entry, sources)


def take_sources(
    entry: CachedDirectory, started: str, work_dir: Path, request: CompileRequest
) -> tuple[CompiledProgram, tuple[Path, int]]:
    """Writes the sources, which are run themselves, and adds the stored bytecode."""
    sources, bytecode = None, entry.directory
    try:
        sources = create(work_dir)
        directory = write_sources(sources[0], request.source)
        if bytecode is not None and not add_bytecode(directory, bytecode):
            bytecode = None
    except OSError:
        if sources is not None:
            remove(*sources)
        entry.release()
        raise
    return CompiledProgram(request.toolchain, directory, started, bytecode=bytecode), sources


def take_fresh(cache: DirectoryCache, key: str) -> CachedDirectory | None:
    entry = cache.take(key)
    if entry is None or entry.record.get("entry") is not None:
        return entry
    if entry.age_s <= ERROR_LIFETIME_S:
        return entry
    entry.release()
    cache.drop(key)
    return None


def is_late(build: Build) -> bool:
    """Whether the compiler was ended by its wall-clock limit."""
    compilation = build.compilation
    return compilation is not None and compilation.status is RunStatus.WALL_LIMIT
