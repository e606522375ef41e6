"""Waiting asks again until the end, at a bounded pace (H1)."""

import json

import pytest

from deemster.client.calls import submissions
from deemster.client.steps import HttpAnswer
from tests.client.play import EXCHANGE, play


def answer(status: str) -> HttpAnswer:
    fields = {
        "id": "sub_1",
        "status": status,
        "problem_id": "prob_sum",
        "language": "c",
        "submitted_at": "2026-01-02T03:04:05Z",
    }
    return HttpAnswer(200, {}, json.dumps(fields).encode())


def test_h1_the_server_waits_and_an_early_answer_is_followed_by_a_pause() -> None:
    """A server that is shutting down answers early."""
    steps = submissions.wait(EXCHANGE, "sub_1")
    played = play(steps, answer("queued"), answer("running"), answer("finished"))
    assert {each.params["wait"] for each in played.requests} == {"20"}
    assert all(each.timeout_s > 20 for each in played.requests)
    assert played.pauses_s == [0.5, 0.5]
    assert played.result.status == "finished"


def test_waiting_ends_after_its_timeout() -> None:
    with pytest.raises(TimeoutError, match="sub_1 has not ended after 0 s"):
        play(submissions.wait(EXCHANGE, "sub_1", timeout_s=0), answer("running"))
    played = play(submissions.wait(EXCHANGE, "sub_1", timeout_s=0), answer("failed"))
    assert played.result.status == "failed"


def test_watching_emits_what_it_sees() -> None:
    steps = submissions.watch(EXCHANGE, "sub_1")
    played = play(steps, answer("queued"), answer("running"), answer("cancelled"))
    assert [each.status for each in played.items] == ["queued", "running", "cancelled"]
    assert {each.params["wait"] for each in played.requests} == {"1"}
