"""`deemster bench burst` prints all figures, and no submission is lost."""

from pathlib import Path

import pytest

from tests.cli.conftest import Deemster

COUNT = 80
"""More than one slot judges during the burst; estimates are asked in it and right after it."""


@pytest.mark.parametrize("queue", ["postgres", pytest.param("redis", marks=pytest.mark.soak)])
def test_all_submissions_of_a_burst_are_judged(
    call: Deemster, tmp_path: Path, queue: str
) -> None:
    """D5, Q1: all are accepted and each has one verdict."""
    done = call(
        *("bench", "burst", "--json", "--count", str(COUNT), "--seconds", "0.8", "--hog", "6"),
        *("--watch", "0", "--until-judged", "--queue", queue, "--data", str(tmp_path)),
        DEEMSTER_SLOTS="1",
    )
    assert done.code == 0, done.err
    result = done.json
    assert (result["accepted"], result["judged"], result["users"]) == (COUNT, COUNT, COUNT)
    assert (result["refused"], result["errors"]) == ({}, {})
    assert (result["lost"], result["failed"], result["ended_twice"]) == (0, 0, 0)
    assert set(result["accept"]) >= {"per_s", "p50_ms", "p99_ms"}
    assert 0 < result["deepest"] <= COUNT + 6
    assert 0 < result["drained_s"] <= result["queue_empty_s"]
    assert result["fairness"]["queued"] == 6
    assert result["fairness"]["share"] is None or 0 <= result["fairness"]["share"] <= 1
    assert result["queue"] == queue
    assert result["during"]["samples"] + result["after"]["samples"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
