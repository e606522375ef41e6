"""Compiles programs of the next submissions while all slots judge, in boxes of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.language import Language
from deemster.domain.limits import COMPILE_S
from deemster.domain.source import Source
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.programs.build.cached_compiler import is_late
from deemster.programs.build.compile import Build
from deemster.sandbox.boxes import Boxes

log = structlog.get_logger()

FindBoxes = Callable[[], Awaitable[Boxes | None]]
"""Returns the boxes for compilers; None: no core is free for them, or they are not open yet."""


class CompileAhead:
    """Its slots are those of compilers only: a program that is judged never runs in them."""

    def __init__(
        self,
        slots: int,
        find_boxes: FindBoxes,
        *,
        is_busy: Callable[[], bool],
        is_capped: Callable[[str], bool],
    ) -> None:
        """`is_busy` tells that no slot is free: otherwise a program is compiled in its slot. So
        is a program in a language that `is_capped`, because caps also limit compilers.
        """
        self._slots = slots
        self.compiling = 0
        """How many programs are compiled now."""
        self._find_boxes = find_boxes
        self._is_busy = is_busy
        self._is_capped = is_capped

    async def build(
        self,
        stack: AsyncExitStack,
        problem: PreparedProblem,
        language: Language,
        source: Source,
    ) -> Build | None:
        """The build, usable until the stack is closed; None: it has to be compiled in its slot.

        A compiler that fails by a fault of ours, or because it had to share its core with other
        programs, is started again there.
        """
        is_program = language.compile is not None and not problem.problem.submit_answer
        wanted = is_program and self._is_busy() and not self._is_capped(language.id)
        if not wanted or self.compiling >= self._slots:
            return None
        self.compiling += 1
        try:
            async with asyncio.timeout(COMPILE_S):
                build = await self._compile(stack, problem, language, source)
        except (Unavailable, TimeoutError) as fault:
            log.info("job.not_compiled_ahead", error=str(fault) or "it took too long")
            return None
        finally:
            self.compiling -= 1
        return None if build is not None and is_late(build) else build

    async def _compile(
        self,
        stack: AsyncExitStack,
        problem: PreparedProblem,
        language: Language,
        source: Source,
    ) -> Build | None:
        boxes = await self._find_boxes()
        if boxes is None:
            return None
        tools = problem.build_tools
        toolchain = await tools.toolchains.require(language)
        return await stack.enter_async_context(tools.compiler.built(boxes, toolchain, source))
