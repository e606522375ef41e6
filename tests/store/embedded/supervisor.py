"""A program that runs a cluster until its standard input ends, and tells its URL or why not."""

import asyncio
import io
import json
import logging
import sys
from pathlib import Path

import asyncpg

from deemster.domain.errors import DeemsterError
from deemster.store.embedded import run_cluster


async def main() -> None:
    async with run_cluster(Path(sys.argv[1]), settings={"fsync": "off"}) as cluster:
        connection = await asyncpg.connect(cluster.url)
        version = await connection.fetchval("SHOW server_version")
        await connection.close()
        tell(url=cluster.url, pid=str(cluster.pid), version=version, log=said.getvalue())
        await asyncio.to_thread(sys.stdin.read)


def tell(**answer: str) -> None:
    print(json.dumps(answer), flush=True)


said = io.StringIO()
logging.basicConfig(stream=said, level=logging.INFO)
try:
    asyncio.run(main())
except DeemsterError as fault:
    tell(code=fault.code, message=str(fault))
