"""What one run may use, in plain units."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one run; the defaults are those of a judged submission (X5)."""

    cpu_ms: int = 2_000
    wall_ms: int = 10_000
    memory_bytes: int = 256 * MIB
    processes: int = 64
    output_bytes: int = 64 * MIB
    """Most bytes taken from each of stdout and stderr before the run is ended."""
    file_bytes: int = 64 * MIB
    """Largest single file that the program may write."""
    scratch_bytes: int = 64 * MIB
    scratch_inodes: int = 4_096
    open_files: int = 256
    stack_bytes: int = 0
    """0 leaves the stack to the memory limit."""
    cores: float = 1.0
    """CPU quota in cores; 0 sets none."""
