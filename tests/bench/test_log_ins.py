"""K4: the benchmark of log-ins measures each kind of credentials."""

from pathlib import Path

from deemster.bench.log_ins import measure


async def test_each_kind_of_log_in_is_measured(tmp_path: Path) -> None:
    figures = await measure(20, 2, tmp_path)
    for kind, count in (("chosen", 2), ("generated", 20), ("link", 20)):
        assert figures[kind]["accounts"] == count
        assert figures[kind]["per_s"] > 0
