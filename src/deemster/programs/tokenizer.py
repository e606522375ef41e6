"""Splits submitted programs into tokens, in a process with limits (token_process.py)."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import ClassVar, Final, Self

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.limits import MIB
from deemster.programs.token_process import FRAME, KINDS, OUT_OF_MEMORY, TOO_MANY_TOKENS
from deemster.programs.tokens import Token

CPU_S: Final = 2.0
WALL_S: Final = 120.0
"""Long, because the process yields to all others: the CPU time is what ends slow sources."""
START_S: Final = 60.0
ENDING_S: Final = 5.0
MEMORY_BYTES: Final = 512 * MIB
MAX_CHARACTERS: Final = MIB
MAX_TOKENS: Final = 100_000
"""So that the caller's memory is bounded, too."""


class TokenizeFailed(Refused):
    """The source cannot be split into tokens within the limits."""

    code: ClassVar[str] = "tokenize_failed"


class Tokenizer:
    """Splits sources in a process of its own, which is replaced when a limit has ended it.

    The process has no environment. It ends when its parent ends: its input is closed then.
    """

    def __init__(
        self,
        *,
        cpu_s: float = CPU_S,
        wall_s: float = WALL_S,
        memory_bytes: int = MEMORY_BYTES,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._cpu_s = cpu_s
        self._wall_s = wall_s
        self._memory_bytes = memory_bytes
        self._most_tokens = max_tokens
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    @property
    def process_id(self) -> int | None:
        return self._process.pid if self._process else None

    async def tokens(self, lexer: str, source: str) -> list[Token]:
        if len(source) > MAX_CHARACTERS:
            raise TokenizeFailed(
                f"The source has {len(source)} characters, more than {MAX_CHARACTERS}: it "
                "cannot be split into tokens."
            )
        async with self._turn:
            process = self._process or await self._start()
            try:
                async with asyncio.timeout(self._wall_s):
                    answer = await exchange(process, [lexer, source])
            except TimeoutError:
                await self._end()
                raise TokenizeFailed(
                    f"Splitting the source into tokens took more than {self._wall_s:g} s."
                ) from None
            except (asyncio.IncompleteReadError, OSError):
                code = await self._end(grace_s=ENDING_S)
                raise TokenizeFailed(self._explain(code)) from None
            except BaseException:
                # The answer to this request must not be taken for that to the next.
                await self._end()
                raise
        # In a thread: a large answer must not hold up the caller's other tasks.
        return await asyncio.to_thread(rebuild, source, answer)

    async def _start(self) -> Process:
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-m", "deemster.programs.token_process"),
                *(str(self._cpu_s), str(self._memory_bytes), str(self._most_tokens)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except OSError as fault:
            raise Unavailable(f"The tokenizer process did not start: {fault}.") from fault
        self._process = process
        try:
            assert process.stdout is not None
            async with asyncio.timeout(START_S):
                await process.stdout.readexactly(1)
        except (TimeoutError, asyncio.IncompleteReadError):
            await self._end()
            raise Unavailable("The tokenizer process did not start: try again.") from None
        except BaseException:
            await self._end()
            raise
        return process

    async def _end(self, *, grace_s: float = 0.0) -> int:
        """Kills the process unless it ends in time; returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        try:
            async with asyncio.timeout(grace_s):
                return await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            return await process.wait()

    def _explain(self, code: int) -> str:
        if code == -signal.SIGPROF:
            return f"Splitting the source into tokens needs over {self._cpu_s:g} s of CPU time."
        if code == OUT_OF_MEMORY:
            memory_mb = self._memory_bytes // MIB
            return f"Splitting the source into tokens needs over {memory_mb} MB of memory."
        if code == TOO_MANY_TOKENS:
            return f"The source has more than {self._most_tokens} tokens."
        return f"The tokenizer process failed (exit code {code})."


async def exchange(process: Process, request: object) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    content = json.dumps(request).encode()
    process.stdin.write(FRAME.pack(len(content)) + content)
    await process.stdin.drain()
    (length,) = FRAME.unpack(await process.stdout.readexactly(FRAME.size))
    return await process.stdout.readexactly(length)


def rebuild(source: str, answer: bytes) -> list[Token]:
    tokens = []
    offset = 0
    for kind, length in zip(*json.loads(answer), strict=True):
        tokens.append(Token(KINDS[kind], source[offset : offset + length], offset))
        offset += length
    return tokens
