"""`deemster bench start` compares cold and warm starts with a bare `true`."""

from deemster.cli.bench_tables import start_table
from tests.cli.conftest import Deemster


def test_the_result_has_all_figures(call: Deemster) -> None:
    done = call("bench", "start", "python3", "--json", "--runs", "2")
    assert done.code == 0, done.err
    programs = done.json["programs"]
    assert list(programs) == ["true", "Python 3", "Python 3, seven modules"]
    assert set(programs["true"]) == {"bare", "cold"}
    for name in ("Python 3", "Python 3, seven modules"):
        kinds = programs[name]
        assert list(kinds) == ["cold", "warm"]
        for figures in kinds.values():
            assert figures["cpu_ms"] > 0
            assert figures["wall_ms"] > 0
            assert figures["over_true"] > 0
        assert kinds["warm"]["over_cold"] > 0


def test_a_table_shows_each_kind() -> None:
    figures = {"cpu_ms": 3.0, "wall_ms": 4.0, "over_true": 1.5}
    table = start_table({"programs": {"Perl": {"cold": figures, "warm": figures}}})
    assert [list(column.cells) for column in table.columns[:3]] == [
        ["Perl", "Perl"],
        ["cold", "warm"],
        ["3.00", "3.00"],
    ]
