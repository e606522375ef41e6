"""Assembles the worker role: takes jobs from the queue, judges them, records verdicts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.execution import ExecutionDetails, ProgramIo
from deemster.domain.job import QueueName
from deemster.domain.work import WorkDetails
from deemster.pipeline.execute.output_recorder import OutputRecorder
from deemster.pipeline.execute.typed_input import TypedInputs
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.topology import ConsumerTimes
from deemster.pipeline.verdict.attempt import Caps
from deemster.pipeline.work.consumers import Consumers
from deemster.pipeline.work.delayed_stages import DelayedStages
from deemster.pipeline.work.execute_stage import ExecuteStage
from deemster.pipeline.work.heartbeat import (
    Heartbeat,
    keep_beating,
    watch_cancellations,
)
from deemster.pipeline.work.job_executor import JobExecutor
from deemster.pipeline.work.judge_stage import JudgeStage
from deemster.programs.build.cached_compiler import BuildTools
from deemster.programs.build.toolchain import Toolchain
from deemster.sandbox.cores import reserve_cores, usual_slots
from deemster.settings import Settings
from deemster.store.notifications import (
    EVENT_CHANNEL,
    INPUT_CHANNEL,
    STOP_CHANNEL,
    Listener,
    Notifier,
)
from deemster.store.pool import Pool
from deemster.wiring.analyzing import open_worker_analysis
from deemster.wiring.compile_ahead import open_compile_ahead
from deemster.wiring.execution_boxes import open_execution_boxes
from deemster.wiring.judging import make_spool, open_judging_on_cores, refresh_toolchains
from deemster.wiring.language_servers import open_language_servers
from deemster.wiring.problems import open_distributor
from deemster.wiring.process import reduce_garbage_collection, signals_handled
from deemster.wiring.program_judge import open_program_judge
from deemster.wiring.resources import database_url, open_artifacts, open_database, queue_url
from deemster.wiring.stages import StageParts, open_stage_handlers, stage_policy

log = structlog.get_logger()

AHEAD_S: Final = 1.0
"""A submission that was claimed ahead goes back to the queue after this time without a slot."""


async def run_worker(settings: Settings, slots: int | None = None) -> None:
    slots = slots or settings.slots or usual_slots()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        core_locks = settings.core_locks
        cores = stack.enter_context(reserve_cores(core_locks, slots))
        pool = await enter(
            open_database(
                settings,
                "worker",
                max_size=slots + settings.stage_slots + settings.execution_slots // 2 + 4,
            )
        )
        # Starts and heartbeats can be repeated, so they do not wait for the disk.
        quick_pool = await enter(
            open_database(settings, "worker", max_size=slots + 2, durable=False)
        )
        artifacts = open_artifacts(settings)
        build_tools, lanes, usable = await enter(open_judging_on_cores(settings, cores))
        caps = Caps(
            settings.max_running,
            settings.max_running_per_user,
            settings.max_running_by_language,
        )
        compile_ahead = await enter(
            open_compile_ahead(
                settings,
                usable,
                core_locks,
                cores,
                is_busy=lambda: judging.is_full,
                is_capped=caps.touches,
            )
        )
        distributor = open_distributor(settings, artifacts)
        program_judge = await enter(
            open_program_judge(
                settings,
                build_tools,
                lanes,
                usable,
                distributor.opened,
                make_spool(settings),
                compile_ahead,
            )
        )
        versions = build_tools.toolchains.versions
        heartbeat = Heartbeat(quick_pool, slots, versions)
        notifier = await enter(Notifier.open(pool, EVENT_CHANNEL))
        stage = JudgeStage(pool, artifacts, program_judge, stage_policy(settings))
        executor = JobExecutor(
            pool=pool,
            stage=stage,
            starting_pool=quick_pool,
            runs_while_starting=True,
            ready=stage.ready,
            running_jobs=heartbeat.running_jobs,
            caps=caps,
            languages=versions,
            lease_s=settings.lease_s,
            max_tries=settings.run_attempts,
            on_start=notifier.notify_later,
            on_end=notifier.notify,
            on_settled=notifier.notify_settled,
        )
        after_verdict = await enter(
            open_stage_handlers(
                settings,
                StageParts(
                    pool, artifacts, build_tools.catalogue, distributor, heartbeat, notifier
                ),
                partial(
                    open_worker_analysis,
                    settings,
                    settings.stage_slots or slots,
                    core_locks,
                    cores,
                ),
            )
        )
        # Without slots of their own, stages take those of submissions, by weight (Q8).
        shared = {} if settings.stage_slots else after_verdict
        reduce_garbage_collection()
        judging = await enter(
            Consumer.open(
                queue_url(settings),
                settings.env,
                {QueueName.DEFAULT: executor.handle, **shared},
                slots=slots,
                compile_slots=settings.compile_slots,
                compiling=lambda: compile_ahead.compiling,
                strict=settings.strict_priority,
                rate_per_s=settings.max_starts_per_second,
                name=heartbeat.running_jobs.worker,
                times=ConsumerTimes(ahead_s=AHEAD_S),
            )
        )
        executing = await enter(
            open_executing(
                settings, pool, build_tools, usable, heartbeat, core_locks, cores, notifier
            )
        )
        others = [executing]
        if settings.stage_slots:
            delayed_stages = DelayedStages(lambda: judging.is_full)
            others.append(
                await enter(
                    Consumer.open(
                        queue_url(settings),
                        settings.env,
                        {
                            queue: delayed_stages.delay(handler)
                            for queue, handler in after_verdict.items()
                        },
                        slots=settings.stage_slots,
                        strict=settings.strict_priority,
                        name=f"{heartbeat.running_jobs.worker}:stages",
                    )
                )
            )
        listener = await enter(Listener.open(database_url(settings), STOP_CHANNEL))
        consumers = Consumers(judging, others)
        await serve_worker(heartbeat, consumers, listener, build_tools)


@asynccontextmanager
async def open_executing(
    settings: Settings,
    pool: Pool,
    build_tools: BuildTools,
    toolchains: Sequence[Toolchain],
    heartbeat: Heartbeat,
    core_locks: Path,
    judging_cores: Sequence[int],
    notifier: Notifier,
) -> AsyncIterator[Consumer]:
    """Executions have a consumer and boxes of their own."""
    async with (
        open_execution_boxes(settings, toolchains, core_locks, judging_cores) as boxes,
        open_language_servers(
            settings,
            build_tools.catalogue,
            build_tools.toolchains.versions,
            core_locks,
            judging_cores,
        ) as language_servers,
        OutputRecorder.open(pool) as recorder,
        Listener.open(database_url(settings), INPUT_CHANNEL) as listener,
        TypedInputs.open(pool, listener) as inputs,
    ):
        executor = JobExecutor(
            pool=pool,
            stage=ExecuteStage(
                pool,
                build_tools,
                boxes,
                recorder,
                inputs,
                settings.live_idle_s,
                language_servers,
            ),
            running_jobs=heartbeat.running_jobs,
            caps=Caps(settings.max_executions, settings.max_executions_per_user),
            languages=build_tools.toolchains.versions,
            lease_s=settings.lease_s,
            max_tries=settings.run_attempts,
            on_start=notifier.notify_soon,
            on_end=notifier.notify,
            on_settled=notifier.notify_settled,
        )
        async with Consumer.open(
            queue_url(settings),
            settings.env,
            {QueueName.INTERACTIVE: executor.handle},
            slots=settings.execution_slots + settings.language_servers,
            name=f"{heartbeat.running_jobs.worker}:executions",
        ) as consumer:
            yield consumer


async def serve_worker(
    heartbeat: Heartbeat, consumer: Consumers, listener: Listener, build_tools: BuildTools
) -> None:
    """SIGTERM drains, and returns jobs that wait for people; a second one stops at once and
    returns all running jobs (Q14).
    """
    async with asyncio.TaskGroup() as group:

        def on_signal(times: int) -> None:
            log.info("worker.draining" if times == 1 else "worker.stopping")
            consumer.drain()
            heartbeat.running_jobs.give_back(waits_for_people)
            group.create_task(quietly(heartbeat.drain()))
            if times > 1:
                group.create_task(consumer.stop())

        with signals_handled(on_signal):
            services = [
                group.create_task(keep_beating(heartbeat, consumer)),
                group.create_task(watch_cancellations(listener, heartbeat.running_jobs)),
                group.create_task(refresh_toolchains(build_tools)),
            ]
            await consumer.run()
            for service in services:
                service.cancel()
    await quietly(heartbeat.leave())


def waits_for_people(details: WorkDetails) -> bool:
    """Nobody knows how long they take. The program is started again, with what they typed."""
    return isinstance(details, ExecutionDetails) and details.io is not ProgramIo.BATCH


async def quietly(work: Awaitable[None]) -> None:
    with suppress(Unavailable):
        await work
