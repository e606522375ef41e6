"""The messages to and from the runner (runner/src/wire.h), and the report of a run (J7)."""

import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from deemster.domain.errors import Refused
from deemster.domain.limits import Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.seccomp import name_syscall

MAGIC: Final = 0x314D4544
MAX_REQUEST: Final = 96 * 1024
MAX_STRINGS: Final = 2048
MAX_SIGNAL: Final = 31

INSTRUCTION: Final = struct.Struct("=II")
REQUEST: Final = struct.Struct("=4I6Q8I")
FLAGS: Final = struct.Struct("=I")
FLAGS_OFFSET: Final = 8
"""Of the flags in a request."""
REPORT: Final = struct.Struct("=IIiI3QIIiIQ32s")
EVENT: Final = struct.Struct("=IIIiII32s")
STAGE_REQUEST: Final = struct.Struct("=4I")
STAGE_ANSWER: Final = struct.Struct("=Ii")
MAX_STAGE_TEXT: Final = 2 * 4096


class Instruction(IntEnum):
    RUN = 1
    CANCEL = 2
    RELEASE = 3
    START = 4
    SIGNAL = 256
    ATTACH = 16
    ATTACH_DATA = 17


class Note(IntEnum):
    STAGE = 48


class StageKind(IntEnum):
    FILE = 1
    DIRECTORY = 2
    LINK = 3


class RunnerEventKind(IntEnum):
    SLOT = 32
    ATTACHED = 33
    REFUSED = 34
    FAULT = 35


class RequestFlag(IntEnum):
    CODE = 1
    COLLECT = 2
    ADDRESS_SPACE = 4
    SAME_CODE = 8
    DATA = 16
    SAME_DATA = 32
    STAGE = 64
    PAIRED = 128
    TERMINAL = 256
    WARM = 512
    AWAIT_EVENT = 1024
    TELL_END = 2048


class End(IntEnum):
    NONE = 0
    EXITED = 1
    SIGNALLED = 2
    CPU = 3
    WALL = 4
    MEMORY = 5
    PROCESSES = 6
    FORBIDDEN = 7
    CANCELLED = 8
    FAULT = 9


END_OF: Final = {int(end): end for end in End}


class RawReport(NamedTuple):
    end: End
    code: int
    arch: int
    cpu_ns: int
    wall_ns: int
    memory_bytes: int
    oom_kills: int
    process_refusals: int
    error: int
    ended_ns: int
    step: str


@dataclass(frozen=True, slots=True)
class RunnerEvent:
    event: RunnerEventKind
    slot: int
    error: int
    uid: int
    """With SLOT: the host's uid of the slot's programs."""
    pid: int
    """With SLOT: the slot's spawner."""
    step: str


def pack_instruction(instruction: Instruction, directory: Path | None = None) -> bytes:
    # Resolved, because the runner follows no absolute link.
    path = "" if directory is None else str(directory.resolve())
    return INSTRUCTION.pack(MAGIC, instruction) + path.encode()


def check_signal(number: int) -> None:
    if not 1 <= number <= MAX_SIGNAL:
        raise Refused(f"A program can be sent the signals 1 to {MAX_SIGNAL}, not {number}.")


def pack_signal(number: int) -> bytes:
    check_signal(number)
    return INSTRUCTION.pack(MAGIC, Instruction.SIGNAL + number)


def pack_request(
    argv: Sequence[str],
    environment: Mapping[str, str],
    limits: Limits,
    profile_index: int,
    flags: int = 0,
    view_index: int = 0,
) -> bytes:
    """`flags` is a sum of RequestFlag."""
    text = pack_strings(tuple(argv), tuple(environment.items()))
    head = REQUEST.pack(
        MAGIC,
        Instruction.RUN,
        flags,
        profile_index,
        limits.cpu_ms * 1_000_000,
        limits.wall_ms * 1_000_000,
        limits.memory_bytes,
        limits.stack_bytes,
        limits.file_bytes,
        limits.scratch_bytes,
        limits.scratch_inodes,
        limits.processes,
        limits.open_files,
        round(limits.cores * 1000),
        len(argv),
        len(environment),
        len(text),
        view_index,
    )
    return head + text


def with_flags(packet: bytes, flags: int) -> bytes:
    """The same request with more flags."""
    changed = bytearray(packet)
    (present,) = FLAGS.unpack_from(changed, FLAGS_OFFSET)
    FLAGS.pack_into(changed, FLAGS_OFFSET, present | flags)
    return bytes(changed)


