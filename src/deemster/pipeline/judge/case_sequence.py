"""Judges the cases of a submission in turn; each starts as soon as the one before has ended."""

from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Final

from deemster.domain.problem import Case
from deemster.pipeline.judge.case_judge import CaseJudge, CaseOutcome, PreparedCase
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.lanes import Lanes

QUICK_MS: Final = 20.0
"""After a case that took less time, two cases are made ready: one may end, and the next one
start, before this process has read the report."""


class CaseSequence:
    """While a case runs in one box of a lane, the next ones are made ready in the others.

    A case that was started ahead may not be needed: then it is ended, and does not count.
    """

    def __init__(self, lanes: Lanes, judge: CaseJudge, cases: Sequence[Case]) -> None:
        self._lanes = lanes
        self._judge = judge
        self._following = {case.name: following for case, following in pairwise(cases)}
        self._lane = AsyncExitStack()
        self._ahead: deque[PreparedCase] = deque()
        self._most_ahead = 1

    async def outcome(self, case: Case) -> CaseOutcome:
        if not self._ahead or self._ahead[0].case is not case:
            await self.aclose()
            if not self._judge.can_prepare(case):
                async with self._lanes.acquire() as boxes:
                    return await self._judge.judge(boxes, case)
            boxes = await self._lane.enter_async_context(self._lanes.acquire())
            self._ahead.append(await self._judge.prepare(boxes, case))
            self._ahead[0].run.start()
        current = self._ahead.popleft()
        try:
            last = self._ahead[-1] if self._ahead else current
            await self._prepare_following(last, current.boxes)
            outcome = await current.outcome()
            self._most_ahead = 2 if outcome.wall_ms < QUICK_MS else 1
            return outcome
        finally:
            current.close()
            if not self._ahead:
                await self.aclose()

    async def _prepare_following(self, last: PreparedCase, boxes: Boxes) -> None:
        """Makes no more cases ready if somebody else waits for the lane, or no box is free."""
        while len(self._ahead) < self._most_ahead:
            if self._lanes.is_wanted or not boxes.has_free_box:
                return
            case = self._following.get(last.case.name)
            if case is None or not self._judge.can_prepare(case):
                return
            following = await self._judge.prepare(boxes, case)
            self._ahead.append(following)
            following.run.start_when_ended(last.run)
            last = following

    async def aclose(self) -> None:
        """Ends cases that were started ahead, and gives the lane back."""
        while self._ahead:
            self._ahead.pop().close()
        await self._lane.aclose()
