"""Computes which share of starts other users got while one user had very many waiting."""

from collections.abc import Sequence
from typing import Any, Final

from deemster.store.consistency import WaitingTime

RELAY_S: Final = 1.0
"""A new submission may not be in the queue yet: it counts as waiting after this time."""


def fairness(runs: Sequence[WaitingTime]) -> dict[str, Any]:
    """`share` is the other users' share of all starts while one of them waited; `by_arrival` is
    what it would have been if all had started in the order in which they were sent.
    """
    began = sorted((run for run in runs if run.started_s), key=lambda run: run.started_s)
    waits = changes_of([run for run in runs if not run.of_hog])
    waiting, place = 0, 0
    contested: list[WaitingTime] = []
    for run in began:
        while place < len(waits) and waits[place][0] < run.started_s:
            waiting += waits[place][1]
            place += 1
        # The changes before this moment do not include its own start, so it counts itself.
        if waiting > 0:
            contested.append(run)
    arrived = sorted(runs, key=lambda run: run.submitted_s)[: len(contested)]
    return {
        "starts": len(contested),
        "of_hog": sum(run.of_hog for run in contested),
        "share": share_of_others(contested),
        "by_arrival": share_of_others(arrived),
    }


def changes_of(others: Sequence[WaitingTime]) -> list[tuple[float, int]]:
    """When one more of them waits (+1), and when one fewer does (-1)."""
    changes = []
    for run in others:
        from_s = run.submitted_s + RELAY_S
        if not run.started_s:
            changes.append((from_s, 1))
        elif run.started_s > from_s:
            changes += [(from_s, 1), (run.started_s, -1)]
    return sorted(changes)


def share_of_others(runs: Sequence[WaitingTime]) -> float | None:
    if not runs:
        return None
    return round(sum(not run.of_hog for run in runs) / len(runs), 4)
