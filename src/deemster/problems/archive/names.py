"""Which names a file of a package may have, and how they are spelt here."""

from deemster.domain.errors import Refused

LEFTOVERS = frozenset(
    {
        "__MACOSX",
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
    }
)
"""What tools leave behind; never a part of a problem, at any depth."""
MAX_PART_BYTES = 255
MAX_NAME_BYTES = 1024
SHOWN = 100


def clean_name(raw: str) -> str:
    """Parts with `/` between them; empty for the package's own directory."""
    if raw.startswith("/"):
        raise Refused(f"The package names a file from the root, {shown(raw)}: pack it again.")
    parts = [part for part in raw.split("/") if part not in {"", "."}]
    for part in parts:
        check_part(part, raw)
    name = "/".join(parts)
    if len(name.encode()) > MAX_NAME_BYTES:
        raise Refused(f"The package has a name that is too long, {shown(raw)}: shorten it.")
    return name


def check_part(part: str, whole: str) -> None:
    if part == "..":
        raise Refused(f"The package names a file outside itself, {shown(whole)}: repack it.")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in part):
        raise Refused(f"The package has a name with control letters, {shown(whole)}.")
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        raise Refused(
            f"The package has a name that isn't UTF-8, {shown(whole)}: rename the file."
        ) from None
    if size > MAX_PART_BYTES:
        raise Refused(f"The package has a name that is too long, {shown(whole)}: shorten it.")


def is_leftover(name: str) -> bool:
    return not LEFTOVERS.isdisjoint(name.split("/"))


def shown(name: str) -> str:
    """Safe to print, and not endless."""
    return ascii(name[:SHOWN]) + ("…" if len(name) > SHOWN else "")
