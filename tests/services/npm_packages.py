"""Packages from npm for tests, installed once from the lock in npm/, which has hashes."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deemster.locks import locked

LOCK = Path(__file__).with_name("npm")
INSTALL_S = 300
NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT")


def npm_packages() -> Path:
    """The directory with node_modules, installed if it isn't there; whoever comes second waits.

    Without npm, or without a network, the test is skipped.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed: ./dev test installs it if it may")
    digest = hashlib.sha256((LOCK / "package-lock.json").read_bytes()).hexdigest()[:16]
    place = Path(sys.prefix) / "services"
    place.mkdir(exist_ok=True)
    target = place / f"npm-{digest}"
    with locked(place, fcntl.LOCK_EX):
        if not target.exists():
            install(npm, target)
    return target


def install(npm: str, target: Path) -> None:
    half_made = target.with_suffix(".new")
    shutil.rmtree(half_made, ignore_errors=True)
    shutil.copytree(LOCK, half_made)
    argv = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    done = subprocess.run(
        argv,
        cwd=half_made,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode and NO_NETWORK.search(done.stderr):
        pytest.skip("npm's packages are not installed, and there is no network")
    assert done.returncode == 0, done.stderr
    half_made.rename(target)
