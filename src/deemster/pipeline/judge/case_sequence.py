"""Judges the cases of a submission in turn; each starts as soon as the one before has ended."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise

from deemster.domain.problem import Case
from deemster.pipeline.judge.case_judge import CaseJudge, CaseOutcome, PreparedCase
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.lanes import Lanes


@dataclass(frozen=True, slots=True)
class ReadyCase:
    prepared: PreparedCase
    boxes: Boxes
    closing: AsyncExitStack
    """Ends the run, and frees its box."""


class CaseSequence:
    """While a case runs in one box of a lane, the next one is made ready in the other.

    A case that was started ahead may not be needed: then it is ended, and does not count.
    """

    def __init__(self, lanes: Lanes, judge: CaseJudge, cases: Sequence[Case]) -> None:
        self._lanes = lanes
        self._judge = judge
        self._following = {case.name: following for case, following in pairwise(cases)}
        self._lane = AsyncExitStack()
        self._ahead: ReadyCase | None = None

    async def outcome(self, case: Case) -> CaseOutcome:
        if self._ahead is None or self._ahead.prepared.case is not case:
            await self.aclose()
            if not self._judge.can_prepare(case):
                async with self._lanes.acquire() as boxes:
                    return await self._judge.judge(boxes, case)
            boxes = await self._lane.enter_async_context(self._lanes.acquire())
            self._ahead = await self._prepare(boxes, case)
            self._ahead.prepared.run.start()
        current, self._ahead = self._ahead, None
        try:
            async with current.closing:
                await self._prepare_following(current)
                return await current.prepared.outcome()
        finally:
            if self._ahead is None:
                await self.aclose()

    async def _prepare_following(self, current: ReadyCase) -> None:
        """Does nothing if somebody else waits for the lane, or if no other box is free."""
        case = self._following.get(current.prepared.case.name)
        if case is None or self._lanes.is_wanted or not current.boxes.has_free_box:
            return
        if self._judge.can_prepare(case):
            self._ahead = await self._prepare(current.boxes, case)
            self._ahead.prepared.run.start_when_ended(current.prepared.run)

    async def _prepare(self, boxes: Boxes, case: Case) -> ReadyCase:
        closing = AsyncExitStack()
        prepared = await closing.enter_async_context(self._judge.prepare(boxes, case))
        return ReadyCase(prepared, boxes, closing)

    async def aclose(self) -> None:
        """Ends a case that was started ahead, and gives the lane back."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            await ahead.closing.aclose()
        await self._lane.aclose()
