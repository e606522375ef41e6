"""`deemster bench latency` prints the time until each client is told, beside the commit."""

import itertools
from pathlib import Path

import pytest

from tests.cli.conftest import Deemster

FIGURES = {"committed_p50_ms", "committed_p99_ms", "told_p50_ms", "told_p99_ms", "ratio"}


@pytest.mark.parametrize("queue", ["postgres", pytest.param("redis", marks=pytest.mark.soak)])
def test_h1_each_client_is_told_after_the_commit(
    call: Deemster, tmp_path: Path, queue: str
) -> None:
    """H1: by `?wait=`, by event streams and by polling."""
    done = call(
        *("bench", "latency", "--json", "--rounds", "1"),
        *("--queue", queue, "--data", str(tmp_path)),
        DEEMSTER_DATABASE_URL="postgresql://nowhere/operators-own",
        DEEMSTER_QUEUE_URL="redis://nowhere/",
    )
    assert done.code == 0, done.err
    result = done.json
    kinds = [result[name] for name in ("submissions", "python_submissions", "executions")]
    ways = {"wait", "events", "account_events", "polling"}
    assert [set(kind) for kind in kinds] == [ways, ways, ways - {"account_events"}]
    for goal in (result["goals"]["submissions"], result["goals"]["python_submissions"]):
        assert goal["told_p50_ms"] == pytest.approx(1.3 * goal["bare_p50_ms"] + 15, abs=0.2)
    for row in itertools.chain.from_iterable(kind.values() for kind in kinds):
        assert set(row) == FIGURES
        assert 0 < row["committed_p50_ms"] <= row["committed_p99_ms"]
        assert row["told_p50_ms"] <= row["told_p99_ms"]
        assert row["ratio"] > 1
    assert result["queue"] == queue
    assert result["rounds"] == 1
    assert set(result["machine"]) == {"cores", "kernel", "cgroup"}
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