@lru_cache(maxsize=64)  # the cases of a submission have the same
def pack_strings(argv: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> bytes:
    strings = [*argv, *(f"{name}={value}" for name, value in environment)]
    if not argv or len(argv) > MAX_STRINGS or len(environment) > MAX_STRINGS:
        raise Refused(
            f"A command may have 1 to {MAX_STRINGS} arguments; this one has {len(argv)}."
        )
    if not argv[0].startswith("/"):
        raise Refused(f"The path of a program must be absolute; {argv[0]!r} is not.")
    if any("\0" in text for text in strings):
        raise Refused("A command's arguments and environment can't contain a zero byte.")
    packed = b"".join(item.encode("utf-8", "surrogateescape") + b"\0" for item in strings)
    if REQUEST.size + len(packed) > MAX_REQUEST:
        raise Refused(
            f"A command's arguments and environment may take {MAX_REQUEST // 1024} KiB; "
            f"these take {(REQUEST.size + len(packed)) // 1024} KiB."
        )
    return packed


def pack_stage_request(kind: StageKind, mode: int, texts: Sequence[str]) -> bytes:
    if any("\0" in text for text in texts):
        raise Refused("The name of a staged file can't contain a zero byte.")
    text = b"".join(os.fsencode(each) + b"\0" for each in texts)
    if len(text) > MAX_STAGE_TEXT:
        raise Refused(f"The name of a staged file may have {MAX_STAGE_TEXT} bytes at most.")
    return STAGE_REQUEST.pack(MAGIC, kind, mode, len(text)) + text


def unpack_stage_answer(packet: bytes) -> int:
    """Returns the errno, or 0."""
    magic, error = STAGE_ANSWER.unpack(packet)
    if magic != MAGIC:
        raise ValueError("the packet is not an answer")
    return int(error)


def unpack_report(packet: bytes) -> RawReport:
    magic, end, code, arch, cpu, wall, memory, ooms, refusals, error, _, ended, step = (
        REPORT.unpack(packet)
    )
    if magic != MAGIC:
        raise ValueError("the packet is not a report")
    return RawReport(
        END_OF[end], code, arch, cpu, wall, memory, ooms, refusals, error, ended, _text(step)
    )


def unpack_note(packet: bytes) -> Note:
    magic, note = INSTRUCTION.unpack(packet)
    if magic != MAGIC:
        raise ValueError("the packet is not a note")
    return Note(note)


def unpack_event(packet: bytes) -> RunnerEvent:
    magic, event, slot, error, uid, pid, step = EVENT.unpack(packet)
    if magic != MAGIC:
        raise ValueError("the packet is not an event")
    return RunnerEvent(RunnerEventKind(event), slot, error, uid, pid, _text(step))


def _text(field: bytes) -> str:
    return field.rstrip(b"\0").decode()


@dataclass(frozen=True, slots=True)
class Report:
    status: RunStatus
    exit_code: int | None = None
    signal: int | None = None
    syscall: str | None = None
    cpu_ns: int = 0
    """CPU time of the whole process tree."""
    wall_ns: int = 0
    memory_bytes: int = 0
    """Peak memory of the whole process tree, including files in the scratch."""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    ended_ns: int = 0
    """On the clock of time.monotonic_ns()."""

    @property
    def started_ns(self) -> int:
        return self.ended_ns - self.wall_ns


RULES: tuple[tuple[Callable[[RawReport, Limits, bool], bool], RunStatus], ...] = (
    (lambda raw, _, __: raw.end is End.FAULT, RunStatus.INTERNAL_ERROR),
    (lambda raw, _, __: raw.end is End.FORBIDDEN, RunStatus.FORBIDDEN_SYSCALL),
    (lambda _, __, truncated: truncated, RunStatus.OUTPUT_LIMIT),
    (lambda raw, _, __: raw.end is End.CANCELLED, RunStatus.CANCELLED),
    (
        lambda raw, _, __: raw.end is End.PROCESSES or raw.process_refusals > 0,
        RunStatus.PROCESS_LIMIT,
    ),
    (lambda raw, _, __: raw.end is End.MEMORY or raw.oom_kills > 0, RunStatus.MEMORY_LIMIT),
    (lambda raw, limits, _: raw.memory_bytes >= limits.memory_bytes, RunStatus.MEMORY_LIMIT),
    (lambda raw, _, __: raw.end is End.CPU, RunStatus.TIME_LIMIT),
    (lambda raw, limits, _: raw.cpu_ns >= limits.cpu_ms * 1_000_000, RunStatus.TIME_LIMIT),
    (lambda raw, _, __: raw.end is End.WALL, RunStatus.WALL_LIMIT),
    (lambda raw, _, __: raw.end is End.SIGNALLED, RunStatus.SIGNALLED),
    (lambda raw, _, __: raw.code != 0, RunStatus.NONZERO_EXIT),
)
"""The first rule that applies to a report, the limits and whether output was truncated gives
the status."""


def status_of(raw: RawReport, limits: Limits, *, output_truncated: bool) -> RunStatus:
    for applies, status in RULES:
        if applies(raw, limits, output_truncated):
            return status
    return RunStatus.OK


def make_report(
    raw: RawReport,
    limits: Limits,
    stdout: tuple[bytes, bool],
    stderr: tuple[bytes, bool],
) -> Report:
    return Report(
        status=status_of(raw, limits, output_truncated=stdout[1] or stderr[1]),
        exit_code=raw.code if raw.end is End.EXITED else None,
        signal=raw.code if raw.end is End.SIGNALLED else None,
        syscall=name_syscall(raw.arch, raw.code) if raw.end is End.FORBIDDEN else None,
        cpu_ns=raw.cpu_ns,
        wall_ns=raw.wall_ns,
        memory_bytes=raw.memory_bytes,
        stdout=stdout[0],
        stderr=stderr[0],
        stdout_truncated=stdout[1],
        stderr_truncated=stderr[1],
        ended_ns=raw.ended_ns,
    )
