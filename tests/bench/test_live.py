"""`deemster bench live` prints the waits of sessions, a short program, and terminals (E9)."""

from pathlib import Path

import pytest

from tests.cli.conftest import Deemster


@pytest.mark.parametrize("queue", ["postgres", pytest.param("redis", marks=pytest.mark.soak)])
def test_executions_of_sessions_and_terminals_are_measured(
    call: Deemster, tmp_path: Path, queue: str
) -> None:
    """E3, E9: every session runs its code, and every submission is judged beside terminals."""
    done = call(
        *("bench", "live", "--json", "--sessions", "4", "--every", "1", "--runs", "2"),
        *("--programs", "2", "--terminals", "1", "--rounds", "1", "--sieves", "1"),
        *("--queue", queue, "--data", str(tmp_path)),
        DEEMSTER_DATABASE_URL="postgresql://nowhere/operators-own",
    )
    assert done.code == 0, done.err
    result = done.json
    sessions, one_line, terminals = (
        result[part] for part in ("sessions", "one_line", "terminals")
    )
    assert (sessions["executions"], sessions["failed"]) == (8, 0)
    assert 0 < sessions["wait_p50_ms"] <= sessions["wait_p99_ms"] <= sessions["wait_max_ms"]
    assert sessions["goal_met"] == (sessions["wait_max_ms"] <= 2000)
    assert min(one_line["bare_p50_ms"], one_line["told_p50_ms"]) > 0
    assert one_line["goal_ms"] == pytest.approx(1.5 * one_line["bare_p50_ms"] + 25, abs=0.2)
    assert terminals["submissions"] == 6
    assert terminals["ratio"] > 0
    assert terminals["lines_typed"] >= 2
    assert result["queue"] == queue
    assert set(result["machine"]) == {"cores", "kernel", "cgroup"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
