"""The resource limits of one run in the sandbox."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults are those of a judged submission (X5)."""

    cpu_ms: int = 2_000
    wall_ms: int = 10_000
    memory_bytes: int = 256 * MIB
    processes: int = 64
    output_bytes: int = 64 * MIB
    """Most bytes that the program may write to each of stdout and stderr."""
    file_bytes: int = 64 * MIB
    """Size of the largest file that the program may write."""
    scratch_bytes: int = 64 * MIB
    scratch_inodes: int = 4_096
    open_files: int = 256
    stack_bytes: int = 0
    """0: only the memory limit bounds the stack."""
    cores: float = 1.0
    """CPU quota in cores; 0: none."""
