"""The host paths that are mounted read-only into every box."""

from pathlib import Path

from deemster.sandbox.command import Bind

DIRECTORIES = (
    *("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec"),
    *("/usr/include", "/usr/share", "/usr/local/bin", "/usr/local/lib", "/usr/local/include"),
    *("/etc/alternatives", "/etc/ld.so.cache"),
)
TOP = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, directories on the rest."""


def base_binds() -> list[Bind]:
    paths = [*DIRECTORIES, *(path for path in TOP if not Path(path).is_symlink())]
    return [Bind(Path(path), path) for path in paths if Path(path).exists()]


def base_links() -> list[tuple[str, str]]:
    """Returns the target and the path of each symbolic link."""
    return [(str(Path(path).readlink()), path) for path in TOP if Path(path).is_symlink()]


def merge_binds(more: tuple[Bind, ...]) -> list[Bind]:
    """Adds binds to the base, except for paths inside a directory that is bound already."""
    merged = base_binds()
    for bind in more:
        inside = any(
            bind.target == known.target or bind.target.startswith(known.target + "/")
            for known in merged
            if known.source == Path(known.target)
        )
        if not (inside and bind.source == Path(bind.target)):
            merged.append(bind)
    return merged
