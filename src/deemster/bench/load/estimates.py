"""What the API said of places in the line, and what then happened (A4)."""

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
"""Places in the line that are asked about at a time."""
BUDGET: Final = 0.25


@dataclass(frozen=True, slots=True)
class Said:
    id: SubmissionId
    at_s: float
    """Since the epoch."""
    position: int
    wait_s: float


@dataclass(slots=True)
class Estimates:
    client: httpx.AsyncClient
    pool: Pool
    said: list[Said] = field(default_factory=list)

    async def ask(self, most: int) -> None:
        """About places all along the first part of the line."""
        async with connection(self.pool) as acquired:
            line = await consistency.list_waiting(acquired, most)
        for own in spread(line):
            at_s = time.time()
            answer = (await self.client.get(f"/v1/submissions/{own}")).raise_for_status().json()
            # It may have been begun while we asked about the others.
            if answer.get("estimated_wait_s") is not None:
                said = Said(own, at_s, answer["queue_position"], answer["estimated_wait_s"])
                self.said.append(said)

    async def compare(self) -> dict[str, Any]:
        """Of those that were begun since."""
        if not self.said:
            return {"samples": 0}
        async with connection(self.pool) as acquired:
            begun = await consistency.list_starts(
                acquired, min(each.at_s for each in self.said)
            )
        started_s = dict(begun)
        seen = [each for each in self.said if each.id in started_s]
        waits, places = [], []
        for each in seen:
            waited_s = started_s[each.id] - each.at_s
            before = sum(each.at_s <= at_s < started_s[each.id] for _, at_s in begun)
            waits.append(error(each.wait_s, waited_s))
            places.append(error(each.position, before + 1))
        return {
            "samples": len(seen),
            "furthest_s": round(max(started_s[each.id] - each.at_s for each in seen), 1)
            if seen
            else 0,
            "wait": told(waits),
            "position": told(places),
        }


def spread(line: Sequence[SubmissionId]) -> list[SubmissionId]:
    """Evenly, the last one among them; not the very first, who may be gone before we ask."""
    steps = [(number + 1) * len(line) // SAMPLES for number in range(SAMPLES)]
    return [line[step - 1] for step in sorted(set(steps)) if step > 0]


def error(said: float, real: float) -> float:
    """As a part of the truth; below zero, too little was said."""
    return (said - real) / real if real > 0 else 0.0


def told(errors: Sequence[float]) -> dict[str, float]:
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
