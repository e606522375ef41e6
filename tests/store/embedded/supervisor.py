"""Runs a cluster until standard input ends, and prints its URL or an error."""

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
        print_answer(url=cluster.url, pid=str(cluster.pid), version=version, log=log.getvalue())
        await asyncio.to_thread(sys.stdin.read)


def print_answer(**answer: str) -> None:
    print(json.dumps(answer), flush=True)


log = io.StringIO()
logging.basicConfig(stream=log, level=logging.INFO)
try:
    asyncio.run(main())
except DeemsterError as fault:
    print_answer(code=fault.code, message=str(fault))
