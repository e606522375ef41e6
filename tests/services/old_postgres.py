"""A Postgres of another version than the embedded one, if this machine has one."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.waiting import PATIENCE_S

OTHER_BINARIES = "TEST_POSTGRES_BINARIES"
"""Variable with a directory of binaries to test with, such as of version 14."""
DATABASE = "restored"
OWNER = "plain"
"""The database's owner, which is no superuser."""


def other_binaries() -> list[Path]:
    """Directories with the programs of Debian's versions, and of the one in the variable."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if OTHER_BINARIES in os.environ:
        found.append(Path(os.environ[OTHER_BINARIES]))
    return [each for each in found if (each / "initdb").exists()]


@contextmanager
def other_server(binaries: Path) -> Iterator[str]:
    """Yields the URL of an empty database on a fresh server of that version."""
    with fresh_server(binaries) as socket:
        with psycopg.connect(address(socket, "postgres"), autocommit=True) as link:
            link.execute(f"CREATE ROLE {OWNER} LOGIN")
            link.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
        yield address(socket, OWNER, DATABASE)


@contextmanager
def fresh_server(
    binaries: Path, options: Sequence[str] = (), access: str = ""
) -> Iterator[str]:
    """Yields the directory of the socket, on which everybody is whom they say.

    `options` are settings of the server, and `access` is a line for its pg_hba.conf.
    """
    as_other: list[str] = []
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        if os.geteuid() == 0:  # Postgres refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(directory, nobody.pw_uid, nobody.pw_gid)
            as_other = [
                *("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}"),
                "--clear-groups",
            ]
        data, socket = directory / "data", str(directory)
        made = [*as_other, str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A"]
        subprocess.run([*made, "trust", "-N", "-E", "UTF8", "--locale=C"], check=True, cwd="/")
        control = [*as_other, str(binaries / "pg_ctl"), "-D", str(data), "-w"]
        rules = data / "pg_hba.conf"
        rules.write_text(f"{access}\n{rules.read_text()}")  # the first that matches counts
        ours = ("listen_addresses=", f"unix_socket_directories={socket}", "fsync=off")
        given = " ".join(f"-c {each}" for each in (*ours, *options))
        log = ["-l", str(directory / "log"), "-t", str(int(PATIENCE_S))]
        subprocess.run([*control, *log, "-o", given, "start"], check=True, cwd="/")
        try:
            yield socket
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd="/")
    finally:
        shutil.rmtree(directory)


def address(socket: str, user: str, database: str = "postgres") -> str:
    return f"postgresql://{user}@/{database}?host={socket}"
