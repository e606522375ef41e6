"""A dispatcher that is killed before its n-th statement, and one that is not.

`python -m tests.pipeline.work.stepped_dispatcher` reads a step from each line of stdin. It runs
each in a process of its own, and tells on stdout how that ended. So all share the imports.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

import asyncpg

from deemster.domain.job import Job, QueueName
from deemster.domain.judge_host import JudgeOn
from deemster.domain.retry_policy import MaxTries
from deemster.pipeline.queue.fetcher import DeliveredJob
from deemster.pipeline.queue.messages import pack, unpack
from deemster.pipeline.remote.data_links import DataLinks
from deemster.pipeline.remote.messages import HostTask
from deemster.pipeline.remote.tasks import TaskBuilder
from deemster.pipeline.work.judge_twice import DoubleJudging
from deemster.pipeline.work.receive import Receiver
from deemster.pipeline.work.transmit import Transmitter
from deemster.store.pool import Pool, open_pool
from deemster.store.remote_tasks import HostRoom
from tests.builders import make_artifacts
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
STATEMENTS: Final = ("execute", "executemany", "fetch", "fetchrow", "fetchval")
DONE: Final = "done"
TRIES: Final = MaxTries(1000, 1000)


@dataclass(slots=True)
class Dispatcher:
    pool: Pool
    directory: Path
    lease_s: float
    pushed: list[str]
    share: float = 0
    """Of the submissions that two hosts judge."""

    @property
    def transmitter(self) -> Transmitter:
        async def push(_: HostRoom, task: HostTask) -> None:
            self.pushed.append(task.judge_id)

        async def send_to_workers(_: Job) -> None:
            raise AssertionError("this job is for hosts")

        return Transmitter(
            self.pool,
            send_to_workers,
            TaskBuilder(make_artifacts(self.directory), DataLinks(b"secret")),
            push,
            JudgeOn.HOSTS,
            lease_s=self.lease_s,
            caps={},
        )

    async def transmit(self, job: Job) -> None:
        lock: Any = None  # the handler leaves the lock of the job as it is
        await self.transmitter.handle(DeliveredJob(job, lock))

    @property
    def receiver(self) -> Receiver:
        double_judging = DoubleJudging(self.pool, self.share, self.transmitter.deliver)
        return Receiver(self.pool, make_artifacts(self.directory), TRIES, double_judging)

    async def receive(self, number: int) -> bool:
        return await self.receiver.receive(number)


@dataclass(slots=True)
class SteppedDispatcher:
    """The process that starts others, which are killed."""

    process: subprocess.Popen[str]

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.work.stepped_dispatcher"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        with process:
            try:
                yield cls(process)
            finally:
                process.kill()

    async def receive(
        self, url: str, directory: Path, number: int, *, until: int, share: float = 0
    ) -> bool:
        """False: the process was killed before the statement with the number `until`."""
        return await self._step(url, directory, until, number=number, share=share)

    async def transmit(
        self, url: str, directory: Path, job: Job, *, until: int, lease_s: float
    ) -> bool:
        return await self._step(
            url, directory, until, job=json.dumps(pack(job)), lease_s=lease_s
        )

    async def _step(self, url: str, directory: Path, until: int, **values: object) -> bool:
        step = {"url": url, "directory": str(directory), "until": until, **values}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(step) + "\n")
        async with asyncio.timeout(PATIENCE_S):
            told = (await asyncio.to_thread(self.process.stdout.readline)).strip()
        assert told in {DONE, str(-signal.SIGKILL)}, told
        return told == DONE


async def run(step: dict[str, Any]) -> None:
    async with open_pool(step["url"], name="test", max_size=2) as pool:
        lease_s, share = step.get("lease_s", 0), step.get("share", 0)
        dispatcher = Dispatcher(pool, Path(step["directory"]), lease_s, [], share)
        if "number" in step:
            await dispatcher.receive(step["number"])
        else:
            await dispatcher.transmit(unpack(step["job"], QueueName.TRANSMIT, 1))


def die_before(statement: int) -> None:
    made = count(1)

    def counted(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*arguments: Any, **options: Any) -> Any:
            if next(made) == statement:
                os.kill(os.getpid(), signal.SIGKILL)
            return await original(*arguments, **options)

        return call

    for name in STATEMENTS:
        setattr(asyncpg.Connection, name, counted(getattr(asyncpg.Connection, name)))


def main() -> None:
    for line in sys.stdin:
        step = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the log goes to stdout
                die_before(step["until"])
                asyncio.run(run(step))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        sys.stdout.write(f"{DONE if code == 0 else code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
