"""The worker: takes jobs from the queue, judges them in the cage, settles them."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.bundle import unpack
from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.ids import WORKER, SubmissionId, WorkerId, new_id
from deemster.domain.judgement import JuryJudgement, JuryText
from deemster.domain.source import Source
from deemster.domain.submission import Brief
from deemster.domain.task import QueueName
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.court import Court
from deemster.pipeline.judge.courthouse import Courthouse
from deemster.pipeline.judge.jury import JuryFault, Workshop
from deemster.pipeline.judge.sources import contestant_source
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.delivery import Delivery, Done, Handler, Later
from deemster.pipeline.verdict.execution import Execution, Judged
from deemster.pipeline.verdict.runs import Runs
from deemster.pipeline.verdict.start import Caps, Full
from deemster.problems.shelf import Shelf
from deemster.sandbox.cores import hold_cores
from deemster.sandbox.lanes import Lanes
from deemster.settings import Settings
from deemster.store import workers
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool, connection
from deemster.store.small import fetch
from deemster.store.wake import STOP, Ear
from deemster.store.workers import Bidding
from deemster.wiring.judging import make_spool, open_judging
from deemster.wiring.process import host_name, is_alive, process_name, signals_heard
from deemster.wiring.revisions import open_shelf
from deemster.wiring.service import database_url, open_artifacts, open_database, queue_url

log = structlog.get_logger()

BEAT_S: Final = 1.0
FULL_S: Final = 0.5
"""How long a job waits before it is tried again when as many run as may."""
LOOK_S: Final = 60.0
"""Between two looks whether all languages are as they were."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Judges what the database says a job is about."""

    pool: Pool
    artifacts: Artifacts
    workshop: Workshop
    courthouse: Courthouse

    async def judge(self, brief: Brief, on_case: Callable[[], None]) -> Judged:
        async with connection(self.pool) as acquired:
            bundle = await fetch(acquired, self.artifacts, brief.source)
        catalogue = self.workshop.catalogue
        language = catalogue.named(brief.language)
        source = Source(unpack(bundle), main=brief.main)
        try:
            async with self.courthouse.court(brief.revision) as court:
                whole = await asyncio.to_thread(
                    contestant_source, court.root, court.problem, language, source, catalogue
                )
                judgement = await court.judge(
                    language, whole, time_ms=brief.time_ms, on_case=lambda _: on_case()
                )
                return Judged(judgement, court.problem.show_groups)
        except JuryFault as fault:
            return Judged(JuryJudgement(Verdict.JUDGE_ERROR, fault=JuryText(str(fault))))


@asynccontextmanager
async def open_courthouse(
    settings: Settings, workshop: Workshop, lanes: Lanes, shelf: Shelf
) -> AsyncIterator[Courthouse]:
    spool = make_spool(settings)

    @asynccontextmanager
    async def open_court(digest: str) -> AsyncIterator[Court]:
        async with (
            shelf.opened(digest) as revision,
            Court.open(workshop, lanes, revision.directory, revision.problem, spool) as court,
        ):
            yield court

    async with Courthouse.open(open_court) as house:
        yield house


def handler_of(execution: Execution) -> Handler:
    async def handle(delivery: Delivery) -> Done | Later:
        submission = delivery.errand.submission
        structlog.contextvars.bind_contextvars(jobId=delivery.errand.job_id)
        try:
            await execution.run(submission, delivery.hold)
        except Full:
            return Later(FULL_S)
        except LostRace as lost:
            log.info("job.dropped", submissionId=submission, reason=str(lost))
        except Unavailable as fault:
            # Nothing was begun: the job itself comes again.
            log.warning("job.put_off", submissionId=submission, error=str(fault))
            return Later(FULL_S)
        return Done()

    return handle


