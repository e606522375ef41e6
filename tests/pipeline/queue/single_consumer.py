"""A consumer as a process of its own, to be stopped and killed; it ends a job by a line."""

import asyncio
import sys

from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.delivery import DeliveredJob, Done
from deemster.telemetry import configure
from tests.pipeline.queue.stores import QUICK, for_all


async def main(url: str, env: str) -> None:
    async def handler(delivery: DeliveredJob) -> Done:
        print("taken", delivery.job.job_id, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return Done()

    handlers = for_all(handler)
    async with Consumer.open(url, env, handlers, slots=1, name="lone", times=QUICK) as consumer:
        await consumer.run()


if __name__ == "__main__":
    configure("warning", "lone")
    asyncio.run(main(*sys.argv[1:]))
