"""An API process of its own, on a database and a queue that tests share."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deemster.wiring.address import Address, ask, find_free
from deemster.wiring.forked_process import ForkedProcess
from tests.services.role_process import start_role
from tests.waiting import until


@asynccontextmanager
async def api_process(
    directory: Path, database_url: str, redis_url: str, queue_env: str
) -> AsyncIterator[tuple[Address, ForkedProcess]]:
    """Nothing is judged: there is no relay and no worker. It must end well."""
    address = find_free("127.0.0.1", 0)
    log = directory / "api.log"
    environment = {
        **os.environ,
        "DEEMSTER_DATABASE_URL": database_url,
        "DEEMSTER_QUEUE_URL": redis_url,
        "DEEMSTER_ENV": queue_env,
        "DEEMSTER_DATA_DIR": str(directory / "data"),
        "DEEMSTER_PORT": str(address.port),
        "DEEMSTER_SUBMIT_INTERVAL_S": "0",
    }
    process = await start_role("api", environment, log)

    async def answers() -> bool:
        try:
            return (await ask(address, "/healthz"))[0] == 200
        except OSError:
            return False

    try:
        await until(answers, why=log.read_text)
        yield address, process
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0, log.read_text()
