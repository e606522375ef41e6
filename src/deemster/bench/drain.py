"""Measures how fast a worker judges a queue, beside bare runs of the same programs."""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deemster.bench.burst import NO_LIMITS, ROLES, Queue, start_roles
from deemster.bench.doubling_problem import (
    CASES,
    PACKAGE,
    PROBLEM,
    BareRuns,
    sources_that_compute,
)
from deemster.bench.load.cpu_times import cpu_by_part
from deemster.bench.load.queued_submissions import judged_s, submit_all
from deemster.bench.load.service import BenchService, make_problem, open_service
from deemster.bench.machine import describe_machine
from deemster.pipeline.judge.verify.progress import Progress
from deemster.store import consistency, outbox, workers
from deemster.store.consistency import DatabaseActivity
from deemster.store.pool import connection
from deemster.wiring.address import Address

LANGUAGES: Final = ("c", "python3")
GOALS: Final = {"c": 2.0, "python3": 0.6}
"""Goals of the ratio to bare runs, with one slot."""
TWO_SLOTS_GOAL: Final = 1.8
WARM_UP: Final = 4
"""Submissions in each language before the first turn."""
COMMENTS: Final = {"c": "//", "python3": "#"}
PARTS: Final = (*ROLES, "postgres", "runner", "programs")
POLL_S: Final = 0.05
PAUSED_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    submissions: int
    """Number of submissions; half of them are in each language."""
    rounds: int
    """Turns of each language, which share the submissions."""
    slots: Sequence[int]
    work_ms: int = 0
    """CPU time that the programs use for each case, besides that of their start."""
    new_programs: bool = False
    """Whether each submission has to be compiled."""
    compile_slots: int = 1

    @property
    def of_turn(self) -> int:
        return max(1, self.submissions // (len(LANGUAGES) * self.rounds))


@dataclass(slots=True)
class Totals:
    """The sums of all turns of one language."""

    submissions: int = 0
    took_s: float = 0.0
    bare_s: float = 0.0
    """Seconds that bare runs of as many submissions took."""
    accepting: Counter[str] = field(default_factory=Counter)
    """CPU seconds by part of the service until all submissions are in the queue."""
    judging: Counter[str] = field(default_factory=Counter)
    """CPU seconds by part of the service while the queue is drained."""

    def add(self, other: "Totals") -> None:
        self.submissions += other.submissions
        self.took_s += other.took_s
        self.bare_s += other.bare_s
        self.accepting.update(other.accepting)
        self.judging.update(other.judging)

    def figures(self, slots: int) -> dict[str, Any]:
        busy_s = self.judging["programs"] + self.judging["runner"]
        cpu = self.accepting + self.judging
        return {
            "per_s": round(self.submissions / self.took_s, 1),
            "ms_per_submission": round(1000 * self.took_s / self.submissions, 2),
            "bare_ms_per_submission": round(1000 * self.bare_s / self.submissions, 2),
            "ratio": round(self.took_s / self.bare_s, 2),
            "slots_busy": round(busy_s / (self.took_s * slots), 3),
            "programs_share": round(self.judging["programs"] / self.judging.total(), 3),
            "cpu_ms_per_submission": {
                part: round(1000 * cpu[part] / self.submissions, 2) for part in PARTS
            },
        }


async def measure(
    plan: Plan, queue: Queue, directory: Path | None, progress: Progress
) -> dict[str, Any]:
    async with open_service(directory, 1) as service:
        package = service.directory / "double"
        await make_problem(service.settings, package, PROBLEM, PACKAGE)
        sources = sources_that_compute(plan.work_ms)
        bare = await BareRuns.prepare(service.directory, sources)
        turns = len(LANGUAGES) * plan.rounds * len(plan.slots)
        with progress.step("Measuring", turns) as advance:
            found = {}
            for slots in plan.slots:
                found[slots] = await measure_slots(service, queue, slots, plan, bare, advance)
    first, last = (found[slots]["all"]["per_s"] for slots in (plan.slots[0], plan.slots[-1]))
    return {
        "slots": found,
        "goals": GOALS,
        "most_over_fewest_slots": round(last / first, 2),
        "two_slots_goal": TWO_SLOTS_GOAL,
        "submissions": plan.of_turn * plan.rounds * len(LANGUAGES),
        "cases": CASES,
        "work_ms": plan.work_ms,
        "new_programs": plan.new_programs,
        "compile_slots": plan.compile_slots,
        "rounds": plan.rounds,
        "queue": queue.value,
        "machine": describe_machine(),
    }


async def measure_slots(
    service: BenchService,
    queue: Queue,
    slots: int,
    plan: Plan,
    bare: BareRuns,
    advance: Callable[[], None],
) -> dict[str, Any]:
    before = await read_activity(service)
    pids: dict[str, int] = {}
    totals = {language: Totals() for language in LANGUAGES}
    starting = start_roles(
        service,
        queue,
        slots=slots,
        compile_slots=plan.compile_slots,
        pids=pids,
        **NO_LIMITS,
    )
    async with starting as address:
        sources = sources_that_compute(plan.work_ms)
        drain = QueueDrain(service, address, pids, sources, plan.new_programs)
        for language in LANGUAGES:
            await drain.turn(language, WARM_UP)
        for _ in range(plan.rounds):
            for language, total in totals.items():
                turn = await drain.turn(language, plan.of_turn)
                turn.bare_s = bare.submissions_s(language, plan.of_turn)
                total.add(turn)
                advance()
    # The roles have ended, so that their connections have reported everything.
    after = await read_activity(service)
    everything = Totals()
    for total in totals.values():
        everything.add(total)
    submissions = everything.submissions + WARM_UP * len(LANGUAGES)
    return {
        **{language: total.figures(slots) for language, total in totals.items()},
        "all": everything.figures(slots),
        "database": {
            "transactions": round((after.transactions - before.transactions) / submissions, 1),
            "log_syncs": round((after.log_syncs - before.log_syncs) / submissions, 2),
        },
    }


async def read_activity(service: BenchService) -> DatabaseActivity:
    async with connection(service.pool) as acquired:
        return await consistency.database_activity(acquired)


@dataclass(frozen=True, slots=True)
class QueueDrain:
    service: BenchService
    address: Address
    pids: Mapping[str, int]
    sources: Mapping[str, str]
    new_programs: bool
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def turn(self, language: str, count: int) -> Totals:
        """Fills the queue while the worker is paused, and lets the worker judge it."""
        await self._pause()
        began = self._cpu()
        bodies = (self._body(language) for _ in range(count))
        ids = await submit_all(self.address, self.service.hog, bodies)
        await self._until_queued()
        queued = self._cpu()
        await self._resume()
        took_s = await judged_s(self.service, ids, "drain")
        return Totals(count, took_s, accepting=queued - began, judging=self._cpu() - queued)

    def _body(self, language: str) -> str:
        source = self.sources[language]
        if self.new_programs:
            source += f"{COMMENTS[language]} {next(self._numbers)}\n"
        return json.dumps({"problem_id": PROBLEM, "language": language, "source_code": source})

    def _cpu(self) -> Counter[str]:
        return Counter(cpu_by_part(self.pids, self.service.database_pid))

    async def _pause(self) -> None:
        """Waits until the worker has been told: its heartbeat is newer than the request."""
        async with connection(self.service.pool) as acquired, asyncio.timeout(PAUSED_S):
            (worker,) = await workers.list_alive(acquired)
            await workers.drain(acquired, worker.id)
            while True:
                (worker,) = await workers.list_alive(acquired)
                assert worker.draining_at is not None
                if worker.seen_at > worker.draining_at:
                    return
                await asyncio.sleep(POLL_S)

    async def _resume(self) -> None:
        async with connection(self.service.pool) as acquired:
            (worker,) = await workers.list_alive(acquired)
            await workers.resume(acquired, worker.id)

    async def _until_queued(self) -> None:
        """Waits until the relay has sent all jobs."""
        async with connection(self.service.pool) as acquired, asyncio.timeout(PAUSED_S):
            while (await outbox.count_unsent(acquired))[0]:  # noqa: ASYNC110 - by the relay
                await asyncio.sleep(POLL_S)
