"""`deemster bench drain` prints the drain rate and what one submission costs, by process."""

from pathlib import Path

from tests.cli.conftest import Deemster

PARTS = {"api", "relay", "worker", "keeper", "postgres", "runner", "programs"}


def test_q1_a_queue_is_drained_beside_bare_runs(call: Deemster, tmp_path: Path) -> None:
    """Q1: no bound here, because other tests run at the same time.

    The kernel tells the CPU time of ended programs in steps of 10 ms, so there are some more.
    """
    done = call(
        *("bench", "drain", "--json", "--submissions", "12", "--rounds", "1", "--slots", "1"),
        *("--work-ms", "5", "--new-programs"),
        *("--data", str(tmp_path)),
    )
    assert done.code == 0, done.err
    result = done.json
    assert (result["submissions"], result["cases"], set(result["slots"])) == (12, 11, {"1"})
    found = result["slots"]["1"]
    for row in (found["c"], found["python3"]):
        assert row["bare_ms_per_submission"] >= 11 * 5
    for row in (found["c"], found["python3"], found["all"]):
        assert row["per_s"] > 0
        assert row["ratio"] > 0
        assert set(row["cpu_ms_per_submission"]) == PARTS
        assert row["cpu_ms_per_submission"]["programs"] > 0
        assert 0 < row["programs_share"] < 1
    assert found["database"]["log_syncs"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
