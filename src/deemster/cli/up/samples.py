"""Loads the sample problems that are shipped, those that are not there yet."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from deemster.cli.up.display import Display
from deemster.cli.up.logs import Log
from deemster.domain.ids import problem_id_from_name
from deemster.pipeline.judge.build.languages import shipped_directory
from deemster.store.pool import Pool, connection
from deemster.store.problems import get


async def missing_samples(pool: Pool) -> list[Path]:
    """One that an admin changed or retired is there, and stays as it is."""
    shipped = sorted(
        path.parent for path in shipped_directory("samples").glob("*/problem.yaml")
    )
    async with connection(pool) as acquired:
        return [
            path
            for path in shipped
            if await get(acquired, problem_id_from_name(path.name)) is None
        ]


async def load_samples(
    pool: Pool, environment: Mapping[str, str], log_dir: Path, board: Display
) -> None:
    """By the command that loads any problem, in a process of its own: this one stays small."""
    missing = await missing_samples(pool)
    if not missing:
        return
    async with Log.open(log_dir / "samples.log", lambda _: None) as (log, output):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "deemster", "--parent", str(os.getpid()), "problem", "import"),
            *map(str, missing),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
    if code == 0:
        board.say(f"Loaded {len(missing)} sample problems.")
    else:
        board.warn(f"Not all sample problems could be loaded: see {log.path}")
