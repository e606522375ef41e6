"""The ways in which one run in the sandbox can end."""

from enum import StrEnum


class RunStatus(StrEnum):
    OK = "ok"
    TIME_LIMIT = "time_limit"
    WALL_LIMIT = "wall_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    PROCESS_LIMIT = "process_limit"
    SIGNALLED = "signalled"
    NONZERO_EXIT = "nonzero_exit"
    FORBIDDEN_SYSCALL = "forbidden_syscall"
    CANCELLED = "cancelled"
    COMPILE_ERROR = "compile_error"
    INTERNAL_ERROR = "internal_error"
