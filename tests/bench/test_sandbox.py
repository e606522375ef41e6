"""`deemster bench sandbox` prints all figures, whatever their values."""

import pytest

from deemster.bench.other_sandboxes import NotUsable, works
from tests.cli.conftest import Deemster


def test_the_result_has_all_figures(call: Deemster) -> None:
    done = call("bench", "sandbox", "--json", "--runs", "20")
    assert done.code == 0, done.err
    result = done.json
    for name in ("bare", "bare_idle", "sandbox", "sandbox_idle", "api"):
        assert 0 < result[name]["median_ms"] <= result[name]["p99_ms"]
    for name in ("sandbox", "sandbox_idle", "api"):
        assert result[name]["ratio"] > 0
    assert result["sandbox"]["ratio"] == pytest.approx(
        result["sandbox"]["median_ms"] / result["bare"]["median_ms"], abs=0.001
    )
    for peer in result["peers"].values():
        assert set(peer) == {"median_ms", "p99_ms", "ratio", "sandbox_faster"}
    assert result["parallel"]["one_per_s"] > 0
    assert set(result["machine"]) == {"cores", "kernel", "cgroup"}


def test_a_peer_that_fails_is_skipped_with_its_error_message() -> None:
    with pytest.raises(NotUsable, match="no such luck"):
        works(("/bin/sh", "-c", "echo no such luck >&2; exit 1"))
    with pytest.raises(NotUsable, match="exit code 3"):
        works(("/bin/sh", "-c", "exit 3"))
    with pytest.raises(NotUsable, match="No such file"):
        works(("/nowhere/sandbox",))
