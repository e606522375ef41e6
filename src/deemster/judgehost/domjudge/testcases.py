"""Fetches test cases from a DOMjudge server, checks their hashes and keeps them."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused
from deemster.judgehost.domjudge.executables import file_name, md5
from deemster.judgehost.domjudge.file_cache import FileCache
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError
from deemster.judgehost.domjudge.server import DomServer, LoginRefused, decoded
from deemster.programs.workspace import make_directory, write_files

INPUT, ANSWER = "testdata.in", "testdata.out"
SERVED_INPUT, SERVED_ANSWER = "input", "output"
"""The names that the server gives to the two files."""
HASH: Final = re.compile(r"[0-9a-f]{32}_[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class TestcaseFiles:
    """Two directories, because a contestant's program must never see the answer."""

    __test__ = False

    for_program: Path
    """Directory with only the input."""
    for_jury: Path
    """Directory with the input and the answer."""


class Testcases:
    __test__ = False

    def __init__(self, server: DomServer, cache: FileCache) -> None:
        self._server = server
        self._cache = cache

    @asynccontextmanager
    async def opened(self, testcase: str, digest: str | None) -> AsyncIterator[TestcaseFiles]:
        """Raises InternalError if the server does not have the case, or another one."""
        content = None
        if digest is None:
            content = await self._fetch(testcase)
            digest = hash_of(content)

        async def fill(directory: Path) -> None:
            found = content if content is not None else await self._fetch(testcase)
            if HASH.fullmatch(digest) and hash_of(found) != digest:
                raise fault_of(
                    testcase, f"It has the hash {hash_of(found)}, but the task says {digest}."
                )
            await asyncio.to_thread(write_testcase, directory, found)

        async with self._cache.opened(f"testcase-{file_name(digest)}", fill) as directory:
            yield TestcaseFiles(directory / "program", directory / "jury")

    async def _fetch(self, testcase: str) -> Mapping[str, bytes]:
        try:
            content = decoded(await self._server.files("testcase", testcase))
        except LoginRefused:
            raise
        except Refused as fault:
            raise fault_of(testcase, str(fault)) from fault
        if not {SERVED_INPUT, SERVED_ANSWER} <= content.keys():
            raise fault_of(testcase, "The server sent no input or no output.")
        return content


def write_testcase(directory: Path, content: Mapping[str, bytes]) -> None:
    program = make_directory(directory / "program")
    jury = make_directory(directory / "jury")
    write_files(program, {INPUT: content[SERVED_INPUT]})
    write_files(jury, {ANSWER: content[SERVED_ANSWER]})
    os.link(program / INPUT, jury / INPUT)


def hash_of(content: Mapping[str, bytes]) -> str:
    return f"{md5(content[SERVED_INPUT])}_{md5(content[SERVED_ANSWER])}"


def fault_of(testcase: str, reason: str) -> InternalError:
    description = f"Download of case {testcase} failed, check your problem integrity."
    return InternalError(description, Disabled.testcase(testcase), reason)
