"""Runs programs on the host, installs missing ones, and manages the cache directory."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / ".cache" / "vm"


def prepare_cache() -> None:
    """Makes the cache directory, which belongs to the owner of the repository."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        owner = REPOSITORY.stat()
        for folder in (CACHE.parent, CACHE):
            os.chown(folder, owner.st_uid, owner.st_gid)


class VmError(Exception):
    """The machine can't be built or run; the message says what to do."""


class TimeLimitError(Exception):
    """The time limit of the whole run was reached."""


def say(text: str) -> None:
    sys.stderr.write(f"vm: {text}\n")
    sys.stderr.flush()


def run(*command: str | Path, cwd: Path | None = None, stdin: str | None = None) -> str:
    """Runs a program to its end and returns what it printed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=cwd, input=stdin, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as missing:
        raise VmError(f"{words[0]} is not installed") from missing
    if done.returncode != 0:
        last_lines = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise VmError(f"{' '.join(words[:4])} … failed ({done.returncode}):\n{last_lines}")
    return done.stdout


def require(packages: dict[str, str]) -> None:
    """Installs the Debian package of each missing program (program → package)."""
    missing = {package for program, package in packages.items() if not shutil.which(program)}
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *sorted(missing)]
    if os.geteuid() != 0:
        raise VmError(f"first install the missing packages: sudo {' '.join(command)}")
    say(f"installing {', '.join(sorted(missing))}")
    run("apt-get", "update")
    run("env", "DEBIAN_FRONTEND=noninteractive", *command)


def cache_key(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:12]


def discard_others(kept: Path, pattern: str) -> None:
    """Removes older versions of a cached file or directory."""
    for path in CACHE.glob(pattern):
        if path == kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
