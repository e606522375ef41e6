"""docs/lifecycle.md is the table of `domain/lifecycle.py`; run as a module, this writes it."""

from pathlib import Path

from deemster.domain.lifecycle import MOVES, PUBLIC_STATUS, TERMINAL, Event, State

PAGE = Path(__file__).parents[2] / "docs" / "lifecycle.md"

WHY: dict[Event, str] = {
    Event.PUBLISH: "its job is in the queue",
    Event.START: "a worker begins; a new attempt, which fences off all before it",
    Event.RETRY: "the judge failed, not the program: again after 2 s, 4 s, 8 s",
    Event.RESCUE: "its worker was heard of no more, or was stopped",
    Event.RESEND: "the queue has lost its job; a new one is sent",
    Event.ANALYZE: "the verdict is known; analysis follows",
    Event.EVALUATE: "analysis is done; evaluation follows",
    Event.COMPLETE: "it has a verdict, whichever",
    Event.FAIL: "no attempt could judge it; there is a dead letter",
    Event.CANCEL: "its owner or an admin took it back; a running program is killed",
}

HEAD = """# The life of a submission

Written from the table in `src/deemster/domain/lifecycle.py`, which is all there is: one
function (`store/lifecycle.py`) takes these steps, by a statement that names the state before
and the attempt. What moves no row had moved on, and is dropped. Every step writes one event,
in the same transaction.

"""


def page() -> str:
    lines = ["| event | from | to | attempt | when |", "|---|---|---|---|---|"]
    for event, move in MOVES.items():
        sources = ", ".join(state for state in State if state in move.sources)
        bump = "+ 1" if move.bump else "the same"
        lines.append(f"| `{event}` | {sources} | {move.target} | {bump} | {WHY[event]} |")
    shown = [f"| {state} | `{PUBLIC_STATUS[state]}` |" for state in State]
    ends = ", ".join(state for state in State if state in TERMINAL)
    return "\n".join(
        [
            HEAD + "\n".join(lines),
            "",
            f"{ends} are ends: the database itself refuses to change them.",
            "",
            "## What the API calls them",
            "",
            "| state | in `/v1/submissions` |",
            "|---|---|",
            *shown,
            "",
        ]
    )


def test_s1_the_page_is_what_the_table_says() -> None:
    """S1, S4: after a change run `python -m tests.domain.test_lifecycle_page`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_only_the_watchdog_and_a_retry_go_back() -> None:
    """S2: no other rewind, and none out of an end."""
    order = list(State)
    back = {
        event
        for event, move in MOVES.items()
        for source in move.sources
        if order.index(move.target) < order.index(source)
    }
    assert back == {Event.RETRY, Event.RESCUE}
    assert not any(move.sources & TERMINAL for move in MOVES.values())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
