"""Reports a submitted program that the kernel can't execute as a failed run (X12)."""

import errno
import os
from typing import Final

from deemster.domain.run_status import RunStatus
from deemster.sandbox.command import CODE_DIR, Command
from deemster.sandbox.slot import RunIO
from deemster.sandbox.slot_run import SlotResult
from deemster.sandbox.wire import End, RawReport, Report

EXEC_STEP: Final = "program-exec"
CAUSED_BY_FILE: Final = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.EIO,
        errno.EISDIR,
        errno.ELIBBAD,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOEXEC,
        errno.ENOTDIR,
        errno.EPERM,
    }
)
"""What execve answers to a file that is no program, or whose interpreter is missing or none."""
NOT_FOUND_CODE: Final = 127
NOT_EXECUTABLE_CODE: Final = 126
"""The exit codes by which a shell reports the same."""
CANNOT_START: Final = b"The program can't be started: "
"""Begins what such a program has on stderr."""


def is_fault_of_program(raw: RawReport, command: Command) -> bool:
    """The file at /code is what the submission made of it; all other files are the judge's."""
    if raw.end is not End.FAULT or raw.step != EXEC_STEP:
        return False
    return command.argv[0].startswith(f"{CODE_DIR}/") and raw.error in CAUSED_BY_FILE


def report_failed_start(result: SlotResult, io: RunIO) -> Report:
    """The reason goes to the sink for stderr; without a sink it is in the report."""
    error = result.raw.error
    reason = CANNOT_START + f"{os.strerror(error)}.\n".encode()
    if callable(io.stderr):
        io.stderr(reason)
    return Report(
        RunStatus.NONZERO_EXIT,
        exit_code=NOT_FOUND_CODE if error == errno.ENOENT else NOT_EXECUTABLE_CODE,
        stderr=b"" if callable(io.stderr) else reason,
        ended_ns=result.raw.ended_ns,
    )
