"""Assembles the judge host of a Deemster server, which has no credential but its own key."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import structlog
import uvicorn
from pydantic import SecretStr

from deemster import __version__
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.judgehost.encrypted_cache import EncryptedCache
from deemster.judgehost.host_key import read_host_key, refuse_other_credentials
from deemster.judgehost.judge_host import HostFacts, JudgeHost
from deemster.judgehost.listener import TaskListener
from deemster.judgehost.memory_directory import default_memory_mb, memory_directory
from deemster.judgehost.server_connection import ServerConnection
from deemster.judgehost.signed_messages import SignedMessages
from deemster.judgehost.speed import measure_speed
from deemster.judgehost.task_runner import TaskRunner
from deemster.judgehost.test_data import HostRevisions
from deemster.pipeline.work.analyze_program import ProgramAnalyzer
from deemster.sandbox.cores import reserve_cores, usual_slots
from deemster.settings import Settings, forget_variables, given_secrets
from deemster.settings.ceilings import ceiling_of
from deemster.wiring.analyzing import AnalysisOnDemand, open_worker_analysis
from deemster.wiring.compile_ahead import open_compile_ahead
from deemster.wiring.execution_boxes import open_execution_boxes
from deemster.wiring.http_server import Server
from deemster.wiring.judging import make_spool, open_judging_on_cores, refresh_toolchains
from deemster.wiring.process import signals_handled
from deemster.wiring.program_judge import open_program_judge

log = structlog.get_logger()


def read_credentials(settings: Settings) -> Settings:
    """Reads the file of the key, and refuses every credential but the key."""
    refuse_other_credentials(given_secrets(settings), settings.data_dir)
    if settings.judgehost_key_file is None:
        return settings
    key = SecretStr(read_host_key(None, settings.judgehost_key_file).text)
    return settings.model_copy(update={"judgehost_key": key, "judgehost_key_file": None})


async def run_judge_host(settings: Settings, slots: int | None = None) -> None:
    """SIGTERM drains; a second one stops at once."""
    settings = read_credentials(settings)
    if settings.judgehost_server is None:
        raise Refused(
            "There is no server to judge for: name a Deemster server by `--server URL`, "
            "or a DOMjudge server by `--domjudge URL`."
        )
    given = settings.judgehost_key
    key = read_host_key(None if given is None else given.get_secret_value(), None)
    forget_variables("judgehost_key")
    messages = SignedMessages(key.secret)
    async with (
        ServerConnection.open(settings.judgehost_server, key, messages) as server,
        open_judge_host(settings, server, slots) as host,
        asyncio.TaskGroup() as group,
    ):

        def on_signal(times: int) -> None:
            log.info("judgehost.draining" if times == 1 else "judgehost.stopping")
            if times == 1:
                host.drain()
            else:
                host.stop()

        with signals_handled(on_signal):
            address = settings.judgehost_address
            if address is None:
                await host.run()
            else:
                listener = TaskListener(messages, host.accept, address)
                async with listening(settings, listener, group):
                    await host.run()


@asynccontextmanager
async def open_judge_host(
    settings: Settings, server: ServerConnection, slots: int | None
) -> AsyncIterator[JudgeHost]:
    slots = slots or settings.slots or usual_slots()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        core_locks = settings.core_locks
        cores = stack.enter_context(reserve_cores(core_locks, slots))
        memory = stack.enter_context(memory_directory(settings.judgehost_memory_dir))
        cache = stack.enter_context(
            EncryptedCache.open(
                settings.data_dir / "judgehost-cache", settings.judgehost_cache_mb * MIB
            )
        )
        build_tools, lanes, usable = await enter(open_judging_on_cores(settings, cores))
        speed = await measure_speed(build_tools, lanes)
        compile_ahead = await enter(
            open_compile_ahead(
                settings,
                usable,
                core_locks,
                cores,
                is_busy=lambda: host.tasks.is_judging_full,
            )
        )
        memory_mb = settings.judgehost_memory_mb or default_memory_mb(memory)
        revisions = HostRevisions(memory, memory_mb * MIB, cache, server.download)
        program_judge = await enter(
            open_program_judge(
                settings,
                build_tools,
                lanes,
                usable,
                revisions.opened,
                make_spool(settings, memory),
                # Without a cache, a program that was compiled ahead would be compiled again.
                compile_ahead if settings.compile_cache_mb else None,
            )
        )
        revisions.on_full = program_judge.problems.evict_unused
        boxes = await enter(open_execution_boxes(settings, usable, core_locks, cores))
        analysis = await enter(
            AnalysisOnDemand.open(
                partial(open_worker_analysis, settings, slots, core_locks, cores)
            )
        )
        runner = TaskRunner(
            build_tools,
            program_judge,
            ProgramAnalyzer(build_tools.catalogue, revisions.opened, analysis.analyze),
            boxes,
            revisions,
            server.update,
            ceiling_of(settings),
        )
        facts = HostFacts(
            release=__version__,
            slots=slots,
            execution_slots=settings.execution_slots,
            speed=speed,
            address=settings.judgehost_address,
        )
        refreshing = await enter(asyncio.TaskGroup())
        refresh = refreshing.create_task(refresh_toolchains(build_tools))
        host = JudgeHost(
            server,
            runner.prepare,
            runner.run,
            facts,
            build_tools.toolchains.versions,
            revisions.digests,
        )
        try:
            yield host
        finally:
            refresh.cancel()


@asynccontextmanager
async def listening(
    settings: Settings, app: TaskListener, group: asyncio.TaskGroup
) -> AsyncIterator[None]:
    """Accepts tasks from the server within the block."""
    with listen(settings.judgehost_listen) as bound:
        server = Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
        )
        serving = group.create_task(server.serve(sockets=[bound]))
        try:
            yield
        finally:
            server.should_exit = True
            server.force_exit = True
            await asyncio.wait([serving])


def listen(given: str | None) -> socket.socket:
    host, colon, port = (given or "").rpartition(":")
    if not colon or not port.isdigit():
        raise Refused(
            "A judge host with an address must listen for tasks: set "
            "DEEMSTER_JUDGEHOST_LISTEN to an address and a port, such as 0.0.0.0:8900."
        )
    plain = host.strip("[]")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        return socket.create_server((plain, int(port)), family=family)
    except (OSError, OverflowError) as fault:
        raise Refused(
            f"A judge host can't listen on {given} ({fault}): set DEEMSTER_JUDGEHOST_LISTEN "
            "to an address of this machine and a free port."
        ) from fault
