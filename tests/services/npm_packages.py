"""Packages from npm for tests, installed once from the lock in npm/, which has hashes."""

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.services.install_once import install_once

LOCK = Path(__file__).with_name("npm")
INSTALL_S = 300
NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT")


def npm_packages() -> Path:
    """The directory with node_modules. Without npm, or a network, the test is skipped."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed: ./dev test installs it if it may")
    return install_once("npm", LOCK / "package-lock.json", partial(install, npm))


def install(npm: str, target: Path) -> None:
    shutil.copytree(LOCK, target)
    argv = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    done = subprocess.run(
        argv,
        cwd=target,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode and NO_NETWORK.search(done.stderr):
        pytest.skip("npm's packages are not installed, and there is no network")
    assert done.returncode == 0, done.stderr
