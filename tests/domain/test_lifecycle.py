"""docs/lifecycle.md matches `domain/lifecycle.py`; run as a module, this writes the page."""

from pathlib import Path

from deemster.domain.lifecycle import MOVES, PUBLIC_STATUS, TERMINAL, Event, State

PAGE = Path(__file__).parents[2] / "docs" / "lifecycle.md"

WHY: dict[Event, str] = {
    Event.PUBLISH: "the submission's job was put into the queue",
    Event.START: "a worker begins a new attempt; writes of earlier attempts are rejected",
    Event.RETRY: "the judge failed, not the program; retried after 2 s, 4 s, 8 s",
    Event.RESCUE: "the worker stopped sending heartbeats, or was stopped",
    Event.RESEND: "the queue lost the job; a new one is sent",
    Event.ANALYZE: "the verdict is known; the analysis is queued",
    Event.EVALUATE: "the verdict is known, analysis has ended or is off; evaluation is queued",
    Event.FINALIZE: "the last stage has ended; the final job is queued",
    Event.STAGE_START: "a worker begins a stage; writes of earlier tries are rejected",
    Event.STAGE_RETRY: "the stage failed; retried after 2 s, 4 s, 8 s, 16 s, 32 s, with jitter",
    Event.STAGE_RESCUE: "the worker stopped sending heartbeats, or was stopped",
    Event.STAGE_RESEND: "the queue lost the stage's job; a new one is sent",
    Event.COMPLETE: "the submission has a verdict, and all stages have ended",
    Event.FAIL: "all attempts failed; a dead letter is written",
    Event.CANCEL: "the owner or an admin cancelled the submission; a running program is killed",
}

HEAD = """# Lifecycle of a submission

This page is generated from the table in `src/deemster/domain/lifecycle.py`. One function
(`store/lifecycle.py`) performs every transition, with one SQL statement that names the expected
state, stage and attempt. If no row matches, the submission has already moved on, and the
transition is dropped. Each transition writes one event in the same transaction.

"""


def page() -> str:
    lines = ["| event | from | to | attempt | when |", "|---|---|---|---|---|"]
    for event, move in MOVES.items():
        sources = ", ".join(state for state in State if state in move.sources)
        bump = "+ 1" if move.bump else "the same"
        target = move.target or "the same"
        lines.append(f"| `{event}` | {sources} | {target} | {bump} | {WHY[event]} |")
    shown = [f"| {state} | `{PUBLIC_STATUS[state]}` |" for state in State]
    ends = ", ".join(state for state in State if state in TERMINAL)
    return "\n".join(
        [
            HEAD + "\n".join(lines),
            "",
            f"{ends} are final: the database refuses to change them.",
            "",
            "## Names in the API",
            "",
            "| state | in `/v1/submissions` |",
            "|---|---|",
            *shown,
            "",
        ]
    )


def test_s1_the_page_matches_the_table() -> None:
    """S1, S4: after a change run `python -m tests.domain.test_lifecycle`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_only_the_watchdog_and_a_retry_go_back() -> None:
    """S2: no other event leads back, and none leads out of a final state."""
    order = list(State)
    back = {
        event
        for event, move in MOVES.items()
        for source in move.sources
        if move.target is not None and order.index(move.target) < order.index(source)
    }
    assert back == {Event.RETRY, Event.RESCUE}
    assert not any(move.sources & TERMINAL for move in MOVES.values())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
