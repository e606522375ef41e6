"""A process whose name a test chooses, as any user of the machine can."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NO_UTF8 = b"\xff\xfe) ("
PROGRAM = """
import sys
with open("/proc/self/comm", "wb") as name:
    name.write(bytes.fromhex(sys.argv[1]))
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def process_named(name: bytes) -> Iterator[int]:
    """Gives the pid."""
    command = [sys.executable, "-ISc", PROGRAM, name.hex()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.stdin.close()
