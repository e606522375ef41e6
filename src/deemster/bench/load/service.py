"""Sets up a private service for a benchmark, with its own database, accounts and problem."""

import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.bench.load.driver import NUMBER_MARK
from deemster.domain.account import Role
from deemster.domain.errors import Unavailable
from deemster.domain.ids import ProblemId
from deemster.settings import Settings, child_environment, load_settings
from deemster.store import accounts
from deemster.store.embedded import run_cluster
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, open_pool, transaction
from deemster.wiring.import_command import import_all

PROBLEM: Final = ProblemId("prob_bench")
ADMIN: Final = "admin"
HOG: Final = "hog"
LANGUAGE: Final = "python3"
SOURCE: Final = f"""# Submission {NUMBER_MARK}
import sys


def main() -> None:
    first, second = map(int, sys.stdin.readline().split())
    print(first + second)


if __name__ == "__main__":
    main()
"""
PACKAGE: Final = {
    "problem.yaml": "problem_format_version: '2025-09'\nname: Sum\n"
    "uuid: 5c0d9d3e-5c4e-4c58-8a0c-3f7a5ed0b8a6\nlimits:\n  time_limit: 2\n",
    "data/secret/1.in": "3 4\n",
    "data/secret/1.ans": "7\n",
}
"""One case: the benchmark measures the service, not the program."""


@dataclass(frozen=True, slots=True)
class BenchService:
    directory: Path
    settings: Settings
    pool: Pool
    tokens: list[str]
    """Tokens of ordinary users."""
    admin: str
    """Token of an admin."""
    hog: str
    """Token of a user without limits, who sends very many submissions."""
    database_pid: int
    """Process id of the server of the database."""

    def environment(self, **overrides: object) -> dict[str, str]:
        """For a child process: no setting of the operator's own service remains."""
        url = self.settings.database_url
        assert url is not None
        private = {
            "data_dir": self.settings.data_dir,
            "work_dir": self.settings.work_dir,
            "database_url": url.get_secret_value(),
            "queue_url": url.get_secret_value(),
            "env": self.settings.env,
            "precompile": False,
        }
        return child_environment(**{**private, **overrides})

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"


def submission_body() -> str:
    return json.dumps(
        {"problem_id": PROBLEM, "language": LANGUAGE, "source_code": SOURCE},
        separators=(",", ":"),
    )


@asynccontextmanager
async def open_service(
    parent: Path | None, users: int, *, database_settings: Mapping[str, str] = {}
) -> AsyncIterator[BenchService]:
    with make_directory(parent) as made:
        data_dir = made / "data"
        async with run_cluster(data_dir, settings=database_settings) as cluster:
            await migrate(cluster.url)
            settings = load_settings(
                data_dir=data_dir,
                work_dir=made / "work",
                database_url=cluster.url,
                queue_url=cluster.url,
                env="bench",
            )
            async with open_pool(cluster.url, name="bench", max_size=4) as pool:
                tokens, admin, hog = await make_accounts(pool, users)
                await make_problem(settings, made / "sum", PROBLEM, PACKAGE)
                yield BenchService(made, settings, pool, tokens, admin, hog, cluster.pid)


@contextmanager
def make_directory(parent: Path | None) -> Iterator[Path]:
    # Not /tmp, which is in memory on many systems, so that commits would cost nothing.
    directory = parent or Path("/var/tmp")  # noqa: S108
    with tempfile.TemporaryDirectory(prefix="deemster-bench-", dir=directory) as made:
        yield Path(made)


async def make_accounts(pool: Pool, users: int) -> tuple[list[str], str, str]:
    async with transaction(pool) as connection:
        tokens = []
        names = [*(f"user{number}" for number in range(users)), ADMIN, HOG]
        for name in names:
            # Admins have no submission limits, and no higher priority.
            role = Role.ADMIN if name in {ADMIN, HOG} else Role.USER
            account = await accounts.add(connection, name, role)
            tokens.append(await accounts.add_token(connection, account.id, "bench"))
        return tokens[:-2], tokens[-2], tokens[-1]


async def make_problem(
    settings: Settings, package: Path, problem: ProblemId, files: Mapping[str, str]
) -> None:
    """`package` is a directory that is made for the import, and removed."""
    for name, text in files.items():
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (imported,) = await import_all(settings, [package], problem)
    if imported.error:
        raise Unavailable(
            f"The benchmark's own problem could not be imported: {imported.error}"
        )
    shutil.rmtree(package)
