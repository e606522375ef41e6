"""How much a package may hold, and what is said of one that holds more."""

from dataclasses import dataclass

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB

RATIO_FROM_BYTES = 64 * MIB
"""Small files may be packed as tightly as they like: tests of equal numbers are."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """All are counted while a package is read: what it says of itself is only a promise."""

    total_bytes: int = 4096 * MIB
    files: int = 20_000
    """Directories and links count too."""
    depth: int = 16
    ratio: int = 250
    """Bytes that may come out of one byte of an archive."""

    def check_bytes(self, unpacked: int, packed: int | None) -> None:
        """`packed` is the size of the archive; None where there is none."""
        if unpacked > self.total_bytes:
            raise Refused(
                f"The package holds more than {self.total_bytes // MIB:,} MB, which is the "
                "most that is taken: raise DEEMSTER_PACKAGE_MB, or leave out what isn't needed."
            )
        if packed is None or unpacked <= RATIO_FROM_BYTES:
            return
        if unpacked > self.ratio * packed:
            raise Refused(
                f"The archive unpacks to more than {self.ratio} times its size, as bombs do: "
                "if it is sound, unpack it yourself and give the directory."
            )

    def check_files(self, count: int) -> None:
        if count > self.files:
            raise Refused(
                f"The package holds more than {self.files:,} files and directories, which is "
                "the most that is taken: raise DEEMSTER_PACKAGE_FILES, or leave some out."
            )

    def check_depth(self, name: str) -> None:
        if name.count("/") + 1 > self.depth:
            raise Refused(
                f"The package has a file more than {self.depth} directories deep "
                f"({name[:100]!r}…): lay it out flatter."
            )
