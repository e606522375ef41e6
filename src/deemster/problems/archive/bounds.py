"""Bounds on the size, the file count, the depth and the compression ratio of packages."""

from dataclasses import dataclass

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB

RATIO_FROM_BYTES = 64 * MIB
"""Smaller packages have no bound on the ratio: repetitive tests compress very well."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Checked against what is really read, not against sizes that the archive declares."""

    total_bytes: int = 4096 * MIB
    files: int = 20_000
    """Directories and links count as files."""
    depth: int = 16
    ratio: int = 250
    """Most unpacked bytes for each byte of the archive."""

    def check_bytes(self, unpacked: int, packed: int | None) -> None:
        """`packed` is the size of the archive; None: the package is a directory."""
        if unpacked > self.total_bytes:
            raise Refused(
                f"The package has more than the allowed {self.total_bytes // MIB:,} MB: raise "
                "DEEMSTER_PACKAGE_MB, or leave out what isn't needed."
            )
        if packed is None or unpacked <= RATIO_FROM_BYTES:
            return
        if unpacked > self.ratio * packed:
            raise Refused(
                f"The archive unpacks to more than {self.ratio} times its size, like a zip "
                "bomb: if you trust it, unpack it and import the directory."
            )

    def check_files(self, count: int) -> None:
        if count > self.files:
            raise Refused(
                f"The package has more than {self.files:,} files and directories, which is the "
                "limit: raise DEEMSTER_PACKAGE_FILES, or leave some out."
            )

    def check_depth(self, name: str) -> None:
        if name.count("/") + 1 > self.depth:
            raise Refused(
                f"The package has a file more than {self.depth} directories deep "
                f"({name[:100]!r}…): use fewer levels."
            )
