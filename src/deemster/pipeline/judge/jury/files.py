"""What goes into a jury program's scratch before it runs, and what is taken out afterwards."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from deemster.pipeline.judge.collect import WRITE_FLAGS, OutputCollector, write_all
from deemster.pipeline.judge.jury.protocols import FEEDBACK

TEXT_BYTES = 64 * 1024
"""Most bytes of a message that is kept."""
CHUNK_BYTES = 1 << 20
NEXT_INPUT = "nextpass.in"


@dataclass(slots=True)
class CheckerFiles:
    """One run of a jury program; `target` is an empty directory of ours for what it leaves."""

    target: Path
    earlier: Path | None = None
    """The feedback of the pass before, which it finds again."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Copied into its working directory."""
    links: Mapping[str, str] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    """Files of its working directory to be taken beside the feedback."""
    problem: str = ""

    def stage(self, scratch_fd: int) -> None:
        feedback_fd = make_directory(scratch_fd, FEEDBACK)
        try:
            if self.earlier is not None:
                copy_tree(self.earlier, feedback_fd)
        finally:
            os.close(feedback_fd)
        for name, path in self.files.items():
            copy_file(path, scratch_fd, name)
        for name, target in self.links.items():
            os.symlink(target, name, dir_fd=scratch_fd)

    def collect(self, scratch_fd: int) -> None:
        for name in (FEEDBACK, *self.wanted):
            harvest = OutputCollector(name, self.target)
            harvest(scratch_fd)
            if harvest.problem and name == FEEDBACK:
                self.problem = harvest.problem

    def texts(self) -> dict[str, str]:
        """The small files of the feedback, cut where they are too long."""
        found = {}
        for path in self.target.iterdir():
            if path.is_file() and path.name not in {NEXT_INPUT, *self.wanted}:
                with path.open("rb") as opened:
                    found[path.name] = opened.read(TEXT_BYTES).decode(errors="replace")
        return found

    def taken(self, name: str) -> Path | None:
        path = self.target / name
        return path if path.is_file() else None


def make_directory(parent_fd: int, name: str) -> int:
    """Writable for whoever the box's user is; a descriptor of it."""
    os.mkdir(name, dir_fd=parent_fd)
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent_fd)
    os.fchmod(descriptor, 0o777)
    return descriptor


def copy_file(path: Path, target_fd: int, name: str) -> None:
    with path.open("rb") as source:
        copy_fd = os.open(name, WRITE_FLAGS, dir_fd=target_fd)
        try:
            os.fchmod(copy_fd, 0o777 if os.access(path, os.X_OK) else 0o666)
            while chunk := source.read(CHUNK_BYTES):
                write_all(copy_fd, chunk)
        finally:
            os.close(copy_fd)


def copy_tree(directory: Path, target_fd: int) -> None:
    for path in directory.iterdir():
        if path.is_dir():
            inner_fd = make_directory(target_fd, path.name)
            try:
                copy_tree(path, inner_fd)
            finally:
                os.close(inner_fd)
        elif path.name != NEXT_INPUT:
            copy_file(path, target_fd, path.name)


def link_missing(scratch_fd: int, links: Mapping[str, str]) -> None:
    """Links in a working directory; what is there already stays."""
    for name, target in links.items():
        with suppress(FileExistsError):
            os.symlink(target, name, dir_fd=scratch_fd)


class StagedFiles:
    """Files for a contestant's working directory, by relative path."""

    def __init__(self, files: Mapping[str, Path | bytes]) -> None:
        self._files = files

    def __call__(self, scratch_fd: int) -> None:
        for name, content in self._files.items():
            parent_fd = os.dup(scratch_fd)
            try:
                *directories, last = name.split("/")
                for directory in directories:
                    parent_fd = enter(parent_fd, directory)
                put(content, parent_fd, last)
            finally:
                os.close(parent_fd)


def put(content: Path | bytes, parent_fd: int, name: str) -> None:
    if isinstance(content, Path):
        copy_file(content, parent_fd, name)
        return
    descriptor = os.open(name, WRITE_FLAGS, dir_fd=parent_fd)
    try:
        os.fchmod(descriptor, 0o666)
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def enter(parent_fd: int, name: str) -> int:
    """Goes one directory down, making it where it is not there; closes the one above."""
    try:
        return make_directory(parent_fd, name)
    except FileExistsError:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)
