"""`deemster bench remote` compares a judge host with a local worker."""

from pathlib import Path

import pytest

from tests.cli.conftest import Deemster


@pytest.mark.soak
def test_m2_the_bench_compares_a_judge_host_with_a_local_worker(
    call: Deemster, tmp_path: Path
) -> None:
    """M2: no bound here, because other tests run at the same time."""
    done = call(
        *("bench", "remote", "--json", "--rounds", "1", "--submissions", "4"),
        *("--single", "1", "--data", str(tmp_path)),
    )
    assert done.code == 0, done.err
    result = done.json
    for side in ("local", "remote"):
        assert result[side]["per_s"] > 0
        assert result[side]["verdict_p50_ms"] > 0
    assert result["lowest_ratio"] <= result["ratio"] <= result["highest_ratio"]
    assert (result["goal"], result["submissions"]) == (0.8, 4)
