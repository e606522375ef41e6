"""Whose turn it was while others waited: who has many in the line must not be in the way."""

from collections.abc import Sequence
from typing import Any, Final

from deemster.store.consistency import WaitingTime

ON_THE_ROAD_S: Final = 1.0
"""Who came just now may not be in the queue yet: so new ones do not count as waiting."""


def fairness(turns: Sequence[WaitingTime]) -> dict[str, Any]:
    """`share` is the others' part of all starts that happened while one of them waited;
    `by_arrival` is what it would have been in the order in which all were sent.
    """
    began = sorted((turn for turn in turns if turn.started_s), key=lambda turn: turn.started_s)
    waits = changes_of([turn for turn in turns if not turn.of_hog])
    waiting, place = 0, 0
    contested: list[WaitingTime] = []
    for turn in began:
        while place < len(waits) and waits[place][0] < turn.started_s:
            waiting += waits[place][1]
            place += 1
        # Its own start is among the changes only after this moment, so it counts itself.
        if waiting > 0:
            contested.append(turn)
    arrived = sorted(turns, key=lambda turn: turn.submitted_s)[: len(contested)]
    return {
        "starts": len(contested),
        "of_hog": sum(turn.of_hog for turn in contested),
        "share": part_of_others(contested),
        "by_arrival": part_of_others(arrived),
    }


def changes_of(others: Sequence[WaitingTime]) -> list[tuple[float, int]]:
    """When one more of them waits, and when one less."""
    changes = []
    for turn in others:
        from_s = turn.submitted_s + ON_THE_ROAD_S
        if not turn.started_s:
            changes.append((from_s, 1))
        elif turn.started_s > from_s:
            changes += [(from_s, 1), (turn.started_s, -1)]
    return sorted(changes)


def part_of_others(turns: Sequence[WaitingTime]) -> float | None:
    if not turns:
        return None
    return round(sum(not turn.of_hog for turn in turns) / len(turns), 4)
