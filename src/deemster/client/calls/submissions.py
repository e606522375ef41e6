"""Calls that submit programs, read their verdicts and cancel them (A1, A2, A10)."""

from dataclasses import replace
from functools import partial
from typing import Any

from deemster.client.errors import ConflictError
from deemster.client.event_stream import follow
from deemster.client.exchange import Exchange, creating, given, path_of
from deemster.client.models.parsing import parse, parse_json
from deemster.client.models.source import Source, source_fields
from deemster.client.models.submissions import (
    CaseProgress,
    Judgement,
    Submission,
    SubmissionEvent,
    parse_event,
)
from deemster.client.paging import list_all
from deemster.client.steps import TIMEOUT_S, ItemSteps, Request, Steps
from deemster.client.waiting import wait_for_end, watch_until_end


def submit(
    exchange: Exchange,
    problem_id: str,
    language: str,
    source: Source,
    *,
    main: str | None = None,
    contest_id: str | None = None,
    webhook_url: str | None = None,
    key: str | None = None,
) -> Steps[Submission]:
    """Submits a program; it is judged later.

    `source` is the text of the program, or its files by name, of which `main` is started. With
    your own idempotency `key` you can repeat a submit yourself, also after a restart.
    """
    optional = {"contest_id": contest_id, "webhook_url": webhook_url}
    body: dict[str, Any] = {
        "problem_id": problem_id,
        "language": language,
        **source_fields(source, main),
        **given(**optional),
    }
    answer = yield from exchange.send(creating(path_of("submissions"), body, key))
    made = parse(Submission, parse_json(answer.body))
    return replace(made, warning=warning_text(answer.headers.get("warning")))


def warning_text(header: str | None) -> str | None:
    """The text of a header such as `199 deemster "No worker takes jobs"` (RFC 9111)."""
    return header.partition('"')[2].rpartition('"')[0] if header else None


def judge(
    exchange: Exchange,
    problem_id: str,
    language: str,
    source: Source,
    *,
    main: str | None = None,
    timeout_s: float | None = None,
    key: str | None = None,
) -> Steps[Submission]:
    """Submits a program and waits for its verdict; see `submit` and `wait`."""
    made = yield from submit(exchange, problem_id, language, source, main=main, key=key)
    return (yield from wait(exchange, made.id, timeout_s=timeout_s))


def get(exchange: Exchange, submission_id: str) -> Steps[Submission]:
    """Reads a submission as it is now."""
    return read(exchange, submission_id, 0)


def judgement(exchange: Exchange, submission_id: str) -> Steps[Judgement]:
    """Reads the jury's view: every test case, and the reason of a Judge Error. Only admins and
    the author who owns the problem can do this.
    """
    path = path_of("submissions", submission_id, "judgement")
    return exchange.fetch(Judgement, Request("GET", path))


def wait(
    exchange: Exchange, submission_id: str, *, timeout_s: float | None = None
) -> Steps[Submission]:
    """Waits until the verdict is known, or there will be none. After `timeout_s` seconds it
    raises `TimeoutError`; by default it waits without a limit.
    """
    return wait_for_end(submission_id, partial(read, exchange, submission_id), timeout_s)


def watch(
    exchange: Exchange, submission_id: str, *, every_s: float = 1.0
) -> ItemSteps[Submission]:
    """Iterates over the submission as it is about every second, with its place in the queue and
    its progress; the last item has its verdict, or has ended without one.
    """
    return watch_until_end(partial(read, exchange, submission_id), every_s)


def events(exchange: Exchange, submission_id: str) -> ItemSteps[SubmissionEvent | CaseProgress]:
    """Iterates over the events of a submission, from its first to its last. After a lost
    connection it goes on where it was.
    """
    path = path_of("submissions", submission_id, "events")
    return follow(exchange, path, parse_event, is_last)


def is_last(event: SubmissionEvent | CaseProgress) -> bool:
    return isinstance(event, SubmissionEvent) and event.is_last


def list_submissions(
    exchange: Exchange,
    *,
    problem: str | None = None,
    verdict: str | None = None,
    language: str | None = None,
    status: str | None = None,
    user: str | None = None,
    contest: str | None = None,
) -> ItemSteps[Submission]:
    """Iterates over submissions, newest first. Users who are not admins see only their own."""
    params = given(
        problem=problem,
        verdict=verdict,
        language=language,
        status=status,
        user=user,
        contest=contest,
    )
    return list_all(exchange, path_of("submissions"), Submission, params)


def cancel(exchange: Exchange, submission_id: str) -> Steps[Submission]:
    """Cancels a submission; if its program runs, it is killed. Raises `ConflictError` if the
    submission has ended otherwise.
    """
    try:
        path = path_of("submissions", submission_id)
        return (yield from exchange.fetch(Submission, Request("DELETE", path)))
    except ConflictError:
        # The answer to a first attempt may have been lost.
        found = yield from get(exchange, submission_id)
        if found.status != "cancelled":
            raise
        return found


def read(exchange: Exchange, submission_id: str, wait_s: float) -> Steps[Submission]:
    request = Request(
        "GET",
        path_of("submissions", submission_id),
        params={"wait": f"{wait_s:g}"} if wait_s else {},
        timeout_s=TIMEOUT_S + wait_s,
    )
    return exchange.fetch(Submission, request)
