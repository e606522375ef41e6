"""A consumer in its own process, which tests stop and kill; a line on stdin ends its job."""

import asyncio
import sys

from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.fetcher import DeliveredJob, Done
from deemster.telemetry import configure
from tests.pipeline.queue.stores import QUICK, for_all


async def main(url: str, env: str) -> None:
    async def handler(delivery: DeliveredJob) -> Done:
        print("taken", delivery.job.job_id, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return Done()

    handlers = for_all(handler)
    async with Consumer.open(
        url, env, handlers, slots=1, name="consumer_process", times=QUICK
    ) as consumer:
        await consumer.run()


if __name__ == "__main__":
    configure("warning", "consumer_process")
    asyncio.run(main(*sys.argv[1:]))
