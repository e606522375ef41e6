"""Compares queue positions and waiting times in the API's answers with the real ones (A4)."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from deemster.domain.ids import SubmissionId
from deemster.store import consistency
from deemster.store.pool import Pool, connection

SAMPLES: Final = 25
"""Waiting submissions that are asked about at a time."""
BUDGET: Final = 0.25


@dataclass(frozen=True, slots=True)
class Estimate:
    id: SubmissionId
    at_s: float
    """Time of the API's answer, in seconds since the epoch."""
    position: int
    wait_s: float


@dataclass(slots=True)
class Estimates:
    client: httpx.AsyncClient
    pool: Pool
    estimates: list[Estimate] = field(default_factory=list)

    async def ask(self, limit: int) -> None:
        """Asks about submissions all along the first `limit` that wait."""
        async with connection(self.pool) as acquired:
            waiting = await consistency.list_waiting(acquired, limit)
        for own in spread(waiting):
            at_s = time.time()
            answer = (await self.client.get(f"/v1/submissions/{own}")).raise_for_status().json()
            # It may have started meanwhile.
            if answer.get("estimated_wait_s") is not None:
                estimate = Estimate(
                    own, at_s, answer["queue_position"], answer["estimated_wait_s"]
                )
                self.estimates.append(estimate)

    async def compare(self) -> dict[str, Any]:
        """Errors of the estimates for submissions that have started since."""
        if not self.estimates:
            return {"samples": 0}
        async with connection(self.pool) as acquired:
            starts = await consistency.list_starts(
                acquired, min(each.at_s for each in self.estimates)
            )
        started_s = dict(starts)
        compared = [each for each in self.estimates if each.id in started_s]
        waits, positions = [], []
        for each in compared:
            waited_s = started_s[each.id] - each.at_s
            before = sum(each.at_s <= at_s < started_s[each.id] for _, at_s in starts)
            waits.append(error(each.wait_s, waited_s))
            positions.append(error(each.position, before + 1))
        return {
            "samples": len(compared),
            "furthest_s": round(max(started_s[each.id] - each.at_s for each in compared), 1)
            if compared
            else 0,
            "wait": summary(waits),
            "position": summary(positions),
        }


def spread(waiting: Sequence[SubmissionId]) -> list[SubmissionId]:
    """Evenly spread, with the last one; not the first one, which may start before we ask."""
    steps = [(number + 1) * len(waiting) // SAMPLES for number in range(SAMPLES)]
    return [waiting[step - 1] for step in sorted(set(steps)) if step > 0]


def error(estimated: float, real: float) -> float:
    """Relative error; negative if the estimate was too low."""
    return (estimated - real) / real if real > 0 else 0.0


def summary(errors: Sequence[float]) -> dict[str, float]:
    if not errors:
        return {}
    ordered = sorted(map(abs, errors))
    return {
        "median": round(statistics.median(errors), 3),
        "median_error": round(statistics.median(ordered), 3),
        "p90_error": round(ordered[int(0.9 * (len(ordered) - 1))], 3),
        "worst_error": round(ordered[-1], 3),
        "within_budget": round(sum(each <= BUDGET for each in ordered) / len(ordered), 3),
    }
