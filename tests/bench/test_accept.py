"""`deemster bench accept` prints all figures, and no submission is lost."""

from pathlib import Path

from tests.cli.conftest import Deemster

FIGURES = {"per_s", "p50_ms", "p99_ms"}


def test_q2_accepted_submissions_are_kept_and_compared_with_a_bare_insert(
    call: Deemster, tmp_path: Path
) -> None:
    """Q2: a submission that was answered with 202 has its event, its job and its source."""
    done = call(
        *("bench", "accept", "--json", "--rounds", "1", "--seconds", "0.2"),
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
