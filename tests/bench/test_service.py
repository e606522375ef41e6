"""`deemster bench accept` and `burst`: the shape of their figures, and that nothing is lost."""

from pathlib import Path

import pytest

from deemster.bench.load.estimates import SAMPLES, error, spread, told
from deemster.bench.load.fairness import fairness
from deemster.domain.ids import SubmissionId
from deemster.store.consistency import WaitingTime
from tests.cli.conftest import Deemster

FIGURES = {"per_s", "p50_ms", "p99_ms"}


def test_accept_compares_itself_with_a_bare_insert(deemster: Deemster, tmp_path: Path) -> None:
    """Q2: what was answered with 202 is there, with its event, its job and its source."""
    done = deemster(
        *("bench", "accept", "--json", "--rounds", "2", "--seconds", "0.2"),
        *("--connections", "8", "--data", str(tmp_path)),
        DEEMSTER_DATABASE_URL="postgresql://nowhere/operators-own",
        DEEMSTER_QUEUE_URL="redis://nowhere/",
    )
    assert done.code == 0, done.err
    result = done.json
    assert set(result["bare"]) == FIGURES
    for name in ("accept", "with_keys"):
        assert set(result[name]) == {*FIGURES, "ratio"}
        assert result[name]["ratio"] > 0
        assert 0 < result[name]["p50_ms"] <= result[name]["p99_ms"]
    for kept in result["kept"].values():
        assert kept["accepted"] > 0
        assert kept["lost"] == 0
    assert result["generator_per_s"] > 0
    assert result["connections"] == 8
    assert set(result["machine"]) == {"cores", "kernel", "cgroup"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


@pytest.mark.parametrize("queue", ["postgres", pytest.param("redis", marks=pytest.mark.soak)])
def test_a_burst_is_judged_to_the_last_one(
    deemster: Deemster, tmp_path: Path, queue: str
) -> None:
    """D5, Q1: all accepted, each with one verdict, and the line was told as it was."""
    done = deemster(
        *("bench", "burst", "--json", "--count", "40", "--seconds", "1", "--hog", "30"),
        *("--watch", "4", "--until-judged", "--queue", queue, "--data", str(tmp_path)),
        DEEMSTER_SLOTS="1",
    )
    assert done.code == 0, done.err
    result = done.json
    assert (result["accepted"], result["judged"], result["users"]) == (40, 40, 40)
    assert (result["refused"], result["errors"]) == ({}, {})
    assert (result["lost"], result["failed"], result["ended_twice"]) == (0, 0, 0)
    assert set(result["accept"]) >= FIGURES
    assert 0 < result["deepest"] <= 70
    assert result["fairness"]["queued"] == 30
    assert result["fairness"]["share"] is None or 0 <= result["fairness"]["share"] <= 1
    assert result["queue"] == queue
    assert result["during"]["samples"] + result["after"]["samples"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_places_are_spread_over_the_line_to_its_end() -> None:
    line = [SubmissionId(str(number)) for number in range(1000)]
    places = spread(line)
    assert len(places) == SAMPLES
    assert places[-1] == "999"
    assert places == sorted(places, key=int)
    assert spread(line[:3]) == ["0", "1", "2"]
    assert spread([]) == []


def test_errors_are_parts_of_the_truth() -> None:
    assert error(12.5, 10) == 0.25
    assert error(5, 10) == -0.5
    figures = told([-0.5, 0.1, 0.25])
    assert figures["median"] == 0.1
    assert figures["median_error"] == 0.25
    assert figures["worst_error"] == 0.5
    assert figures["within_budget"] == pytest.approx(2 / 3, abs=0.001)


def test_q8_the_share_of_the_others_is_counted_while_they_wait() -> None:
    """One has three in the line before another comes, who is next; then nobody waits."""
    hog = [WaitingTime(True, 0.0, at) for at in (1.0, 3.0, 9.0)]
    other = WaitingTime(False, 0.5, 4.0)
    late = WaitingTime(False, 20.0, 20.1)
    found = fairness([*hog, other, late])
    # While the other waited, the hog had one turn, and the other its own.
    assert found == {"starts": 2, "of_hog": 1, "share": 0.5, "by_arrival": 0.0}
    assert fairness(hog)["share"] is None
