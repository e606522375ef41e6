"""A program for test_privileges.py: gives up root, uses boxes, and prints what it saw."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from deemster.domain.errors import Unavailable
from deemster.privileges.drop import claim_process
from deemster.sandbox.boxes import CODE, Boxes
from deemster.sandbox.command import Command, Layers
from deemster.sandbox.cores import children_of
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.staging import Scratch
from deemster.sandbox.wire import Report
from deemster.settings import load_settings
from deemster.wiring.privileges import enter_service
from deemster.wiring.process import end_with_launcher, signals_handled

ROOT_ONLY = Path(sys.argv[1])
"""A directory that only root may enter."""


class Unresolved(type(Path())):  # type: ignore[misc]
    """A path that is sent to the runner as it is."""

    def resolve(self, strict: bool = False) -> "Unresolved":
        del strict
        return self


def shell(script: str, code: Path | None = None) -> Command:
    return Command(("/bin/sh", "-c", script), profile="compiler", code=code)


class Root:
    """A process that stays root and kills others for this one."""

    def __init__(self) -> None:
        reader, self._wishes = os.pipe()
        if os.fork() == 0:
            os.close(self._wishes)
            with os.fdopen(reader) as wishes:
                for line in wishes:
                    os.kill(int(line), signal.SIGKILL)
            os._exit(0)
        os.close(reader)

    def kill(self, process: int) -> None:
        os.write(self._wishes, f"{process}\n".encode())


async def main() -> None:
    root = Root()
    claim_process()
    entered = enter_service(load_settings(), runner=True)
    assert entered.weakness is None, entered.weakness
    data = entered.settings.data_dir
    code = data / "code"
    code.mkdir(mode=0o755, exist_ok=True)
    (code / "file").write_text("mine\n")
    for name, target in (("out", ROOT_ONLY), ("up", Path("../.."))):
        (data / name).unlink(missing_ok=True)
        (data / name).symlink_to(target)
    seen: dict[str, object] = {"uid": os.getresuid(), "groups": os.getgroups()}
    async with Boxes.open(slots=2) as boxes:
        seen["code"] = (await boxes.run(shell("cat /code/file", code=code))).stdout.decode()
        seen["staged"] = await staged_and_collected(boxes)
        seen["terminal"] = await typed(boxes)
        seen["refused"] = [
            await refusal(boxes, path)
            for path in (ROOT_ONLY, data / "out", data / "up", Path("/etc"), Path("/"))
        ]
        await asyncio.to_thread(boxes.move_to, {0})
        script = shell("grep Cpus_allowed_list /proc/self/status")
        seen["cores"] = (await boxes.run(script)).stdout.split()[-1].decode()
        old = boxes.runner_pid
        boxes._pool.runner.kill()
        seen["restarted"] = (await run_again(boxes, old)).stdout.decode()
        seen["without launcher"] = await without_launcher(boxes, root)
    try:
        async with Boxes.open(layers=Layers.ALL & ~Layers.SECCOMP):
            pass
    except SandboxFault as fault:
        seen["fewer layers"] = str(fault)
    seen["end"] = await ending(root)
    print(json.dumps(seen))


def launchers() -> tuple[int, int]:
    """The launcher, and its child that serves."""
    [launcher] = [
        child
        for child in children_of(os.getpid())
        if b"deemster.sandbox.launcher" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    [serving] = [
        child
        for child in children_of(launcher)
        if b"deemster.sandbox.launcher" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return launcher, serving


async def without_launcher(boxes: Boxes, root: Root) -> list[str]:
    """What becomes of a run during which the launcher is killed, and of a later run."""
    began = asyncio.Event()
    command = shell("echo x; sleep 1000")
    run = asyncio.create_task(boxes.run(command, stdout=lambda _: began.set()))
    await began.wait()
    old = boxes.runner_pid
    root.kill(launchers()[1])
    try:
        await run
    except SandboxFault as fault:
        return [fault.code, (await run_again(boxes, old)).stdout.decode()]
    return ["a report"]


async def ending(root: Root) -> str:
    """How a role ends when nobody can start runners any more."""

    async def work() -> None:
        ended = asyncio.Event()
        with signals_handled(lambda _: ended.set()):
            for process in launchers():
                root.kill(process)
            await ended.wait()

    try:
        await end_with_launcher(work())
    except Unavailable as fault:
        return str(fault)
    return "as always"


async def staged_and_collected(boxes: Boxes) -> str:
    found: list[str] = []

    def stage(scratch: Scratch) -> None:
        with scratch.new_file("input", 0o600) as file:
            os.write(file, b"staged")

    def collect(scratch: int) -> None:
        with os.fdopen(os.open("output", os.O_RDONLY, dir_fd=scratch)) as file:
            found.append(file.read())

    await boxes.run(shell("mv input output; chmod 644 output"), stage=stage, collect=collect)
    return found[0]


async def typed(boxes: Boxes) -> str:
    """The program opens its terminal by name, which needs the right owner."""
    async with boxes.open_terminal(shell("read line < /dev/stdin; echo got $line")) as run:
        await run.write(b"hello\n")
        chunks = []
        while chunk := await run.read():
            chunks.append(chunk)
    return b"".join(chunks).decode()


async def refusal(boxes: Boxes, path: Path) -> str:
    try:
        os.close(await boxes._pool.attach(Unresolved(path), CODE.instruction))
    except SandboxFault as fault:
        return str(fault)
    return "attached"


async def run_again(boxes: Boxes, old: int) -> Report:
    """In a box of another runner than the old one."""
    while True:
        with suppress(SandboxFault):
            if boxes.runner_pid != old:
                return await boxes.run(shell("echo again"))
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main())
