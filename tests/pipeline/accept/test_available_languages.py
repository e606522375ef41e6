"""Languages that no machine has are refused, with those that are available."""

import pytest

from deemster.domain.execution import ProgramIo
from deemster.domain.ids import WORKER, WorkerId, new_id
from deemster.domain.judge_host import JudgeOn
from deemster.pipeline.accept.available_languages import (
    AvailableLanguages,
    LanguageNotAvailable,
)
from deemster.programs.build.languages import load_catalogue
from deemster.store import host_workers, judge_hosts, workers
from deemster.store.pool import Pool, transaction

RUST = load_catalogue().named("rust")


async def add_worker(pool: Pool, *languages: str) -> None:
    async with transaction(pool) as writing:
        await workers.register(
            writing,
            WorkerId(new_id(WORKER)),
            host="here",
            process="1",
            slots=1,
            versions=dict.fromkeys(languages, "1"),
        )


async def add_judge_host(pool: Pool, *languages: str) -> None:
    async with transaction(pool) as writing:
        host = await judge_hosts.add(writing, "lab", created_by="test")
        registered = await host_workers.register(
            writing,
            host,
            slots=1,
            execution_slots=1,
            versions=dict.fromkeys(languages, "1"),
        )
    assert registered is not None


async def is_available(
    pool: Pool, judge_on: JudgeOn = JudgeOn.WORKERS, io: ProgramIo = ProgramIo.BATCH
) -> bool:
    try:
        await AvailableLanguages(pool, judge_on).check(RUST, io)
    except LanguageNotAvailable:
        return False
    return True


async def test_without_any_machine_nothing_is_known(pool: Pool) -> None:
    """Q15: the setting `without_workers` decides then."""
    for judge_on in JudgeOn:
        assert await is_available(pool, judge_on)


async def test_a6_the_refusal_lists_what_is_available(pool: Pool) -> None:
    await add_worker(pool, "python3", "cpp")
    await add_worker(pool, "c")
    with pytest.raises(LanguageNotAvailable, match=r"Rust: use one of c, cpp, python3\."):
        await AvailableLanguages(pool).check(RUST)
    await add_worker(pool, "rust")
    assert await is_available(pool)


@pytest.mark.parametrize(
    ("worker_has", "host_has", "judge_on", "io", "available"),
    [
        ("c", "rust", JudgeOn.WORKERS, ProgramIo.BATCH, False),
        ("c", "rust", JudgeOn.HOSTS, ProgramIo.BATCH, True),
        ("c", "rust", JudgeOn.HOSTS_FIRST, ProgramIo.BATCH, True),
        ("rust", "c", JudgeOn.WORKERS, ProgramIo.BATCH, True),
        ("rust", "c", JudgeOn.HOSTS, ProgramIo.BATCH, False),
        ("rust", "c", JudgeOn.HOSTS_FIRST, ProgramIo.BATCH, True),
        ("c", "rust", JudgeOn.HOSTS, ProgramIo.TERMINAL, False),
        ("rust", "c", JudgeOn.HOSTS, ProgramIo.STREAMS, True),
    ],
)
async def test_m4_only_machines_that_would_run_the_program_count(
    pool: Pool,
    worker_has: str,
    host_has: str,
    judge_on: JudgeOn,
    io: ProgramIo,
    *,
    available: bool,
) -> None:
    """M4: programs whose input is typed run on local workers, whatever the setting is."""
    await add_worker(pool, worker_has)
    await add_judge_host(pool, host_has)
    assert await is_available(pool, judge_on, io) is available