class Registration:
    """This worker's row: renewed by beats, made anew if it was taken for dead."""

    def __init__(self, pool: Pool, slots: int, versions: Mapping[str, str]) -> None:
        """`versions` are those of the languages that work here; they may change meanwhile."""
        self._pool = pool
        self._slots = slots
        self._versions = versions
        self._told: dict[str, str] = {}
        self.runs = Runs(pool, WorkerId(new_id(WORKER)))
        self._known = False

    async def beat(self, consumer: Consumer) -> None:
        if not self._known:
            await self._register(held=consumer.is_held)
        elif self._told != self._versions:
            await self._tell()
        async with connection(self._pool) as acquired:
            heard = await workers.beat(
                acquired,
                self.runs.worker,
                busy=consumer.busy,
                cycle_s=consumer.cycle_s,
                ending=consumer.is_draining,
            )
        self._obey(heard, consumer)
        await self.runs.beat()

    def _obey(self, heard: Bidding, consumer: Consumer) -> None:
        """Drained by an admin it stays, idle: whoever watches over it would start it anew."""
        if heard is Bidding.GONE:
            log.warning("worker.taken_for_dead", worker=self.runs.worker)
            self.runs.abandon_all()
            self.runs.worker = WorkerId(new_id(WORKER))
            self._known = False
        elif heard is Bidding.DRAIN and not (consumer.is_held or consumer.is_draining):
            log.info("worker.held", worker=self.runs.worker)
            consumer.hold()
        elif heard is Bidding.WORK and consumer.is_held:
            log.info("worker.resumed", worker=self.runs.worker)
            consumer.go()

    async def _register(self, *, held: bool) -> None:
        """Also says which workers of this machine are dead: their runs are rescued at once."""
        host, told = host_name(), dict(self._versions)
        async with connection(self._pool) as acquired:
            others = await workers.of_host(acquired, host)
            dead = [worker for worker, process in others.items() if not is_alive(process)]
            await workers.leave(acquired, dead)
            await workers.register(
                acquired,
                self.runs.worker,
                host=host,
                process=process_name() or "",
                slots=self._slots,
                versions=told,
            )
            if held:
                # What an admin said of the worker that it was holds for it still.
                await workers.drain(acquired, self.runs.worker)
        self._known, self._told = True, told

    async def _tell(self) -> None:
        told = dict(self._versions)
        async with connection(self._pool) as acquired:
            await workers.tell(acquired, self.runs.worker, told)
        self._told = told

    async def drain(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.drain(acquired, self.runs.worker)

    async def leave(self) -> None:
        async with connection(self._pool) as acquired:
            await workers.leave(acquired, [self.runs.worker])


async def keep_beating(registration: Registration, consumer: Consumer) -> None:
    while True:
        try:
            await registration.beat(consumer)
        except Unavailable as fault:
            log.warning("worker.not_heard", error=str(fault))
        await asyncio.sleep(BEAT_S)


async def heed_cancellations(ear: Ear, runs: Runs) -> None:
    """A hint: the next beat finds out as well."""
    while True:
        for word in await ear.wait(60):
            runs.abandon(SubmissionId(word))


async def keep_looking(workshop: Workshop) -> None:
    """Jobs look for their own language; this is for those that nobody asks for."""
    while True:
        await asyncio.sleep(LOOK_S)
        await workshop.toolchains.look_after(workshop.catalogue)


async def run_worker(settings: Settings, slots: int | None = None) -> None:
    slots = slots or settings.slots or max(1, len(os.sched_getaffinity(0)) - 1)
    catalogue = load_catalogue()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        place = settings.work_dir.with_name(f"{settings.work_dir.name}-cores")
        cores = stack.enter_context(hold_cores(place, slots))
        pool = await enter(open_database(settings, "worker", most=slots + 4))
        artifacts = open_artifacts(settings)
        workshop, lanes = await enter(
            open_judging(settings, catalogue, catalogue, lanes=slots, cpus=cores)
        )
        shelf = open_shelf(settings, artifacts)
        courthouse = await enter(open_courthouse(settings, workshop, lanes, shelf))
        versions = workshop.toolchains.versions
        registration = Registration(pool, slots, versions)
        execution = Execution(
            pool=pool,
            artifacts=artifacts,
            runs=registration.runs,
            judge=Bench(pool, artifacts, workshop, courthouse).judge,
            caps=Caps(
                settings.most_running,
                settings.most_running_per_user,
                settings.most_running_by_language,
            ),
            languages=versions,
            lease_s=settings.lease_s,
            most_attempts=settings.run_attempts,
            overhead_s=settings.run_overhead_s,
        )
        consumer = await enter(
            Consumer.open(
                queue_url(settings),
                settings.env,
                {QueueName.DEFAULT: handler_of(execution)},
                slots=slots,
                strict=settings.strict_priority,
                rate_per_s=settings.most_per_second,
                name=registration.runs.worker,
            )
        )
        ear = await enter(Ear.open(database_url(settings), STOP))
        await serve_worker(registration, consumer, ear, workshop)


async def serve_worker(
    registration: Registration, consumer: Consumer, ear: Ear, workshop: Workshop
) -> None:
    """SIGTERM drains; a second one stops at once, and what runs goes back (Q14)."""
    async with asyncio.TaskGroup() as group:

        def on_signal(times: int) -> None:
            log.info("worker.draining" if times == 1 else "worker.stopping")
            consumer.drain()
            group.create_task(quietly(registration.drain()))
            if times > 1:
                group.create_task(consumer.stop())

        with signals_heard(on_signal):
            services = [
                group.create_task(keep_beating(registration, consumer)),
                group.create_task(heed_cancellations(ear, registration.runs)),
                group.create_task(keep_looking(workshop)),
            ]
            await consumer.run()
            for service in services:
                service.cancel()
    await quietly(registration.leave())


async def quietly(work: Awaitable[None]) -> None:
    with suppress(Unavailable):
        await work
