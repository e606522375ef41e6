"""`deemster bench pipeline` compares verdicts with and without stages after them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Deemster


@pytest.mark.soak
def test_s5_the_bench_compares_verdicts_with_and_without_stages(
    call: Deemster, tmp_path: Path
) -> None:
    """S5: no bound here, because other tests run at the same time."""
    done = call(
        *("bench", "pipeline", "--json", "--rounds", "1", "--submissions", "3"),
        *("--clients", "1", "--data", str(tmp_path)),
    )
    assert done.code == 0, done.err
    result = done.json
    for kind in ("without_stages", "with_stages"):
        assert 0 < result[kind]["verdict_p50_ms"] <= result[kind]["verdict_p95_ms"]
    assert result["ratio_of_p50"] > 0
    assert (result["goal"], result["submissions"]) == (1.05, 3)
