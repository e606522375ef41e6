"""`deemster bench pages` measures each page, and when open pages learn of a change."""

from pathlib import Path

from tests.cli.conftest import Deemster


def test_w4_each_page_is_measured_beside_a_bare_answer(call: Deemster, tmp_path: Path) -> None:
    """H1: every open page learns of every change."""
    done = call(
        *("bench", "pages", "--json", "--rounds", "1", "--open-pages", "20"),
        *("--changes", "2", "--data", str(tmp_path)),
        DEEMSTER_DATABASE_URL="postgresql://nowhere/operators-own",
    )
    assert done.code == 0, done.err
    pages, told = done.json["pages"], done.json["changes"]
    assert {"bare", "problems", "submission", "admin: overview"} <= set(pages)
    assert all(0 < each["p50_ms"] <= each["p99_ms"] for each in pages.values())
    assert pages["bare"]["ratio"] == 1
    assert (done.json["problems"], told["open_pages"], told["changes"]) == (500, 20, 2)
    assert 0 < told["each_p50_ms"] <= told["last_p99_ms"]
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
