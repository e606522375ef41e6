"""Replaces links inside a package by copies of their targets."""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive.names import shown
from deemster.problems.archive.writer import CHUNK_BYTES, PackageWriter

MAX_HOPS = 40
"""As many as Linux follows."""
MAX_STEPS = 2_000_000
"""Parts of paths that all links of a package may lead through: a second of work."""


def resolve_links(writer: PackageWriter) -> None:
    """Each copy counts towards the bounds."""
    if writer.links:
        LinkResolver(writer).resolve_all()


class LinkResolver:
    def __init__(self, writer: PackageWriter) -> None:
        self._intake = writer
        self._links = dict(writer.links)
        self._files = dict(writer.files)
        self._directories = set(writer.directories)
        self._targets: dict[str, str] = {}
        self._steps = 0
        self._names = sorted([*self._links, *self._files, *self._directories])

    def resolve_all(self) -> None:
        for name in self._links:
            del self._intake.links[name]
            self._place(name, self._follow(name), ())

    def _follow(self, name: str) -> str:
        """The final target of a link, through all other links on its path."""
        if name not in self._targets:
            self._targets[name] = self._walk(name)
        return self._targets[name]

    def _walk(self, name: str) -> str:
        todo = name.split("/")[::-1]
        done: list[str] = []
        hops = 0
        while todo:
            part = todo.pop()
            self._steps += 1 + len(done)  # looking up a path takes as long as the path is
            if self._steps > MAX_STEPS:
                raise Refused("The links of the package lead through too many others.")
            if part == ".." and not done:
                raise Refused(f"The link {shown(name)} leads outside of the package.")
            if part == "..":
                done.pop()
            elif part not in {"", "."}:
                done.append(part)
                link = self._links.get("/".join(done))
                if link is not None:
                    hops += 1
                    done = [] if link.from_root else done[:-1]
                    todo.extend(link.target.split("/")[::-1])
            if hops > MAX_HOPS:
                raise Refused(f"The link {shown(name)} is part of a circle: remove it.")
        return "/".join(done)

    def _place(self, name: str, real: str, inside: tuple[str, ...]) -> None:
        if real in self._files:
            self._intake.write(
                name, chunks_of(self._intake.target / real), executable=self._files[real]
            )
        elif real in self._directories or not real:
            self._place_directory(name, real, inside)
        else:
            raise Refused(f"The link {shown(name)} leads to nothing ({shown(real)}).")

    def _place_directory(self, name: str, real: str, inside: tuple[str, ...]) -> None:
        within = not real or f"{name}/".startswith(f"{real}/")
        if within or real in inside:
            raise Refused(f"The link {shown(name)} leads to a directory that contains it.")
        self._intake.make_directories(name)
        for child in self._below(real):
            copy = name + child[len(real) :]
            if child in self._directories:
                self._intake.make_directories(copy)
                continue
            self._intake.count_entry(copy)
            behind = self._follow(child) if child in self._links else child
            self._place(copy, behind, (*inside, real))

    def _below(self, directory: str) -> Iterator[str]:
        prefix = f"{directory}/"
        for at in range(bisect_left(self._names, prefix), len(self._names)):
            if not self._names[at].startswith(prefix):
                return
            yield self._names[at]


def chunks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
